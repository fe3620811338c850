// What memory has, and what is found in it.

/** A conversation with others that has memory of its own. */
export interface MemoryConversation {
  /** Name of its folder: 16 hexadecimal digits. */
  id: string;
  /** The name by which the host knows it; empty if its folder does not say it. */
  name: string;
}

/** What memory did badly; see docs/memory.md. */
export type MemoryFault =
  | "refetch"
  | "duplicate_tool"
  | "post_compaction_bootstrap"
  | "flush_miss"
  | "silent_recall"
  | "pinned_invariant";

/** How often a memory fault happened; see `Memory.faults`. */
export interface MemoryFaultCount {
  fault: MemoryFault;
  inSession: number;
  /** In the traces, which hold the newest of all sessions. */
  inTraces: number;
  /** ID of its newest trace. */
  newest: string | null;
}

/** Why a person may want to look at a page. `old`: neither confirmed nor used for so many days; `never_used`: known for so many;
 * `checked_by_model`: it was marked until the model said that it checked it. */
export type MemoryDoubt =
  | { reason: "cited_contradicted" | "cited_touched" | "cited_moved" | "cited_gone"; paths: string[] }
  | { reason: "old" | "never_used"; days: number }
  | { reason: "checked_by_model"; day: string };

/** A decision about memory, or a memory fault; see `Memory.traces`. Lists hold the first 100 pages. */
export type MemoryTrace = {
  /** 8 hexadecimal digits. */
  id: string;
  /** RFC 3339. */
  at: string;
} & (
  | {
      kind: "residency";
      resident: { id: string; fidelity: "pointer" | "structured" | "compressed" | "full"; why: string }[];
      count: number;
      evicted: string[];
    }
  | { kind: "compaction" }
  | { kind: "flush"; scope: MemoryScope; operations: { id: string; status: string; reason?: string }[] }
  | { kind: "recall"; query: string; code: string; pages: string[]; unsearched: string[] }
  | { kind: "fault"; fault: MemoryFault; pages: string[]; words: string }
);

/** Memory at one moment; see `Memory.overview`. */
export interface MemoryOverview {
  /** The settings that count. */
  settings: MemorySettings;
  /** What is wrong with the settings, per file. */
  wrongSettings: string[];
  /** What the user said of the project; null if there is none. */
  trust: ProjectTrust["standing"] | null;
  /** Without scopes that have no folder here. */
  scopes: MemoryScopeOverview[];
  /** Pages of indexes and of files that these lead to, in the order in which the model reads them. */
  pages: MemoryPageOverview[];
  /** What the system prompt of this session says of memory; null where it says nothing, or no session has begun. */
  section: { bytes: number; tokens: number; pageTokens: number; changes: number } | null;
  /** Pages whose cited files changed. */
  stale: number;
}

/** Settings of memory; see docs/settings.md. */
export interface MemorySettings {
  enabled: boolean;
  maxInjectLines: number;
  maxInjectBytes: number;
  pageTableInjection: boolean;
  maxMemoryTokens: number;
  traceEnabled: boolean;
  strictWriteback: boolean;
  captureModel: string | null;
}

/** A scope of memory. */
export interface MemoryScopeOverview {
  scope: MemoryScope;
  /** Absolute path, also where it may not be looked at. */
  folder: string;
  /** Whether it may not be looked at: the user does not trust the project. */
  denied: boolean;
  exists: boolean;
  files: {
    file: string;
    path: string;
    bytes: number;
    lines: number;
    pages: number;
    /** Bytes behind the limits of lines and bytes; 0 for files that are no index. */
    beyondLimits: number;
    index: boolean;
    linked: boolean;
    archived: boolean;
  }[];
  table: "none" | "current" | "outdated" | "damaged";
}

/** A page of memory, with what it takes. */
export interface MemoryPageOverview {
  id: string;
  scope: MemoryScope;
  file: string;
  line: number;
  kind: MemoryPage["kind"];
  key: string | null;
  /** Its first line. */
  title: string;
  pinned: boolean;
  /** As pointer, structured, compressed and full. */
  tokens: [number, number, number, number];
  /** How much of it the model has, or had in the last session; null: nothing. */
  resident: "pointer" | "structured" | "compressed" | "full" | null;
  /** Whether files that it cites changed. */
  stale: boolean;
}

/** A cited file that changed. */
export interface CitedFile {
  /** Its path, relative to the project, or absolute, or from `~` on. */
  path: string;
  /** The place in it that was pinned: the path, or `path:first-last` in lines from 1. */
  place: string;
  /**
   * What became of it. `contradicted`: the place changed, and something that the entry names stands there no more, or the place is not
   * there any more. `touched`: it changed, and what the entry names still stands there. `moved`: another file of the project says it now.
   */
  change: "contradicted" | "touched" | "moved" | "gone";
  /** The path of the file that says it now, relative to the project; null unless it moved. */
  movedTo: string | null;
  /** SHA-256 of what it said, line ends as LF. */
  before: string;
  /** The same of what it says now; null if it is gone. */
  now: string | null;
  /** Unified diff of the place; null if neither the store nor git has what it said, or it may not be shown. */
  diff: string | null;
}

/** A page of memory: an entry of an index, or a section of a topic file that an index leads to. */
export interface MemoryPage {
  /** Stable name: 12 hexadecimal digits, carried over edits. */
  id: string;
  /** Whose memory it is. */
  scope: MemoryScope;
  /** Path in the scope's folder, with `/`. */
  file: string;
  /** Texts of the headings above it, outermost first. */
  headings: Array<string>;
  /** First line, from 1. */
  line: number;
  /** Last line. */
  lastLine: number;
  /** What it tells. */
  kind: "instruction" | "fact" | "decision" | "procedure" | "preference" | "reference";
  /** What it is about: the text before the first `:` or `—`, or the title of the link that it begins with; null if it has none. */
  key: string | null;
  /** Its Markdown. */
  text: string;
  /** Whether it is in every session: the tag `#pinned`, or a heading `Pinned` or `Invariants` above it. */
  pinned: boolean;
  /** Whether it has the tag `#important`. */
  important: boolean;
}

/** What the system prompt says of memory. */
export interface MemorySection {
  /** The text of the section. */
  text: string;
  /** Its tokens. */
  tokens: number;
  /** Tokens of the part that pages take: at most the setting `maxMemoryTokens`. */
  pageTokens: number;
  /** The pages that stand in it, in their order; none where `pageTableInjection` is off. */
  resident: Array<ResidentPage>;
}

/** What is known of a page besides its Markdown. */
export interface PageFacts {
  /** The day on which it was written, edited or confirmed: `2030-01-31`. */
  confirmed: string;
  /** On how many days it was read or recalled. */
  uses: number;
  /** The last of them; null if there is none. */
  used: string | null;
  /** Where it was imported from; null if it was not. */
  origin: string | null;
}

/** A place in memory that says nearly what a hit says. */
export interface AlikePlace {
  /** Whose memory it is. */
  scope: MemoryScope;
  /** Path in the scope's folder, with `/`. */
  file: string;
  /** First line of the passage, from 1. */
  line: number;
}

/** What a recall found. */
export interface RecallAnswer {
  /**
   * `ok` where a hit is likely to answer, `weak` where the hits share words with the question and hardly answer it. Else why there is
   * none: `no_match` if all that was asked for was searched; `malformed` (also a question of function words alone), `denied` (the
   * project is not trusted), `unavailable` (a file that cannot be read, no store) or `backend_error` (the store failed) if not.
   */
  reason: "ok" | "weak" | "no_match" | "malformed" | "denied" | "unavailable" | "backend_error";
  /** What was asked for and not searched, or not to its end; also where there are hits. */
  problems: Array<RecallProblem>;
  /** The hits: those in memory, best first, then those in past sessions, best first. */
  hits: Array<RecallHit>;
}

/** A passage of memory, a memory file, or a message of a past session that was found. */
export interface RecallHit {
  /** Whose memory it is; null for a message. */
  scope: MemoryScope | null;
  /** Path in the scope's folder, with `/`; null for a message. */
  file: string | null;
  /** Absolute path; null for a message. */
  path: string | null;
  /** First line of the passage, from 1; null for a message. */
  line: number | null;
  /** ID of the page that holds it; null for a message, and where no page does. */
  page: string | null;
  /** Whether it stands in the archive: it is stale. */
  archived: boolean;
  /** What became of a file that its page cites, the worst of all; null if nothing did. See `CitedFile.change`. */
  stale: "contradicted" | "touched" | "moved" | "gone" | null;
  /** ID of the past session; null in memory. */
  session: string | null;
  /** Position of the message in the session's chat, from 0; null in memory. */
  item: number | null;
  /** ID of the shortest chat segment that holds the message; null in memory, and where there is none. */
  segment: string | null;
  /** Other places in memory that say nearly the same, best first. */
  alike: Array<AlikePlace>;
  /** Texts of the headings above, outermost first. */
  headings: Array<string>;
  /** Above 0; higher is better. Only comparable within memory, and within past sessions. */
  score: number;
  /** The lines that show why, at most three, with their numbers in the file or message. */
  lines: Array<SnippetLine>;
}

/** Something that was not searched. */
export interface RecallProblem {
  /** Why. */
  reason: "malformed" | "denied" | "unavailable" | "backend_error";
  /** What, and what is wrong. */
  message: string;
}

/** A page that stands in the system prompt. */
export interface ResidentPage {
  /** The page. */
  id: string;
  /** How much of it stands there. */
  fidelity: "pointer" | "structured" | "compressed" | "full";
}

/** A page that a person may want to look at. */
export interface StalePage {
  /** The page. */
  page: MemoryPage;
  /** What is known of it. */
  facts: PageFacts;
  /** Why; at least one reason. */
  reasons: MemoryDoubt[];
  /** The cited files that changed. */
  cited: Array<CitedFile>;
}

/** A page whose cited files changed since it was written or confirmed. */
export interface StaleReport {
  /** The page. */
  page: MemoryPage;
  /** The cited files that changed. */
  cited: Array<CitedFile>;
}
