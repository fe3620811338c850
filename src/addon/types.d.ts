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

/** A call beside the call before and beside what the plain host would have sent. */
export interface CallBesideBoth {
  /** The call. */
  call: RecordedCall;
  /** How it differs from the call before; null for the first call, and where that cannot be read. */
  sinceBefore: Array<CallChange> | null;
  /** As in `ComparedCall`. */
  promptChange: PromptChange | null;
  /** What the plain host would have sent: no record, no hash, and nothing in it is shown otherwise than as given. */
  plain: RecordedCall;
  /** How the call differs from that. */
  againstPlain: Array<CallChange>;
}

/** A run of messages that two calls have in common, or a difference between them. */
export interface CallChange {
  /** `kept`, `removed`, `inserted`, or `changed`: the same message, shown in another way. */
  change: "kept" | "removed" | "inserted" | "changed";
  /** Index of the first message in the earlier call; null if they are inserted. */
  old: number | null;
  /** Index of the first message in the later call; null if they are removed. */
  new: number | null;
  /** Number of messages; always 1 unless they are kept. */
  count: number;
  /** Unified difference of a changed message. */
  diff: string | null;
}

/** Why a call cannot be read, as the error of `recordedCall`. */
export interface CallFailure {
  /** The error's code. */
  code: string;
  /** The error, for people. */
  message: string;
  /** What to do about it. */
  hint: string | null;
}

/** How large a request was beside that of the plain host, as the ledger has it: in the provider's count, system prompt and tools included. */
export interface CallSize {
  /** The provider's token count divided by ours, as it was known at the call; 1 until the provider reported one. */
  factor: number;
  /** Tokens of the request, as `ours.sent` of `LedgerCall`. */
  sent: number;
  /** Tokens of the plain host's request, as `plain.sent` of `LedgerCall`: after the compactions that it would have made. */
  plain: number;
  /** Whether the plain host would not have made the call, because that answers a tool of ours. */
  extra: boolean;
  /**
   * Position in the chat of the first message that the plain host would still have had as it was: a summary would have stood for those
   * before it. Null where it would not have compacted.
   */
  plainFrom: number | null;
}

/** An object whose latest version is another than before an import. */
export interface ChangedLatest {
  /** ID of the object. */
  id: string;
  /** Its type. */
  type: string;
  /** Path of a file; `null` for other objects. */
  path?: string;
  /** When the version that was the latest was first written, in milliseconds since 1970. */
  before: number;
  /** When the version that is the latest now was first written, in milliseconds since 1970. */
  after: number;
  /** ID of the store that wrote it first. */
  storeId: string;
}

/** What `checkSettings` makes of a host's settings. */
export interface CheckedSettings {
  /** Those that count. */
  settings: Partial<Settings>;
  /** What is wrong with the others, each with its key. */
  problems: Array<string>;
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

/** A call beside another list of messages. */
export interface ComparedCall {
  /** The call. */
  call: RecordedCall;
  /** The other list; null before the first call, and where the call before cannot be read. */
  other: RecordedCall | null;
  /** How the call differs from it: `old` is an index of `other`, `new` one of `call`. Empty where there is none. */
  changes: Array<CallChange>;
  /**
   * How its system prompt and tools differ from those of the call before; null where they are the same, where either is not known, and
   * against plain, whose own are not recorded.
   */
  promptChange: PromptChange | null;
}

/** What a session took over from the one that it goes on with. */
export interface Continuation {
  /** Where that session was: `pi`, `openclaw`, ... */
  harness: string;
  /** Turns of its chat. */
  turns: number;
  /** Messages of its chat. */
  messages: number;
  /** Objects, which keep their handles. */
  objects: number;
  /** Those of them that are pinned. */
  pinned: number;
  /** Tokens of what the model is told with the next message. */
  tokens: number;
}

/** How two versions differ. */
export interface Difference {
  /** The earlier version. */
  from: Version;
  /** The later version. */
  to: Version;
  /** Lines that only `to` has. */
  added: number;
  /** Lines that only `from` has. */
  removed: number;
  /** Unified diff of the contents; empty if they are equal. A null content counts as an empty text, an item as a line. */
  unified: string;
  /** Fields that differ. */
  fields: FieldChange[];
}

/** What was checked. */
export interface DoctorChecked {
  /** Objects: their envelopes and nicknames. */
  objects: number;
  /** Versions: their payload hashes and their order in time. */
  versions: number;
  /** Distinct contents: their hashes. */
  contents: number;
  /** UTF-8 bytes of these. */
  contentBytes: number;
  /** Items of chats and sessions: their running hashes and places. */
  items: number;
  /** UTF-8 bytes of these. */
  itemBytes: number;
  /** Pinned references in fields and items: whether the store holds their versions. */
  references: number;
}

/** A problem of a store. */
export interface DoctorFinding {
  /** Kind of the problem. */
  kind: "file" | "content" | "version" | "envelope" | "items" | "nickname" | "time" | "lost" | "reference";
  /** ID of the object concerned, if there is one. */
  object?: string;
  /** Transaction of the version concerned, if there is one. */
  txId?: number;
  /** What is wrong, for people. */
  problem: string;
  /** What to do about it, for people. */
  advice: string;
}

/** The result of checking a store. */
export interface DoctorReport {
  /** The file, or `:memory:`. */
  path: string;
  /** ID of the store; absent if the file is too damaged to open. */
  storeId?: string;
  /** Whether there are no findings. */
  healthy: boolean;
  /** Whether the file differs from what was written to it. Findings of the kinds `lost` and `reference` are no damage. */
  damaged: boolean;
  /** The transaction whose state was checked. */
  asOf: number;
  /** Counts of what was checked. */
  checked: DoctorChecked;
  /** The first 200 problems, in the order in which they were found. */
  findings: Array<DoctorFinding>;
  /** Number of further problems. */
  moreFindings: number;
}

/** The objects that were reached. */
export interface Expanded {
  /** Nearest first. Each version occurs once for each of its parts that relations name. */
  nodes: Array<ExpandedNode>;
  /** Whether more nodes than `limit` were reached. */
  more: boolean;
}

/** An object that was reached, or a target that is no object. */
export interface ExpandedNode {
  /** Distance from its root, in relations. */
  depth: number;
  /** Index in `nodes` of the nearest listed node on the way to it; missing for roots. */
  parent?: number;
  /** ID of the object whose relation led here; missing for roots. */
  viaFrom?: string;
  /** The kind of that relation. */
  viaKind?: RelationKind;
  /** Where that relation is. */
  viaPlace?: LinkPlace;
  /** The text of that relation. */
  viaWritten?: string;
  /** Whether the target was found. */
  state: TargetState;
  /** ID of the object; missing if a link is unresolved. */
  id?: string;
  /** Transaction of its version. */
  txId?: number;
  /** Hash of that version. */
  contentHash?: string;
  /** The headings, block (`^id`) or lines (`1-9`) that the relation names; missing for the whole object. */
  part?: string;
  /** Its metadata: `id`, `type` and the fields of its view. */
  metadata: Record<string, unknown>;
  /** The content, if `content` was set and the object has one. */
  content?: string;
  /** Values by path, for the paths in `values` that exist; a list for a path with `[*]`. */
  values: Record<string, unknown>;
  /** Characters left out because of the budget. */
  leftOutChars?: number;
}

/** What was written to an archive. */
export interface ExportedArchive {
  /** Objects. */
  objects: number;
  /** Versions. */
  versions: number;
  /** Distinct contents. */
  contents: number;
  /** Items of chats and sessions. */
  items: number;
  /** Nicknames. */
  nicknames: number;
  /** Lines. */
  lines: number;
  /** Bytes of the lines. */
  bytes: number;
  /** Bytes of the file, after compression. */
  writtenBytes: number;
  /** Number of secrets that were replaced, by rule. */
  redactions: Record<string, number>;
}

/** A line that stands for folded steps. */
export interface FoldAbout {
  /** The line. */
  line: string;
  /** Number of the first call that showed it. */
  sinceCall: number;
  /** Number of the epoch that folded the steps. */
  sinceEpoch: number | null;
  /** Why that epoch started. */
  reason: string | null;
}

/** What was forgotten, or would be in a dry run. */
export interface ForgetReport {
  /** Whether this was a dry run, which changes nothing. */
  dryRun: boolean;
  /** IDs of the forgotten objects. */
  objects: Array<string>;
  /** Their versions. */
  versions: number;
  /** Their items. */
  items: number;
  /** Their contents that no other object has. */
  contents: number;
  /** UTF-8 bytes of these contents and of items and fields. */
  textBytes: number;
  /** IDs of files that only the session knew. Their texts and fields are removed too, but may be stored again when the files are read. */
  emptied: Array<string>;
  /** IDs of objects of the session that stay because other sessions know them. */
  kept: Array<string>;
  /** Objects in which lines are replaced by `[forgotten]`. */
  rewritten: Array<Holder>;
  /** Objects that still hold forgotten lines afterwards, those with most lines first. */
  holders: Array<Holder>;
  /** Distinct lines that are removed. */
  lines: number;
  /** Distinct lines that are kept because they are common. */
  commonLines: number;
  /** Sessions whose hosts still hold the text in files of their own. */
  hosts: Array<HostSession>;
  /** The garbage collected afterwards; absent in a dry run. */
  collected?: Garbage;
}

/** An object that a name means in a session. */
export interface FoundObject {
  /** Its ID in the store, with the version that the name names: `ID@12`. */
  name: string;
  /** Its handle in the session; null for a file that the session did not meet. */
  handle: string | null;
  /** The lines that the name names; null for all. */
  lines: string | null;
}

/** What was dropped from a store's files, or would be in a dry run. */
export interface Garbage {
  /** Contents that no version refers to. */
  contents: number;
  /** Their UTF-8 bytes. */
  contentBytes: number;
  /** Bytes of the file and its log before. */
  bytesBefore: number;
  /** Bytes of both afterwards; in a dry run, an upper bound. */
  bytesAfter: number;
  /** Whether dropped text stays in the files until the next `gc`, because a process is still reading an older state. */
  waitsForReaders: boolean;
}

/** An object that holds forgotten lines. */
export interface Holder {
  /** ID of the object. */
  object: string;
  /** Its type. */
  type: string;
  /** ID of the chat or session that it belongs to, if there is one. */
  session?: string;
  /** Versions with such lines in contents or fields. */
  versions: number;
  /** Items with such lines. */
  items: number;
  /** Distinct lines that it holds. */
  lines: number;
  /** Share of all forgotten lines that it holds, 0 to 1. */
  share: number;
}

/** A session as its host names it. */
export interface HostSession {
  /** Host: `pi`, `openclaw`, ... */
  harness: string;
  /** The host's own session ID. */
  hostSession: string;
}

/** The result of an import. */
export interface ImportedArchive {
  /** Whether this is a dry run: then the rest is what would happen. */
  dryRun: boolean;
  /** ID of the store that wrote the archive. */
  storeId: string;
  /** Bytes read, uncompressed. */
  bytes: number;
  /** Versions that the store did not have before. */
  versions: number;
  /** Objects with such versions. */
  objects: number;
  /** Versions that the store had already. */
  present: number;
  /** Versions that were written again, so that they are the latest, or stand beside another version. */
  putAgain: number;
  /** Nicknames that were added. */
  nicknames: number;
  /** Versions of which the store had only what an earlier archive left, and which are whole now. */
  restored: number;
  /** Objects that the store had and whose latest version is another now, by ID. */
  changed: Array<ChangedLatest>;
  /** Sessions that went on here in another way than in the archive. The one here is as it was. */
  parted: Array<PartedSession>;
  /** Everything that was left out, and why. */
  leftOut: Array<LeftOutOfImport>;
  /** Lines of kinds that this program does not know, which were skipped, by kind. */
  unknownLines: Record<string, number>;
}

/** A file that was indexed. */
export interface IndexedFile {
  /** Canonical path. */
  path: string;
  /** ID of its object. */
  id: string;
  /**
   * `created`: the file is new to the store; `updated`: it has a new version; `unchanged`: nothing was written; `deleted`: the file
   * is gone, and its new version has no content.
   */
  outcome: "created" | "updated" | "unchanged" | "deleted";
  /** Transaction of its latest version. */
  txId: number;
  /** Why the version has no content; null if it has one. */
  noContent: "binary" | "too_large" | "excluded" | "deleted" | null;
}

/** An object of the session index. */
export interface IndexedObject {
  /** Its name in this session, such as `f3`, `t17` or `s2`, which never changes. */
  handle: string;
  /** Its ID in the store. */
  id: string;
  /** What it is. */
  type: "file" | "toolcall" | "chat_segment";
  /** Path of a file as the agent sees it; null for others. */
  path: string | null;
  /** Name of a call's tool; null for others. */
  tool: string | null;
}

/** The result of indexing. */
export interface IndexReport {
  /** The files, in the order in which they were found; deleted ones last. */
  files: Array<IndexedFile>;
  /** Paths that could not be read, are missing, or are not UTF-8. */
  failed: Array<PathProblem>;
  /** Paths left out on purpose: symbolic links, FIFOs, sockets, devices, and forgotten files. */
  skipped: Array<PathProblem>;
}

/** Something in an archive that was not imported. */
export interface LeftOutOfImport {
  /** ID of the object. */
  id: string;
  /** The reason. */
  reason:
    | "forgotten"
    | "other_object"
    | "unknown_type"
    | "redacted_here"
    | "without_items"
    | "excluded"
    | "parted"
    | "damaged"
    | "nickname_taken"
    | "nickname_mistakable"
    | "nickname_without_object";
  /** The reason in words. */
  detail: string;
  /** Number of versions left out; 0 for a nickname. */
  versions: number;
}

/** A file that a link may lead to. */
export interface LinkCandidate {
  /** ID of the object. */
  id: string;
  /** Absolute path of the file. */
  path: string;
}

/** Where a relation is in its object. */
export interface LinkPlace {
  /** `content`, `front_matter`, `items`, or the name of a field. */
  field: string;
  /**
   * In the content, the headings above it, joined by `#`. In the front matter, the keys that lead to it. Else its path in the
   * payload, such as `file_refs[0]` or `items[12].content`.
   */
  path: string;
  /** Line of the text, from 1; only in content and front matter. */
  line?: number;
}

/** What a relation leads to. */
export interface LinkTarget {
  /** Whether the target was found; `none` for URLs, tags and aliases, which lead to no object. */
  state: TargetState;
  /** ID of the object, if there is one. */
  id?: string;
  /** Transaction of its version: the pinned version, else the one that was visible at the time. */
  txId?: number;
  /** Absolute path, if the target is a file. */
  path?: string;
  /**
   * Of an ambiguous link, the other files that it may lead to, best first. Of an unresolved link, files that have its target as an
   * alias.
   */
  candidates: Array<LinkCandidate>;
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

/** What a person should know of a memory file. */
export interface MemoryWarning {
  /** Stable code in upper snake case. */
  code: string;
  /** The file or folder; empty if it is about none. */
  path: string;
  /** What is wrong, in words that follow the path. */
  problem: string;
}

/** What is known of a message of a call. */
export interface MessageAbout {
  /** Position in the chat, from 0; null for messages that are not in the chat, such as ours. */
  position: number | null;
  /** Tokens of the message as shown, by our count. */
  tokens: number;
  /** ID of the object whose content or result the message is. */
  object: string | null;
  /** Handle of that object. */
  handle: string | null;
  /** Handle of the file that it shows or that the call changed. */
  fileHandle: string | null;
  /** Path of that file. */
  path: string | null;
  /** How a tool result is shown, such as `{ as: "excerpt", pieces: [...] }`; null for other messages. */
  shown: { as: string; [detail: string]: unknown } | null;
  /** Number of the first call that showed it in this way; null if it is shown as the host gave it. */
  sinceCall: number | null;
  /** Number of the epoch that changed it; null if it was sent in this way from the start. */
  sinceEpoch: number | null;
  /** Why that epoch started. */
  reason: string | null;
  /** Notes about changed files that were added to it. */
  notes: Array<string>;
  /** Lines that stand for folded steps and were added to it. */
  folds: Array<FoldAbout>;
  /**
   * Why the store does not hold the message as it went out; null if it does.
   * `excluded`: it shows a file that the setting `exclude` names; `secret`: it holds what looks like a secret, and may show such a file.
   */
  withheld: "excluded" | "secret" | "forgotten" | "redacted" | null;
  /** For a withheld message, the SHA-256 of its JSON as it went out, if that is known. */
  digest: string | null;
}

/** An object as a session met it. */
export interface MetObject {
  /** Its ID in the store. */
  id: string;
  /** `contentHash` of each version that the session met, oldest first. */
  versions: Array<string>;
}

/** What a migration did. */
export interface MigrationReport {
  /** Objects of the first store whose every version was compared. */
  objects: number;
  /** Versions that the second store did not have before. */
  versions: number;
  /** Versions that it had already. */
  present: number;
  /** Nicknames given. */
  nicknames: number;
  /** Versions that are in both stores, with the same hashes, and were read again from the second. */
  verified: number;
  /** What was not taken, and why. */
  leftOut: Array<LeftOutOfImport>;
}

/** A relation of an object: a reference, link, tag or alias. */
export interface ObjectLink {
  /** ID of the object that has the relation. */
  from: string;
  /** Transaction of that object's version. */
  version: number;
  /** First transaction with this relation. */
  since: number;
  /** Kind of the relation. */
  kind: RelationKind;
  /** The target as written: the ID of an object or a call, a link's target without headings and block, a URL, a tag without `#`. */
  written: string;
  /** Headings or block (`^id`) of a link, or lines of a reference (`1-9`); missing if it leads to the whole text. */
  part?: string;
  /** Whether the link shows its target in place: `![[note]]` or an image. */
  embed: boolean;
  /** The text that a link shows instead of its target. */
  alias?: string;
  /** Hash of the version that a static reference pins. */
  contentHash?: string;
  /** Where the relation is. */
  place: LinkPlace;
  /** What it leads to. */
  target: LinkTarget;
}

/** What an object refers to, and what refers to it. */
export interface ObjectRelations {
  /** As by `links`. */
  links: Array<ObjectLink>;
  /** As by `backlinks`. */
  backlinks: Array<ObjectLink>;
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

/** A session of an archive that is stored under an ID of its own. */
export interface PartedSession {
  /** ID of the session, in the archive and here. */
  id: string;
  /** ID under which the archive's is stored. */
  storedAs: string;
}

/** A path that was not indexed. */
export interface PathProblem {
  /** The path, with replacement characters where it is not UTF-8. */
  path: string;
  /** What is wrong, for people. */
  problem: string;
}

/** Whether a project's memory (`.pi/memory`) and settings (`.pi/palimpsest.json`) count. */
export interface ProjectTrust {
  /** The real path for which an answer holds: the project's or, where that counts, that of the folder above it which has its memory. */
  path: string;
  /**
   * `trusted`: the person said so. `own`: there is nothing but what their own sessions wrote on this machine, which needs no word.
   * `unknown`: there is something, and they were not asked yet. `changed`: they trusted what stood at this path, and it belongs to
   * another user or is another repository now. `denied`: they said no.
   */
  standing: "trusted" | "own" | "unknown" | "changed" | "denied";
  /** Whether they count: `trusted` or `own`. */
  counts: boolean;
  /** The files that would count, by their paths in `.pi`, with `/`. */
  files: Array<string>;
}

/** How system prompt and tools of a call differ from those of the call before. Either costs all that a cache held. */
export interface PromptChange {
  /** Unified difference of the system prompts; null where they are the same. */
  text: string | null;
  /** Names of the tools that are new. */
  added: Array<string>;
  /** Names of the tools that are gone. */
  removed: Array<string>;
  /** Names of the tools that are defined otherwise. */
  changed: Array<string>;
}

/** What was fetched from the shared store. */
export interface PullReport {
  /** Versions that this store did not have before. */
  versions: number;
  /** Versions that it had already. */
  present: number;
  /** Objects whose latest version is another now. */
  changed: Array<ChangedLatest>;
  /** Sessions that went on here in another way. The one here is as it was. */
  parted: Array<PartedSession>;
  /** Objects that were forgotten there, and now here. */
  forgotten: number;
  /** What was not taken, and why. */
  leftOut: Array<LeftOutOfImport>;
  /** Documents that are not what this program writes, in words; everything else was taken. */
  broken: Array<string>;
}

/** What was sent to the shared store. */
export interface PushReport {
  /** Versions that the shared store did not have before. */
  versions: number;
  /** Versions that it had already. */
  present: number;
  /** Objects that were forgotten here, and now there. */
  forgotten: number;
  /** What stays here, and why. */
  leftOut: Array<LeftOutOfImport>;
}

/** The result of a put. */
export interface PutResult {
  /** Whether a version was written; false if the latest one is equal. */
  written: boolean;
  /** The latest version. */
  version: Version;
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

/** A recorded call: what the model saw. */
export interface RecordedCall {
  /** ID of the session that made it; the parent, for a call that a fork inherited. */
  sessionId: string;
  /** Its number in the session, from 1. */
  call: number;
  /** Number of the call that this one repeats: the host sent the same list again. */
  retryOf: number | null;
  /**
   * Why the call went out with the host's own messages; null if it went out with ours. If it is set, the fields from here to
   * `hash` are unknown.
   */
  failedOpen: string | null;
  /** Time of the call, in RFC 3339, UTC. */
  time: string | null;
  /** Provider and model: `provider/id`. */
  model: string | null;
  /** Layout. */
  layout: string | null;
  /** Number of the epoch, from 0. */
  epoch: number | null;
  /** Why the epoch started; null for the first one. */
  epochReason: string | null;
  /** Tokens of the messages as sent. */
  sentTokens: number | null;
  /** Tokens of the host's own list, our tools' calls and their results included. What the plain host would have sent is in `size`. */
  plainTokens: number | null;
  /** Tokens of the model's window. */
  contextWindow: number | null;
  /** How large the request was beside the plain host's; null of a call that is in no bill. */
  size: CallSize | null;
  /** Running SHA-256 over the SHA-256 of each message's JSON, as it was recorded. */
  hash: string | null;
  /** Whether `messages` match `hash`. False if a message is withheld whose hash is not known. */
  verified: boolean;
  /** The system prompt, if there was one. */
  systemPrompt: string | null;
  /** Tokens of system prompt and tools, by our count, if they are known. */
  promptTokens: number | null;
  /** Definitions of the tools, if they are known. */
  tools: unknown;
  /** The messages, each as its exact JSON. */
  messages: Array<string>;
  /** What is known of each message, in the same order. */
  about: Array<MessageAbout>;
  /** The request in the provider's format, if the host called `preparePayload`. */
  payload: RecordedPayload | null;
}

/** A request in the provider's format. */
export interface RecordedPayload {
  /** SHA-256 of the request as canonical JSON. */
  hash: string;
  /** Its messages, each as JSON, if another extension changed them after us; else null. */
  messages: Array<string> | null;
}

/** A page that stands in the system prompt. */
export interface ResidentPage {
  /** The page. */
  id: string;
  /** How much of it stands there. */
  fidelity: "pointer" | "structured" | "compressed" | "full";
}

/** A version, item or nickname that matches. */
export interface SearchHit {
  /** ID of the object. */
  id: string;
  /** Its type. */
  type: ObjectType;
  /** Path of a file, tool of a toolcall; null for others. */
  name: string | null;
  /** Transaction of the newest version with this text; for an item, the one that added it; for a nickname, that of the latest version. */
  txId: number;
  /** What part of the object matches. */
  part: "version" | "nickname" | "item";
  /** Position of the item, from 0; null for other parts. */
  item: number | null;
  /** Whether the object still has this text. */
  latest: boolean;
  /** Above 0; higher is better. Only comparable within a search. */
  score: number;
  /** Place of the quoted text: `content`, `path`, `fields.args.command`, `message.content[0].text`. */
  place: string;
  /** At most three lines, those that match best; empty if the text cannot be read any more. */
  lines: Array<SnippetLine>;
  /** Of a message of a chat, ID of the shortest chat segment that holds it; null for others, and where there is none. */
  segment: string | null;
}

/** The result of a search. */
export interface SearchResults {
  /** The hits, best first. */
  hits: Array<SearchHit>;
  /** Number of all ranked hits. */
  total: number;
  /** Whether `total` counts all matches. False if the search has only words that occur in very many texts. */
  complete: boolean;
  /** Versions that could not be searched because the index could not be written; usually 0. */
  unindexed: number;
}

/** A session as its document stood at some time, folded from its events. */
export interface SessionDocument {
  /** ID of the document, `session:...`. */
  id: string;
  /** Transaction of the version. */
  txId: number;
  /** Calls to the model so far. */
  calls: number;
  /** Number of the epoch, from 0. */
  epoch: number;
  /** ID of its chat. */
  chatId: string;
  /**
   * Where its branch ends: position in the chat of the newest message; null while there is none. Positions behind it, if the chat
   * has any, are of another branch.
   */
  branchLeaf: number | null;
  /** IDs of the tool calls of the branch, in order. */
  toolcallRefs: Array<string>;
  /** As in `SessionSets`. */
  index: Array<IndexedObject>;
  /** As in `SessionSets`. */
  pool: Array<string>;
  /** As in `SessionSets`; of a session in the layout `pools` also what its window had no room for. */
  active: Array<string>;
  /** As in `SessionSets`. */
  pinned: Array<string>;
  /** As in `SessionSets`. */
  pinnedWithoutRoom: Array<string>;
}

/** A session in a store. */
export interface SessionInfo {
  /** ID of its document, `session:...`. */
  id: string;
  /** Name of the harness. */
  harness: string;
  /** The harness's own session ID. Several sessions can have the same ID: in different folders, or parted from each other. */
  hostSessionId: string;
  /** Working folder. */
  cwd: string;
  /** The first words of the first message that is a person's; null if the store does not hold them. */
  title: string | null;
  /** `active` while it is open or if its process was killed; `paused` after `close`. */
  state: "active" | "paused";
  /** When it was first opened, in RFC 3339, UTC. */
  started: string;
  /** When it was last written, closing not counted; of an imported session, in the store that it comes from. */
  updated: string;
  /** Calls to the model, including those of the parent before a fork. */
  calls: number;
  /** ID of the session whose chat it began with; null if it began empty. */
  parentId: string | null;
  /** How it came from `parentId`: `forked` by the host, or `parted` because another process wrote to the parent. */
  origin: "forked" | "parted" | null;
  /** ID of its chat. */
  chatId: string;
  /** ID of its system prompt. */
  systemPromptId: string;
  /** Transaction of its latest version. */
  txId: number;
}

/** The sets of a session. Pool, active and pinned set list handles of the index. */
export interface SessionSets {
  /** Every file, tool call and part of the chat that the session met, in the order in which it met them. */
  index: Array<IndexedObject>;
  /** Those that the model knows of. */
  pool: Array<string>;
  /** Those whose content stands in the window. */
  active: Array<string>;
  /** Those that stay in the window until they are unpinned. */
  pinned: Array<string>;
  /** Those of them whose content comes with the next message; absent if there are none. */
  pinnedNext?: Array<string>;
  /** Pinned ones for which the last request had no room, so that they are not in `pinned`; absent if there are none. */
  pinnedWithoutRoom?: Array<string>;
}

/** Figures for a status line. */
export interface SessionStatus {
  /** Calls so far. */
  calls: number;
  /** Number of the epoch, from 0. */
  epoch: number;
  /** Tokens of the messages last sent. */
  windowTokens: number;
  /** Tokens of the host's own list, our tools' calls and their results included. */
  plainTokens: number;
  /** Share of `plainTokens` that was not sent, 0 to 1. */
  savedShare: number;
  /** Tokens of the whole request last sent, by the ledger: system prompt, tools and messages, in the provider's count. */
  requestTokens: number;
  /**
   * Tokens of the request that the plain host would have, as the ledger has it: without our tools, and after the compactions that it
   * would have made.
   */
  plainRequestTokens: number;
  /** Tokens of a request with the host's own list, without our tools and guidance: what it would send if Palimpsest were turned off. */
  hostRequestTokens: number;
  /** What that costs in US dollars if no cache holds any of it; null if no price is known. */
  hostRequestDollars: number | null;
  /** Our bill for input so far in US dollars, each call at the prices of its own model; null if no price is known. */
  billDollars: number | null;
  /** What the plain host's would have been, for the same calls. */
  plainBillDollars: number | null;
  /** Our bill by what the plain host's would have been; null before the first call. */
  billRatio: number | null;
  /** Needs of what had left the window, as in the ledger. */
  faults: LedgerFaults;
  /** Objects whose content stands in the window. */
  activeObjects: number;
  /** Objects met. */
  indexedObjects: number;
  /** Pinned objects whose content stands in the window. */
  pinnedObjects: number;
  /** Files and folders that do not answer: what is known of what they hold stands, and they are looked at again later. */
  silentPlaces: Array<string>;
}

/** A setting, the value that counts, and who set it. */
export interface SettingValue {
  /** Its key. */
  key: string;
  /** The value. */
  value: unknown;
  /** `default`: nobody set it. `user`, `project`: the settings file at `place`. `environment`: the variable named by `place`. */
  source: "default" | "user" | "project" | "environment";
  /** Path of the file, or name of the variable; absent for a default. */
  place?: string;
}

/** What an XTDB server says of itself. */
export interface SharedServer {
  /** Its address. */
  url: string;
  /** Version of XTDB. */
  version: string;
  /** What its index is kept in. */
  kvStore: string;
  /** Whether it indexes nothing any more, until it is started again. */
  ingesterFailed: boolean;
  /** By how many milliseconds its clock is ahead of this machine's; negative: behind. */
  clockAheadMs: number;
  /** How long it took to answer, in milliseconds. */
  answeredInMs: number;
}

/** A session in a shared store. */
export interface SharedSession {
  /** ID of its document, `session:...`, by which `SharedStore.pullSession` fetches it. */
  id: string;
  /** Name of the harness. */
  harness: string;
  /** The harness's own session ID. */
  hostSessionId: string;
  /** Working folder, on the machine where it was. */
  cwd: string;
  /** `active` while it is open or if its process was killed; `paused` after it was closed. */
  state: "active" | "paused";
  /** When its latest version was first written, in RFC 3339, UTC. */
  updated: string;
  /** ID of the store that wrote it. */
  storeId: string;
}

/** Why sharing does not work. */
export interface SharingError {
  /** Code of the error. */
  code: string;
  /** The error, for people. */
  message: string;
  /** When it came up first, in RFC 3339, UTC. */
  since: string;
}

/** How far a push, a pull or a migration is. */
export interface SharingProgress {
  /** What is being done. */
  stage: "sending" | "taking" | "checking";
  /** Versions done. */
  done: number;
  /** All versions; null if that is not known. */
  of: number | null;
}

/** How a store and the shared one stand. */
export interface SharingStatus {
  /** Address of the server. */
  url: string;
  /** ID of the shared store; null if it was never reached. */
  storeId: string | null;
  /** Transactions of this store that wait to be sent. */
  outbox: number;
  /** Time of the oldest of them, in RFC 3339, UTC; null if none waits. */
  oldest: string | null;
  /** Transactions of the shared store that wait to be fetched; null if the server was not asked. */
  behind: number | null;
  /** When nothing waited last, in RFC 3339, UTC; null if that never was. */
  last: string | null;
  /** Why sharing does not work at the moment; null if it works. */
  error: SharingError | null;
  /** Versions of others that wait because their time is far ahead of this machine's clock. */
  ahead: number;
  /** Whether sessions are shared too. */
  sessions: boolean;
}

/** Calls that showed an object in the same way. */
export interface ShownRun {
  /** Number of the first. */
  from: number;
  /** Number of the last. */
  to: number;
  /** As `shown.as` of `MessageAbout`. */
  as: "given" | "current" | "excerpt" | "reread" | "reference";
}

/** A line of a text, or the part of it around a match. */
export interface SnippetLine {
  /** Number of the line, from 1. */
  line: number;
  /** The line without its ending; of a long line, a part. */
  text: string;
  /** The matches in `text`, as arguments for `text.slice` (UTF-16 code units); in order, not overlapping. */
  matches: [start: number, end: number][];
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

/** A table or index of a store's file. */
export interface StorePart {
  /** Its name. */
  name: string;
  /** Its bytes. */
  bytes: number;
}

/** Counts and sizes of a store. */
export interface StoreStats {
  /** Objects by type. */
  objects: Record<string, number>;
  /** How many of these objects were forgotten. */
  forgotten: number;
  /** Sessions. */
  sessions: number;
  /** Versions. */
  versions: number;
  /** Items, including those that are no longer in their lists. */
  items: number;
  /** Contents. */
  contents: number;
  /** UTF-8 bytes of contents, items and fields, before compression. */
  plainBytes: number;
  /** Bytes of the file; 0 in memory. */
  fileBytes: number;
  /** Bytes of the write-ahead log. */
  logBytes: number;
  /** Bytes of the file that are free. */
  freeBytes: number;
  /** Bytes by table and index, largest first. */
  parts: Array<StorePart>;
  /** Oldest transaction that wrote a version; absent on an empty store. */
  oldest?: TransactionTime;
  /** Newest transaction; absent on an empty store. */
  newest?: TransactionTime;
}

/** A session over time. */
export interface Timeline {
  /** ID of the session's document. */
  sessionId: string;
  /** Every call in order, those that failed open included. */
  calls: Array<TimelineCall>;
  /** What happened, in order. */
  marks: Array<TimelineMark>;
  /** The objects that the session met, in the order in which it met them. */
  objects: Array<TimelineObject>;
}

/** A call. Of one that failed open, only number and reason are known. */
export interface TimelineCall {
  /** Its number, from 1. */
  number: number;
  /** Number of the call that this one repeats. */
  retryOf: number | null;
  /** Why it went out with the host's own messages; null if it went out with ours. */
  failedOpen: string | null;
  /** Time, in RFC 3339, UTC. */
  time: string | null;
  /** Provider and model: `provider/id`. */
  model: string | null;
  /** Layout. */
  layout: string | null;
  /** Number of the epoch, from 0. */
  epoch: number | null;
  /** Tokens of the model's window. */
  contextWindow: number | null;
  /** Tokens of the messages as sent. */
  sentTokens: number | null;
  /** Tokens of the host's own list, our tools' calls and their results included. */
  plainTokens: number | null;
  /** Tokens of the request by kind of content. */
  kinds: TokensByKind | null;
  /** Number of messages of the request. */
  messages: number | null;
}

/** Something that happened in a session. */
export interface TimelineMark {
  /**
   * `epoch`: content left the window. `model`: another model than at the call before. `fault`: the model needed what had left.
   * `plain_compaction`: the plain host would have compacted. `file_changed`: on disk, by the model, or out of reach. `branch`: the host
   * went back to an earlier message or rearranged its list.
   */
  kind:
    | "epoch"
    | "model"
    | "activated"
    | "deactivated"
    | "pinned"
    | "unpinned"
    | "file_changed"
    | "fault"
    | "compaction"
    | "plain_compaction"
    | "branch"
    | "failed_open"
    | "note";
  /** Number of the first call after it, whether or not that was made. */
  call: number;
  /** ID of the object that it is about; null if it is about none. */
  object: string | null;
  /** In words: why an epoch began, the model, what happened to a file, a note; null if there is nothing to add. */
  text: string | null;
}

/** An object that a session met. */
export interface TimelineObject {
  /** Its ID. */
  id: string;
  /** Its handle. */
  handle: string;
  /** Its type. */
  type: ObjectType;
  /** Path of a file as the agent sees it; tool of a call and what it asked for; the turns of a segment. */
  name: string;
  /** Whether it is pinned now, and the last request had room for it. */
  pinned: boolean;
  /** Runs of calls in which it was shown in the same way, in order. In other calls it was not shown. */
  shown: Array<ShownRun>;
}

/** Tokens of a request by kind of content, by our count. */
export interface TokensByKind {
  /** System prompt and tools. */
  prompt: number;
  /** What a person wrote, and the host: summaries, roles that are not known. */
  person: number;
  /** What the model wrote, its calls included. */
  model: number;
  /** Results of tools, whole or in part. */
  outputs: number;
  /** Text of files. */
  files: number;
  /** Notes of ours. */
  notes: number;
  /** Lines that stand for content, and for folded steps. */
  references: number;
}

/** What a model is told of a tool. */
export interface ToolDefinition {
  /** Name under which the model calls it. */
  name: string;
  /** What it does, for the model. */
  description: string;
  /** One line for a list of tools in the system prompt; absent where the description says as much. */
  promptSnippet?: string;
  /** Rules for the system prompt, one line each. They name the tool, and belong there while it is offered. */
  promptGuidelines: Array<string>;
  /** JSON schema of the arguments. */
  parameters: ToolSchema;
}

/** The state of a tracking. */
export interface TrackingStatus {
  /** Tracked files. */
  files: number;
  /** Tracked files that exist. */
  attached: number;
  /** Tracked files that do not exist any more. */
  deleted: number;
  /** Tracked files that can no longer be read; they keep their latest versions. */
  orphaned: number;
  /** Folders with tracked files that the system watches. */
  watchedFolders: number;
  /** Folders with tracked files that are polled. */
  polledFolders: number;
  /** Folders with tracked files that do not exist; the nearest existing folder above is watched instead. */
  absentFolders: number;
  /** Files that wait to be checked. */
  pending: number;
  /** Largest number of files that ever waited. */
  mostPending: number;
}

/** A transaction and its time. */
export interface TransactionTime {
  /** Number in this store. */
  txId: number;
  /** RFC 3339. */
  time: string;
}

/** An answer of a person. */
export interface TrustedProject {
  /** The project's real path. */
  path: string;
  /** Whether they trust it. */
  trusted: boolean;
  /** When they said so, in RFC 3339. */
  at: string;
}

/** A version of an object: everything but its content. */
export interface Version {
  /** Full ID of the object. */
  id: string;
  /** Its type. */
  type: ObjectType;
  /** What the object tracks; null if it has no source. */
  source: Source | null;
  /** SHA-256 of the immutable part, as 64 hexadecimal digits like all hashes. */
  identityHash: string;
  /** The transaction that wrote the version in this store. */
  txId: number;
  /** Time of that transaction in this store, in RFC 3339, UTC. */
  systemTime: string;
  /** Where the version was first written: this store, unless it was imported. */
  origin: VersionOrigin;
  /** SHA-256 of the bytes that were read from the source; null if none were. */
  sourceHash: string | null;
  /** SHA-256 of the payload: fields, content, items and additional contents. A change of it makes a new version. */
  contentHash: string;
  /** Fields, such as `char_count` of a file or `tool` of a tool call, and your own. */
  fields: Record<string, unknown>;
  /** SHA-256 of the content's UTF-8 bytes; null if there is no content. */
  content: string | null;
  /** Number of items (messages of a chat, events of a session); 0 for other objects. */
  itemCount: number;
  /** SHA-256 of each additional content, by name. */
  additional: Record<string, string>;
  /** Why text was removed from the version after it was written; null if none was. */
  redacted: "secret" | "forgotten" | null;
  /** The object's nicknames. */
  nicknames: Array<string>;
  /** A reference to this version, which resolves in any store that holds it. See `resolve`. */
  reference: StaticReference;
}

/** Where a version was first written. */
export interface VersionOrigin {
  /** ID of that store. */
  storeId: string;
  /** Its transaction there. */
  txId: number;
  /** Its time there, in RFC 3339, UTC. */
  time: string;
}
