/** What a host shall do that is about to compact; see `Session.answerCompaction`. */
export type CompactionAnswer = { action: "host" } | { action: "cancel" } | { action: "summary"; summary: string };

/** Input tokens, and what they cost. Unless stated otherwise, costs are in multiples of the price of one uncached input token. */
export interface LedgerSums {
  sent: number;
  /** Read from the cache. */
  cached: number;
  /** Not read from the cache. */
  written: number;
  cost: number;
}

/** Requests that only kept the cache alive: what they cost, and what they would have cost the plain host. */
export interface LedgerWarming {
  requests: number;
  cost: number;
  plainCost: number;
}

/** What the provider reported. `estimatedCost` is the estimate for the same calls before they went out. */
export interface LedgerReported {
  calls: number;
  input: number;
  cacheRead: number;
  cacheWrite: number;
  output: number;
  cost: number;
  estimatedCost: number;
}

/**
 * Sums in US dollars, of input only: each call at the prices of its own model. `calls`: those of models whose price is known; the
 * others are in no sum.
 */
export interface LedgerDollars {
  calls: number;
  bill: number;
  plainBill: number;
  overhead: number;
  warming: number;
  faults: number;
  reported: number;
  estimated: number;
}

/** An epoch: the tokens that it freed, what its start cost, and what it has saved since, minus that cost. */
export interface LedgerEpoch {
  number: number;
  call: number;
  reason: string;
  freed: number;
  cost: number;
  saved: number;
  /** `saved` in US dollars, as far as prices are known. */
  savedDollars: number | null;
}

/** How a need of what had left the window shows; a replay finds quotations alone. */
export type FaultKind = "asked" | "reread" | "repeated" | "failedEdit" | "quoted";

/**
 * Needs of what had left the window: the model asked for it with `activate` (whether it got it or not), read it again, ran the same
 * command again, its edit of such lines failed, or it wrote such lines without asking (quoted). `cost`: the calls made for them alone,
 * else the tokens that came again; these are in the bill as requests. `charged`: the part of `cost` that is in no request: quotations
 * are charged as if the model had asked.
 */
export interface LedgerFaults {
  count: number;
  cost: number;
  charged: number;
  kinds: Record<FaultKind, { count: number; cost: number }>;
}

/**
 * Calls that went out with the host's own messages: `failed` of them because something failed, the others while Palimpsest was off. They
 * are in both bills.
 */
export interface LedgerHostCalls {
  calls: number;
  failed: number;
  /** Tokens. */
  sent: number;
  cost: number;
  plainCost: number;
  /** `cost` in US dollars, as far as prices are known. */
  dollars: number;
}

/** Calls on branches of the conversation that were left since; they are in the bills. `dollars`: `cost` in US dollars, as far as known. */
export interface LedgerLeft {
  calls: number;
  cost: number;
  plainCost: number;
  dollars: number;
  plainDollars: number;
}

/** A call. `warm`: whether a cache was alive, of a request with the same model, system prompt and tools. `warming`: what kept its own alive. */
export interface LedgerCall {
  number: number;
  model: string | null;
  /** US dollars for a million uncached input tokens of its model, if known. */
  usdPerMillion: number | null;
  epoch: number;
  warm: boolean;
  ours: LedgerSums;
  /** The share of `ours` that our tools and guidance cost. */
  overhead: number;
  /** Where `extra` is set, `sent` is how large the request would be; the others are 0, and nothing of it is in the sums. */
  plain: LedgerSums;
  /** Whether the plain host would not have made the call: the model had used only our own tools. */
  extra: boolean;
  reported: LedgerReported | null;
  warming: LedgerWarming;
  faults: LedgerFaults;
  /** Calls before it that went out with the host's own messages. */
  hostCalls: LedgerHostCalls;
}

/**
 * What a session's calls cost beside the plain host: input only, in multiples of the price of one uncached input token. `bill` and
 * `plainBill` are the sums of requests, warming and, in `bill`, `faults.charged`.
 */
export interface Ledger {
  /** Number of calls in the bill: `perCall` and `hostCalls`. */
  calls: number;
  /** Number of calls that failed open: they went out with the host's own messages. */
  failedCalls: number;
  hostCalls: LedgerHostCalls;
  left: LedgerLeft;
  /** Number of the epoch, from 0. */
  epoch: number;
  /** Prices of the newest call. `name` is a preset, `own` for a table in the settings, or `model` for prices from the host. */
  prices: { name: string; prices: PriceTable; usdPerMillion?: number } | null;
  bill: number;
  plainBill: number;
  /** The share of `bill` that our tools and guidance cost. */
  overhead: number;
  ours: LedgerSums;
  plain: LedgerSums;
  /** How often the plain host would have compacted. */
  plainCompactions: number;
  warming: LedgerWarming;
  faults: LedgerFaults;
  reported: LedgerReported;
  /** Null if no call's price is known. */
  dollars: LedgerDollars | null;
  epochs: LedgerEpoch[];
  /**
   * What was saved besides `saved` of the epochs: by outputs shown in part from the start, and lines for text that stood already; plus
   * the plain host's compactions, minus overhead, warming and quotations. All together are `plainBill - bill`.
   */
  savedOtherwise: number;
  /** The same in US dollars, as far as prices are known. */
  savedOtherwiseDollars: number | null;
  perCall: LedgerCall[];
}

/** A price table, in multiples of the price of one uncached input token; see the README. */
export interface PriceTable {
  read: number;
  write: number;
  reuse?: "anyPrefix" | "breakpoints";
  lifetimeSeconds?: number | null;
  tiers?: { aboveTokens: number; read: number; write: number }[];
}

/** What happened to tracked files. Events come after the changes are in the store. */
export type TrackingEvent =
  /**
   * A file was compared with the store. There is one event for each tracked file even if it is `unchanged`; later ones only for
   * changes. `noContent`: why the version has no content; null if it has one.
   */
  | {
      type: "created" | "updated" | "unchanged" | "deleted";
      path: string;
      id: string;
      txId: number;
      noContent: "binary" | "too_large" | "excluded" | "deleted" | null;
    }
  /** A file moved. `path` and `id` are the new ones; the object `fromId` got a version without content. */
  | {
      type: "moved";
      from: string;
      fromId: string;
      path: string;
      id: string;
      txId: number;
      noContent: "binary" | "too_large" | "excluded" | "deleted" | null;
    }
  /** A file can no longer be read: no permission, no such mount, a folder in its place. It keeps its latest version. */
  | { type: "orphaned"; path: string; reason: string }
  /** An orphaned or deleted file can be read again. The next event says what it is now. */
  | { type: "resumed"; path: string }
  /** Files in these folders are polled from now on. `detail`: the error of the system, for `refused`. */
  | {
      type: "polling";
      folders: string[];
      reason: "watch_limit" | "network_file_system" | "asked" | "refused";
      detail?: string;
    }
  /** The system lost events, so every tracked file was checked. */
  | { type: "rescanned"; files: number }
  /** Something failed. If it was the store, the files are tried again. */
  | { type: "failed"; path: string | null; problem: string };

/** All settings; the README describes each. */
export interface Settings {
  enabled: boolean;
  layout: "log" | "pools";
  store: string | null;
  filesystemId: string | null;
  mounts: MountMapping[];
  sandbox: string | null;
  keepResults: number;
  collapseTokens: number;
  extraShare: number;
  extraTokens: number;
  hazards: string | null;
  previewTokens: number;
  previewReads: boolean;
  instructionFiles: string[] | null;
  instructionTokens: number;
  activePerTurn: number;
  activeTurns: number;
  poolTokens: number;
  linkedTokens: number;
  track: boolean;
  maxTextBytes: number;
  maxOutputBytes: number;
  highWater: number;
  firstTokenSeconds: number;
  promptTokensPerSecond: number;
  deadlineSeconds: number;
  prices: string | Record<string, string | PriceTable>;
  exclude: string[] | null;
  excludeAlso: string[] | null;
  xtdbUrl: string | null;
  xtdbTokenFile: string | null;
  xtdbCaFile: string | null;
  shareSessions: boolean;
}

/** A folder that an agent in a sandbox sees under another path. All prefixes are absolute paths. */
export interface MountMapping {
  /** Path at which the agent sees it. */
  agentPrefix: string;
  /** Its own path, as an agent outside the sandbox sees it. */
  canonicalPrefix: string;
  /** ID of the filesystem that it is in. Default: that of the host. */
  filesystemId?: string;
  /** Path at which this process opens it. Default: `canonicalPrefix`. */
  clientPrefix?: string;
}

/** JSON schema of a tool's arguments. */
export interface ToolSchema {
  type: "object";
  properties: Record<string, { type: string; description?: string }>;
  required: string[];
}

/** Type of an object. Files, toolcalls and chat segments have contents, chats and sessions have items. */
export type ObjectType = "file" | "toolcall" | "chat_segment" | "chat" | "system_prompt" | "session";

/** What an object tracks, by its type. Its JSON is the identity of the object. */
export type Source = FilesystemSource | OtherSource;

/** A file on a filesystem. */
export interface FilesystemSource {
  type: "filesystem";
  filesystemId: string;
  /** Canonical absolute path within the filesystem. */
  path: string;
}

/** A source of a type that this release does not track: kept as it was written. */
export interface OtherSource {
  type: string;
  path?: string;
  [field: string]: unknown;
}

/** A reference to the latest version of an object, in the form in which documents hold it. */
export interface DynamicReference {
  id: string;
}

/** A reference to one version, which resolves in any store that holds it, in the form in which documents hold it. */
export interface StaticReference {
  id: string;
  /** Hash of the version's payload. */
  content_hash: string;
  /** Where the version was first written; `time` in milliseconds since 1970-01-01 UTC. */
  origin: { store_id: string; tx_id: number; time: number };
}

export type Reference = DynamicReference | StaticReference;

/** A field that differs between two versions. Null also means that a version has no such field. */
export interface FieldChange {
  name: string;
  before: unknown;
  after: unknown;
}

/** An error of this package. */
export interface PalimpsestError extends Error {
  /** Stable code: `CONFLICT`, `STORE_CORRUPT`, `INVALID_SETTINGS`, ... */
  code: string;
  /** What to do about it. */
  hint?: string;
  /** Objects that an ambiguous name may mean: ID and path or type, at most 8. */
  candidates?: string[];
  /** True where something of ours, or the store, does not work: asking in another way does not help. */
  failure?: boolean;
  /** Message, causes and hint, for logs. */
  report?: string;
}

/** Kinds of relations: references to the latest or to a pinned version, tool calls of a chat, links, tags, aliases. */
export type RelationKind = "dynamic" | "static" | "call" | "wikilink" | "markdown" | "external" | "tag" | "alias";

/**
 * Whether a relation's target was found. `missing`: the store has no such object or version. `mismatch`: the version has another hash
 * than the pinned one. `no_part`: the object lacks the heading, block or lines. `unresolved`: the store has no file in the vault that
 * the link fits. `none`: the relation leads to no object.
 */
export type TargetState = "found" | "missing" | "forgotten" | "mismatch" | "no_part" | "unresolved" | "none";

/** A figure of ours beside that of the plain host. */
export interface ReplayPair {
  ours: number;
  plain: number;
}

/** Bills, including faults, in multiples of the price of one uncached input token. `ratio`: ours divided by the plain host's. */
export interface ReplayBill extends ReplayPair {
  ratio: number;
}

/** Calls that needed lines which were not in the window. `raw` counts all of them; `strict` and `ownWords` are subsets. */
export interface ReplayFaults {
  raw: number;
  strict: number;
  ownWords: number;
  cost: number;
}

/**
 * A call of one side of a replay: tokens of its request, tokens read from the cache, cost without `fault`, and the share of the cost
 * that a compaction by the host before it caused.
 */
export interface ReplaySide {
  tokens: number;
  cached: number;
  cost: number;
  compaction: number;
  fault: { lines: number; strict: boolean; ownWords: boolean; sources: number[]; cost: number } | null;
}

/** A call of a replay. `contents`: tokens of our request by kind of content. */
export interface ReplayedCall {
  call: number;
  contents: { fixed: number; user: number; assistant: number; output: number; reference: number };
  ours: ReplaySide;
  plain: ReplaySide;
  /** Whether the plain host compacted before this call. */
  compacted: boolean;
}

/** A session that `replayFile` can play. */
export interface FoundSession {
  /** The file, or `FILE#SESSION` for a session of a database. */
  path: string;
  /** The name of its transcript. */
  name: string;
}

/** The result of replaying a transcript. Tokens and costs are not rounded. */
export interface ReplayedFile {
  /** Name of the file without its ending. */
  name: string;
  calls: number;
  bill: ReplayBill;
  tokens: ReplayPair;
  cachedTokens: ReplayPair;
  cachedShare: ReplayPair;
  peakWindow: ReplayPair;
  epochs: { call: number; reason: string; collapsed: number; freedTokens: number }[];
  /** Compactions on our side, and of the plain host. */
  compactions: number;
  plainCompactions: number;
  faults: ReplayFaults;
  plainFaults: ReplayFaults;
  toolCalls: ReplayToolCalls;
  /** What perfect foresight would cost under the same rules, if it was asked for. */
  oracle?: ForeseenReplay;
  /** What was left out of the file or repaired, a line for each kind, with a count. */
  notes: string[];
  series: ReplayedCall[];
}

/** The sums over transcripts of at least 15 calls; `leftOut` counts the others. */
export interface ReplaySum {
  files: number;
  leftOut: number;
  calls: number;
  bill: ReplayBill;
  /** Median and maximum of the ratios of the transcripts. */
  median: number;
  worst: number;
  tokens: ReplayPair;
  cachedTokens: ReplayPair;
  cachedShare: ReplayPair;
  peakWindow: ReplayPair;
  epochs: number;
  /** Compactions on our side, and of the plain host. */
  compactions: number;
  plainCompactions: number;
  faults: ReplayFaults;
  plainFaults: ReplayFaults;
  toolCalls: ReplayToolCalls;
  /** What perfect foresight would cost, if it was asked for. */
  oracle?: ForeseenReplay & { median: number; worst: number };
}

/**
 * A replay that knows beforehand what its transcript needs. `bill.ours` and `faults` are those with foresight: content that is needed
 * stays until then, or is brought back where that is cheaper. `tokens` are those of all requests.
 */
export interface ForeseenReplay {
  bill: ReplayBill;
  tokens: number;
  epochs: number;
  faults: ReplayFaults;
}

/**
 * Tool calls, and those that a live session may have treated otherwise: a transcript does not always say what files held.
 * `unknownFiles` are reads, writes and edits of a file whose text is not known, or was changed by something that the transcript
 * does not show, and calls of our own tools that answer otherwise; `possibleChanges` are commands and unknown tools that may have changed a file of which text stood in the window.
 */
export interface ReplayToolCalls {
  all: number;
  unknownFiles: number;
  possibleChanges: number;
}

/** A whole replay. */
export interface ReplayReport {
  layout: "log" | "pools" | "plain";
  prices: string;
  window: number | null;
  tokens: "characters" | "bundled";
  overheadTokens: number;
  files: ReplayedFile[];
  sum: ReplaySum;
}

/** How likely a call needs an output or a step: the contents of `hazards.json` and of the file that the setting `hazards` names. */
export interface Hazards {
  version: 2;
  /** Weight of a fault on an output and on a step, as a multiple of its price. */
  caution: { outputs: number; steps: number };
  /** Weights of the logarithm of the chance that a call needs an output. */
  outputs: {
    base: number;
    read: number;
    listing: number;
    lateNeeds: number;
    turnsSince: number;
    stepsSince: number;
    tokens: number;
  };
  /** The same for a step. */
  steps: { base: number; longArguments: number; argumentTokens: number; stepsSince: number };
}

/** Quality of weights: the number of `needs` that they are learned from, and the area under the ROC curve (0.5: chance, 1: perfect). */
export interface HazardQuality {
  needs: number;
  auc: number | null;
}

/** The result of learning. */
export interface LearnedHazards {
  hazards: Hazards;
  /** Sessions that it is learned from, and their calls. */
  sessions: number;
  calls: number;
  outputs: HazardQuality;
  steps: HazardQuality;
  /** Files that are no transcripts. */
  skipped: { file: string; problem: string }[];
}

/** A conversation with others that has memory of its own. */
export interface MemoryConversation {
  /** Name of its folder: 16 hexadecimal digits. */
  id: string;
  /** The name by which the host knows it; empty if its folder does not say it. */
  name: string;
}

/**
 * Whose memory it is: the user's in all projects, the project's in its repository, the user's in this project, or that of one conversation
 * with others.
 */
export type MemoryScope = "global" | "project" | "local" | "conversation";

/** Something that was found about memory. `words`: a sentence without a period, never with a secret. */
export interface MemoryFinding {
  code: string;
  words: string;
  file: string | null;
  /** From 1. */
  line: number | null;
}

/**
 * An entry, or a topic file, that is to be written. `origin`: where it comes from. `staged`: waits for a flush; `held`: the last flush could not
 * write it, for the `reason`; `proposed`: waits for a person's word; `refused`: it is not written, for the `reason`.
 */
export interface MemoryOperation {
  /** Such as `w12`; unique in its folder. */
  id: string;
  /** RFC 3339. */
  at: string;
  file: string;
  text: string;
  heading?: string;
  by: "person" | "import" | "capture";
  origin?: string;
  status: "proposed" | "staged" | "held" | "committed" | "refused";
  /** The code of the finding that decided. */
  code?: string;
  reason?: string;
}

/** What became of an operation, and the line on which it stands. */
export interface MemoryOutcome extends MemoryOperation {
  line: number | null;
  findings: MemoryFinding[];
  /** The places of cited files that it rests on, such as `src/a.rs:3-9`, once it is in its file; absent if there are none. */
  restsOn?: string[];
}

/** What a flush did in one folder; see `Memory.flush`. */
export interface MemoryFlush {
  scope: MemoryScope;
  committed: MemoryOutcome[];
  refused: MemoryOutcome[];
  held: MemoryOutcome[];
  /** What waits for a person's word. */
  proposed: MemoryOperation[];
  /** Whether it ended a flush that was interrupted. */
  resumed: boolean;
  /** Flush misses: IDs of operations that were acknowledged and are in no readable line of the journal any more. */
  lost: string[];
  findings: MemoryFinding[];
  failed: MemoryFinding | null;
}

/** What waits in a folder; see `Memory.waiting`. */
export interface MemoryWaiting {
  scope: MemoryScope;
  interrupted: boolean;
  operations: MemoryOperation[];
  /** Absolute paths of the files that a flush writes: a host keeps its own tools from them meanwhile. */
  files: string[];
}

/** An entry that was staged; see `Memory.remember`. */
export interface RememberedEntry {
  id: string;
  scope: MemoryScope;
  findings: MemoryFinding[];
  /** The places of cited files that it rests on, such as `src/a.rs:3-9`. */
  restsOn: string[];
}

/** Something that another program remembers. `take`: it is taken; `duplicate`: it is here already, or waits; `refused`: for the `reason`. */
export interface MemoryImportItem {
  scope: MemoryScope;
  file: string;
  text: string;
  heading?: string;
  by: "import";
  /** The file, and the line behind a colon. */
  origin: string;
  verdict: "take" | "duplicate" | "refused";
  reason?: string;
  /** Its operation, once it is staged. */
  id: string | null;
}

/** What an import would take, or took; see `Memory.importFrom`. */
export interface MemoryImport {
  items: MemoryImportItem[];
  /** The files that were read. */
  files: string[];
  /** What could not be read. */
  findings: MemoryFinding[];
}

/** A model as the host names it; see `Memory.captureModel`. */
export interface MemoryCaptureModel {
  provider: string;
  id: string;
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

/** Why a person may want to look at a page. `old`: neither confirmed nor used for so many days; `never_used`: known for so many. */
export type MemoryDoubt =
  | { reason: "cited_contradicted" | "cited_touched" | "cited_moved" | "cited_gone"; paths: string[] }
  | { reason: "old" | "never_used"; days: number };

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
  /** Without scopes that have no folder here. */
  scopes: MemoryScopeOverview[];
  /** Pages of indexes and of files that these lead to, in the order in which the model reads them. */
  pages: MemoryPageOverview[];
  /** What the system prompt of this session says of memory; null where it says nothing, or no session has begun. */
  section: { tokens: number; pageTokens: number; changes: number } | null;
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
  /** Null where it may not be looked at. */
  folder: string | null;
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
