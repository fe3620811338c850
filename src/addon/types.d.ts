/** A host's message, in the shapes of pi-ai; unknown kinds pass through. */
export interface Message {
  role: string;
  content?: unknown;
  timestamp?: number;
  [key: string]: unknown;
}

/** What a call is made with, besides its messages. */
export interface CallInfo {
  /** System prompt as the host will send it. */
  systemPrompt?: string;
  /** Definitions of the active tools. */
  tools?: { name: string; description?: string; parameters?: unknown }[];
  model?: ModelInfo;
}

/** What tokens cost, in US dollars for a million; 0 where it is not known. */
export interface ModelRates {
  input: number;
  cacheRead: number;
  cacheWrite: number;
}

/** The model of a call. What is not given is taken from the setting `prices`, else from a preset by `api`. */
export interface ModelInfo {
  provider: string;
  id: string;
  /** In tokens. */
  contextWindow?: number;
  /** The provider's wire format, as pi-ai names it: `anthropic-messages`, `openai-completions`, ... */
  api?: string;
  /** Prices, and those of requests with more input than a threshold. */
  cost?: ModelRates & { tiers?: (ModelRates & { inputTokensAbove: number })[] };
  /** Seconds that the provider's cache lives, by `cacheRetention`. */
  promptCache?: { short?: number; long?: number };
  /** How long the provider is asked to keep the cache; default `short`. */
  cacheRetention?: "none" | "short" | "long";
  /** `anthropic` where the format takes breakpoints as Anthropic's does, though it is another. */
  cacheControlFormat?: string;
}

/** Tokens of input, and their cost in prices of a plain input token. */
export interface LedgerSums {
  sent: number;
  /** Read from the cache. */
  cached: number;
  /** All others. */
  written: number;
  cost: number;
}

/** Requests that kept the cache alive: their cost, and what they would have cost the plain host. */
export interface LedgerWarming {
  requests: number;
  cost: number;
  plainCost: number;
}

/** What a provider reported; `estimatedCost` is what the same calls were estimated to cost before they went out. */
export interface LedgerReported {
  calls: number;
  input: number;
  cacheRead: number;
  cacheWrite: number;
  output: number;
  cost: number;
  estimatedCost: number;
}

/** An epoch: the tokens that it freed, what its start cost, and what it saved since, less that. */
export interface LedgerEpoch {
  number: number;
  call: number;
  reason: string;
  freed: number;
  cost: number;
  saved: number;
}

/** A call. `warm`: whether the cache of the request before still lived; `warming`: what kept its own alive afterwards. */
export interface LedgerCall {
  number: number;
  model: string | null;
  epoch: number;
  warm: boolean;
  ours: LedgerSums;
  /** What of `ours` our tools and guidance cost. */
  overhead: number;
  plain: LedgerSums;
  reported: LedgerReported | null;
  warming: LedgerWarming;
  faults: { count: number; cost: number };
}

/**
 * What a session's calls cost, beside the plain host: input only, in prices of a plain input token. `bill` and `plainBill`
 * are the sums of requests, warming and faults.
 */
export interface Ledger {
  /** Calls billed. */
  calls: number;
  /** Calls that went out with the host's own messages: they are in no sum. */
  failedCalls: number;
  /** Number of the epoch, from 0. */
  epoch: number;
  /** Prices of the newest call; `name` is a preset, `own`, or `model` for the host's data. */
  prices: { name: string; prices: PriceTable; usdPerMillion?: number } | null;
  bill: number;
  plainBill: number;
  /** What of `bill` our tools and guidance cost. */
  overhead: number;
  ours: LedgerSums;
  plain: LedgerSums;
  /** How often the plain host would have compacted. */
  plainCompactions: number;
  warming: LedgerWarming;
  faults: { count: number; cost: number };
  reported: LedgerReported;
  epochs: LedgerEpoch[];
  perCall: LedgerCall[];
}

/** A price table, in prices of a plain input token; see the README. */
export interface PriceTable {
  read: number;
  write: number;
  reuse?: "anyPrefix" | "breakpoints";
  lifetimeSeconds?: number | null;
  tiers?: { aboveTokens: number; read: number; write: number }[];
}

/** Something that happened during a call and that a person may want to know. */
export type SessionEvent =
  | { type: "epoch_started"; epoch: number; reason: string; collapsed: number; freedTokens: number }
  | { type: "file_changed"; handle: string; path: string; added: number; removed: number }
  | { type: "file_moved"; handle: string; from: string; path: string }
  | { type: "file_orphaned"; handle: string; path: string; reason: string }
  | { type: "file_resumed"; handle: string; path: string }
  /** Files of so many folders are looked at every 2 s instead of watched. What the model is told is the same. */
  | { type: "files_polled"; folders: number; reason: "watch_limit" | "network_file_system" | "refused" }
  | { type: "checking_files"; files: number; of: number }
  /** Something about tracking failed; the looks before each call go on. */
  | { type: "tracking_failed"; problem: string }
  | { type: "host_rewrote"; how: "branch" | "compaction" | "rearranged" | "edited"; at: number }
  | { type: "message_volatile"; at: number };

/** What became of tracked files; told after it was written. */
export type TrackingEvent =
  /**
   * A file was compared with the store. A tracked file is told of once even if it is `unchanged`, and later only if it
   * changed. `noContent`: why it has no content; null where it has.
   */
  | {
      type: "created" | "updated" | "unchanged" | "deleted";
      path: string;
      id: string;
      txId: number;
      noContent: "binary" | "too_large" | "excluded" | "deleted" | null;
    }
  /** A file moved. `path` and `id` are the new ones; its `moved_from` is `fromId`, which has a version without content. */
  | {
      type: "moved";
      from: string;
      fromId: string;
      path: string;
      id: string;
      txId: number;
      noContent: "binary" | "too_large" | "excluded" | "deleted" | null;
    }
  /** It cannot be told any more what a file is: no permission, no such mount, a folder in its place. Its latest version stands. */
  | { type: "orphaned"; path: string; reason: string }
  /** A file that was orphaned or deleted is there again; what it is now, the event after says. */
  | { type: "resumed"; path: string }
  /** Files of these folders are polled from now on. `detail`: what the system says, for `refused`. */
  | {
      type: "polling";
      folders: string[];
      reason: "watch_limit" | "network_file_system" | "asked" | "refused";
      detail?: string;
    }
  /** The system lost events, and every tracked file was looked at instead. */
  | { type: "rescanned"; files: number }
  /** Something failed. Where the store did, the files are tried again. */
  | { type: "failed"; path: string | null; problem: string };

/** Settings, complete; see the README for what each does. */
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
  activePerTurn: number;
  activeTurns: number;
  poolTokens: number;
  linkedTokens: number;
  track: boolean;
  maxTextBytes: number;
  maxOutputBytes: number;
  highWater: number;
  prices: string | Record<string, string | PriceTable>;
  exclude: string[] | null;
}

/** A folder that an agent in a sandbox sees elsewhere than it is. All prefixes are absolute paths. */
export interface MountMapping {
  /** Where the agent sees it. */
  agentPrefix: string;
  /** Where it is: the path that an agent on the host sees. */
  canonicalPrefix: string;
  /** The filesystem that it is in; by default the host's. */
  filesystemId?: string;
  /** Where this process opens it; by default `canonicalPrefix`. */
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

/** A field that differs between two versions; null also stands where a version has no such field. */
export interface FieldChange {
  name: string;
  before: unknown;
  after: unknown;
}

/** An error of this package. */
export interface PalimpsestError extends Error {
  /** Stable code: `CONFLICT`, `STORE_CORRUPT`, `INVALID_SETTINGS`, ... */
  code: string;
  /** What to do about it, where there is something. */
  hint?: string;
  /** What an ambiguous name fits: ID and path or type, at most 8. */
  candidates?: string[];
  /** Message, causes and hint, for logs. */
  report?: string;
}

/** What a relation between objects is: references to the latest or to a pinned version, tool calls of a chat, links. */
export type RelationKind = "dynamic" | "static" | "call" | "wikilink" | "markdown" | "external" | "tag" | "alias";

/**
 * What became of a relation's target. `missing`: the store holds no such object or version; `mismatch`: the version has
 * another hash than is pinned; `no_part`: the object lacks the heading, block or lines; `unresolved`: a link to no file that
 * the store holds in the vault; `none`: no object is meant.
 */
export type TargetState = "found" | "missing" | "forgotten" | "mismatch" | "no_part" | "unresolved" | "none";

/** Figures of ours beside those of the plain host. */
export interface ReplayPair {
  ours: number;
  plain: number;
}

/** Bills, in prices of a plain input token, faults included; `ratio` is ours by the plain host's. */
export interface ReplayBill extends ReplayPair {
  ratio: number;
}

/** Calls that missed lines which they needed; `raw` counts all, `strict` and `ownWords` some of them. */
export interface ReplayFaults {
  raw: number;
  strict: number;
  ownWords: number;
  cost: number;
}

/**
 * A call of one side of a replay: tokens of its request, those read from the cache, cost without `fault`, and what of it a
 * compaction of the host's before it cost.
 */
export interface ReplaySide {
  tokens: number;
  cached: number;
  cost: number;
  compaction: number;
  fault: { lines: number; strict: boolean; ownWords: boolean; sources: number[]; cost: number } | null;
}

/** A call of a replay; `contents` are tokens of our request by kind of content. */
export interface ReplayedCall {
  call: number;
  contents: { fixed: number; user: number; assistant: number; output: number; reference: number };
  ours: ReplaySide;
  plain: ReplaySide;
  /** Whether the plain host compacted before it. */
  compacted: boolean;
}

/** What a transcript came to. Tokens and costs are not rounded. */
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
  /** Compactions of the host's on our side, and of the plain host. */
  compactions: number;
  plainCompactions: number;
  faults: ReplayFaults;
  plainFaults: ReplayFaults;
  /** What of the file was left out or mended, one line each with its count. */
  notes: string[];
  series: ReplayedCall[];
}

/** What transcripts came to together; those under 15 calls are left out and counted in `leftOut`. */
export interface ReplaySum {
  files: number;
  leftOut: number;
  calls: number;
  bill: ReplayBill;
  /** The median and the largest of the transcripts' ratios. */
  median: number;
  worst: number;
  tokens: ReplayPair;
  cachedTokens: ReplayPair;
  cachedShare: ReplayPair;
  peakWindow: ReplayPair;
  epochs: number;
  /** Compactions of the host's on our side, and of the plain host. */
  compactions: number;
  plainCompactions: number;
  faults: ReplayFaults;
  plainFaults: ReplayFaults;
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

/** How likely a call needs an output or a step, as `hazards.json` and the file of the setting `hazards` have it. */
export interface Hazards {
  version: 1;
  /** How many times its price a fault weighs. */
  caution: number;
  /** Weights of the logarithm of an output's chance to be needed by a call. */
  outputs: { base: number; read: number; listing: number; lateNeeds: number; turnsSince: number };
  /** The same of a step. */
  steps: { base: number; longArguments: number; argumentTokens: number; stepsSince: number };
}

/** How well weights tell what is needed: `needs` they are learned from, and the area under the curve (0.5 is a guess, 1 never wrong). */
export interface HazardQuality {
  needs: number;
  auc: number | null;
}

/** What was learned. */
export interface LearnedHazards {
  hazards: Hazards;
  /** Sessions it is learned from, and their calls. */
  sessions: number;
  calls: number;
  outputs: HazardQuality;
  steps: HazardQuality;
  /** Files that are no sessions. */
  skipped: { file: string; problem: string }[];
}
