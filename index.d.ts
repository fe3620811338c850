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

/**
 * Which binding artifact the generated loader actually loaded: `'native'` for
 * a native addon, otherwise the `platformArchABI` of the WASI flavor. Every
 * flavor napi-rs can build is listed, because `NAPI_RS_NATIVE_LIBRARY_PATH`
 * can point the loader at a WASI artifact this package does not build itself.
 */
export declare const __napiBindingTarget: 'native' | 'wasm32-wasi' | 'wasm32-wasip1'

/** A tool to offer to the model. */
export declare class ContextTool {
  /** Name under which the model calls it. */
  get name(): string
  /** What the model is told of it. */
  get description(): string
  /** One line for a list of tools in the system prompt. */
  get promptSnippet(): string
  /** JSON schema of the arguments. */
  get parameters(): ToolSchema
  /**
   * Executes a call in a session. What goes wrong rejects, with a message for the model: `UNKNOWN_NAME`,
   * `AMBIGUOUS_NAME`, `NO_ROOM`, `NOT_ACTIVATABLE`, `INVALID_ARGUMENT`, `FILE`.
   */
  execute(session: Session, toolCallId: string, args: unknown): Promise<ToolResult>
}

/** An agent's session: takes the host's messages before each call and gives back what the model is to see. */
export declare class Session {
  /**
   * Takes what a provider said that a request used: estimates of later calls are corrected by it, and the ledger holds
   * both. Call it after each answer of the model. Takes its turn behind the calls of `transformContext` that came before;
   * stored with the next call.
   */
  usageReported(report: UsageReport): Promise<void>
  /** The ledger of the session, as of now. */
  ledger(): Promise<Ledger>
  /**
   * Takes the host's messages before a call and resolves to what the model is to see.
   *
   * `messages`: the host's whole list, every time; only what is new since the last call is looked at. Messages that are
   * not changed come back as the host's own objects. The result belongs to the caller. Calls run one after another.
   *
   * Rejects with `INVALID_ARGUMENT` if `messages` is no array, and with what the store reports; then the host's own
   * messages should go out, and `reportFailedCall` be called.
   */
  transformContext(messages: Message[], call?: CallInfo): Promise<Message[]>
  /** Calls `listener` with what happens during calls. */
  onEvent(listener: (event: SessionEvent) => void): void
  /**
   * Takes the request to the provider right before it goes out, and resolves to what should go out: the same object, or a
   * copy with one more cache breakpoint where the provider's format takes one.
   *
   * The first request after a `transformContext` is recorded with its call: its SHA-256, and its messages where another
   * extension changed them after us. A request that is replayed to keep a cache warm gets the same breakpoint and is not
   * recorded. `payload` is not changed; bytes in it are read as base64.
   *
   * Rejects with `INVALID_ARGUMENT` if `payload` is no JSON, and with what the store reports; then the host's own request
   * should go out.
   */
  preparePayload<T>(payload: T): Promise<T>
  /**
   * Takes the side effects of a tool call: files read, edited, written or found. Takes its turn behind the calls of
   * `transformContext` that came before.
   */
  toolFinished(event: ToolFinishedEvent): Promise<void>
  /**
   * Why a `write` or `edit` must not run: its text holds a line that stands for content in this window. Null for every
   * other call. Ask before the tool runs; the answer is for the model, as a failed call.
   */
  refusedWrite(toolName: string, args: unknown): Promise<string | null>
  /**
   * What to add to the error of an `edit` that failed, for the model; null where nothing helps.
   *
   * It says what changed in the file since the version that the model saw (a unified difference), which the next call does
   * not tell again, and for each text that does not stand in the file exactly once the nearest current lines, five more
   * on each side, or the places where it stands. At most 40 lines and 1,000 tokens of each. Null for files that are
   * excluded, and for arguments of another shape.
   *
   * `args`: `path`, and `edits` with an `oldText` each, or one `oldText`. Takes its turn behind the calls of
   * `transformContext` that came before. Rejects with what the store reports; then the host's own error should stand alone.
   */
  editFailed(args: unknown): Promise<string | null>
  /** Notes that a call went out with the host's own messages and why; the next call's record says so. */
  reportFailedCall(reason: string): void
  /**
   * What a person should know of the mount mappings when the session begins: folders that are not there, mounts that show
   * the same files.
   */
  mountNotices(): Promise<string[]>
  /** Figures for a status line, as of the last call or tool. */
  status(): SessionStatus
  /**
   * Stores what is not stored yet and marks the session paused, behind the calls that came before. Later calls reject
   * with `CLOSED`. Idempotent. The store stays open; where it was closed before, what was not stored yet is not.
   */
  close(): Promise<void>
}

/** A store of versioned objects: one SQLite file, shared by any number of processes. */
export declare class Store {
  /**
   * Writes an archive: everything, a session, or an object. `docs/archive-format.md` describes it.
   *
   * Rejects with `INVALID_ARGUMENT`, `NOT_FOUND`, `FILE`, `HASH_MISMATCH` or `STORE_CORRUPT` where something stored is
   * damaged, `CLOSED`.
   */
  exportArchive(options: ExportArchiveOptions): Promise<ExportedArchive>
  /**
   * Takes the versions of an archive that the store does not have. All of it is checked first: where a line is wrong
   * nothing is written. What the store has stays as it is; an import that was interrupted is run again.
   *
   * Rejects with `MALFORMED_ARCHIVE`, `INVALID_ARGUMENT`, `FILE`, `CONFLICT`, `NO_SPACE`, `CLOSED`.
   */
  importArchive(options: ImportArchiveOptions): Promise<ImportedArchive>
  /**
   * Reads what the model saw at a call, renders it again and checks its hash.
   *
   * `session`: ID of the session or its document, the host's session ID, a unique prefix, or `latest`.
   *
   * Rejects with `UNKNOWN_NAME`, `AMBIGUOUS_NAME`, `FORGOTTEN`, with `NOT_FOUND` if there is no such call, and with
   * `HASH_MISMATCH` if what is stored no longer gives what was sent.
   */
  recordedCall(session: string, options?: CallOptions): Promise<RecordedCall>
  /**
   * Compares what the model saw at two calls of a session, message by message, from call `from` to call `to`.
   *
   * Rejects as `recordedCall`.
   */
  compareCalls(session: string, from: number, to: number): Promise<CallChange[]>
  /**
   * Checks everything that the store holds, as of its newest transaction, while it is in use: every hash, list, nickname
   * and pinned reference, and SQLite's own checks. Reads only. Takes a time in proportion to the store's size.
   *
   * Rejects with `CLOSED`.
   */
  doctor(): Promise<DoctorReport>
  /**
   * Forgets an object; of a session or chat, the session with its chat, system prompt and tool calls, and the texts of
   * those of its files that nobody else knows; such files may be stored again. Contents, fields, items and nicknames go,
   * and the text in the records and chats that refer to it; it is not stored again. `target` is an ID. Without
   * `dryRun: false` it only reports what would happen.
   *
   * Rejects with `NOT_FOUND`, `CONFLICT` if others write all the time, `NO_SPACE`.
   */
  forget(target: string, options?: ForgetOptions | undefined | null): Promise<ForgetReport>
  /**
   * Drops what nothing needs from the files, gives free space back and empties the log. Every version of every object
   * stays. Without `dryRun: false` it only reports what would be dropped.
   *
   * Rejects with `NO_SPACE`: about as much space is needed as the file takes.
   */
  gc(options?: GcOptions | undefined | null): Promise<Garbage>
  /** Counts and measures. Reads every page of the file. */
  stats(): Promise<StoreStats>
  /**
   * Lists the relations of an object: in the order of its fields and text, then of its items. Metadata only.
   *
   * A link resolves among the files that the store held at the time, under the root of its own file's vault: the nearest
   * folder above with a `.obsidian`, else with a `.git`, else the file's own folder. Rejects with
   * `UNKNOWN_NAME`, `AMBIGUOUS_NAME`, and with `NOT_FOUND` where no version was visible then.
   */
  links(name: string, options?: LinksOptions | undefined | null): Promise<ObjectLink[]>
  /**
   * Lists the relations that lead to an object, by ID of the object that they stand in. Metadata only.
   *
   * Rejects with `INVALID_ARGUMENT` if the object has no such `part`, and as `find`.
   */
  backlinks(name: string, options?: BacklinksOptions | undefined | null): Promise<ObjectLink[]>
  /**
   * Follows relations from some objects to others, level by level, and gives of each what is wanted. The same store gives
   * the same answer. A static reference gives its version, verified by its hash where contents or values are read; what is
   * missing, forgotten or unresolved is listed too.
   */
  expand(options: ExpandOptions): Promise<Expanded>
  /**
   * Stores the files at and under `paths`: text as content, larger or binary files as metadata. Unchanged ones are not
   * written; a file that the store knows under a path and that is gone gets a version without content. One transaction
   * holds at most 200 files.
   *
   * Files that `.gitignore` names and hidden ones are left out, unless given themselves. The settings `maxTextBytes`,
   * `filesystemId` and `exclude` given to `openStore` count. `onProgress` hears how many files are done, after every 50.
   *
   * Rejects with `INVALID_ARGUMENT` and with what the store reports; transactions before hold.
   */
  index(paths: string[], options?: IndexOptions, onProgress?: (files: number) => void): Promise<IndexReport>
  /**
   * The ledger of a session: what its calls cost, beside the plain host.
   *
   * `session`: as in `recordedCall`. Rejects with `UNKNOWN_NAME`, `AMBIGUOUS_NAME` and `FORGOTTEN`.
   */
  ledger(session: string): Promise<Ledger>
  /**
   * Finds the full ID of the object that a name stands for: full ID, nickname, path, or unique ID prefix of at least 8
   * hexadecimal digits, in this order; each may be followed by a version (`NAME@12`, `NAME@-1`).
   *
   * Rejects with `UNKNOWN_NAME`, and with `AMBIGUOUS_NAME`, whose `candidates` are the first 8 objects that fit.
   */
  find(name: string, options?: NameOptions): Promise<string>
  /**
   * Gives an object a nickname: 1 to 64 characters, no white space, none of `@ / \ [ ] :`, unlike a handle or an ID. Resolves
   * to the object's full ID.
   *
   * Rejects with `INVALID_NICKNAME` if it has another form or another object has it, and as `find`.
   */
  name(name: string, nickname: string, options?: NameOptions): Promise<string>
  /**
   * Takes a nickname away. Resolves to the full ID of the object that had it.
   *
   * Rejects with `UNKNOWN_NAME` if no object has it.
   */
  unname(nickname: string): Promise<string>
  /**
   * Writes a version of an object, unless the latest one has the same fields, content, additional contents and source hash.
   * Items of chats and sessions stay as they are.
   *
   * Rejects with `CONFLICT` if `expected` is not the latest version, `FORGOTTEN` if the object was forgotten,
   * `INVALID_ARGUMENT`, and with what the store reports.
   */
  put(version: PutOptions): Promise<PutResult>
  /**
   * Reads a version without its content.
   *
   * `name`: full ID, nickname, path or ID prefix, see `find`. Rejects as `find`, and with `NOT_FOUND` if the object had no
   * version then.
   */
  get(name: string, options?: ReadOptions): Promise<Version>
  /**
   * Reads the content of a version, or an additional one; null where there is none. It is checked against its hash.
   *
   * Rejects as `get`; with `INVALID_ARGUMENT` for lines that the text does not have and for an additional content that the
   * version does not have; with `HASH_MISMATCH`.
   */
  content(name: string, options?: ContentOptions): Promise<string | null>
  /**
   * Reads the items of a chat (its messages) or a session (its events), each as the JSON that was stored; none for other
   * objects.
   *
   * Rejects as `get`, and with `HASH_MISMATCH`.
   */
  items(name: string, options?: ItemsOptions): Promise<string[]>
  /**
   * Lists the versions of an object, newest first. Of a file that moved those before the move come too: they are another
   * object's, whose ID the field `moved_from` of the first version after the move names.
   *
   * Rejects as `find`.
   */
  history(name: string, options?: NameOptions): Promise<Version[]>
  /**
   * Compares two versions of an object, by lines.
   *
   * Rejects as `get`.
   */
  diff(name: string, options?: DiffOptions): Promise<Difference>
  /**
   * Reads the version that a reference points to, in the form in which documents hold references: `{ id }` is the latest
   * version; with `content_hash` and `origin` it is that version, wherever it was first written, and its payload is hashed
   * anew.
   *
   * Rejects with `NOT_FOUND` if the store does not hold it, and with `HASH_MISMATCH`, naming both hashes.
   */
  resolve(reference: Reference): Promise<Version>
  /** Lists the latest versions of the objects of a type, by ID. */
  list(type: ObjectType, options?: ListOptions): Promise<Version[]>
  /**
   * Finds versions by their metadata, one per object, without reading contents:
   * `tool = bash and args.command contains "cargo test" order by system_time desc limit 20`.
   *
   * A test is a field, then `=`, `!=`, `<`, `<=`, `>`, `>=`, `contains`, `starts_with` or `~` (`*`, `?`, `[a-z]`) with a
   * value, or `in (a, b)`, `exists`, `missing`; `and`, `or`, `not` and parentheses join tests; `order by FIELD [desc]`,
   * `limit N` and `offset N` follow. Ties are by ID. Fields: `id`, `type`, `path`, `source.*`, `tx_id`, `system_time`,
   * `origin.store_id`, `origin.tx_id`, `origin.time`, `content_hash`, `source_hash`, `identity_hash`, `has_content`,
   * `item_count`, `redacted.*`, `additional.*`, `forgotten`, `nickname`, `tags` and `front_matter.KEY` of Markdown, and every field of a payload by its path
   * (`args.command`, `tags[0]`, `tags[*]`; odd keys in `"`). A test of a missing field is false, `!=` too. Types that
   * differ are unequal and have no order. A time as a value is a date or RFC 3339.
   *
   * Rejects with `INVALID_ARGUMENT`, naming the column, and with `UNKNOWN_FIELD` for a field that no object has.
   */
  query(query: string, options?: QueryOptions): Promise<Version[]>
  /**
   * Searches contents, paths, arguments of tools, messages, notes and nicknames, the latest of each by default; best first
   * (BM25). Finds identifiers by their parts (`transformContext`, `tool_call_id`, `src/store/sqlite.rs`) and CJK text.
   *
   * `text`: words, of which the more the better are found; `"phrases"`, `-excluded`, `prefix*`. All that was committed
   * before the call is searched: what is not indexed yet is indexed first.
   *
   * Rejects with `INVALID_ARGUMENT` if the text holds no word to search for, and with `UNSUPPORTED` where the store has no
   * index.
   */
  search(text: string, options?: SearchOptions): Promise<SearchResults>
  /** Lists the sessions, the one written last first. */
  sessions(): Promise<SessionInfo[]>
  /** ID of the store, made when it was created. */
  get id(): string
  /** Absolute path of the file, or `:memory:`. */
  get path(): string
  /**
   * What the user should be told about the store, if anything: that it is on a network file system, or that acknowledged
   * writes were found missing when it was opened.
   */
  get notice(): string | null
  /** Ends the store's trackings and releases the file. Later calls reject with `CLOSED`. Idempotent. */
  close(): Promise<void>
  /**
   * Tracks files: each is indexed now and whenever it changes on disk, as `index` would; one that is deleted gets a version
   * without content, and one that moved is followed to its new path, whose object has `moved_from`. `onEvents` hears what was
   * done after it was written, in batches; while it runs, what happens is collected.
   *
   * The folders of the files are watched by the system. Where it cannot (its limit of watches is reached, the file system is a
   * network one), the files are polled, and an event says so. The settings `maxTextBytes`, `filesystemId` and `exclude` given to
   * `openStore` count. Tracking never keeps the process alive, and goes on until `close` of the tracking or the store.
   *
   * Rejects with `INVALID_ARGUMENT` and `FILE`.
   */
  track(paths: string[], onEvents: (events: TrackingEvent[]) => void, options?: TrackOptions): Promise<Tracking>
}

/** Files of a store that are kept up to date, until it or the store is closed. */
export declare class Tracking {
  /**
   * Tracks more files; those that are tracked already stay as they are.
   *
   * Rejects with `INVALID_ARGUMENT`.
   */
  add(paths: string[], options?: NameOptions): Promise<void>
  /**
   * Tracks files no more. Paths that are not tracked are left out.
   *
   * Rejects with `INVALID_ARGUMENT`.
   */
  remove(paths: string[], options?: NameOptions): Promise<void>
  /**
   * Waits until all that happened to tracked files before this call is in the store and was told; polled files are looked at now.
   * Resolves to whether that took no longer than `timeoutMs`, by default 1,000.
   */
  settle(timeoutMs?: number): Promise<boolean>
  /** What the tracking does at this moment. */
  status(): TrackingStatus
  /** Stops watching; once it resolves, `onEvents` is not called again but for what it was handed before. Idempotent. */
  close(): Promise<void>
}

/** Which relations that lead to an object are asked for. */
export interface BacklinksOptions {
  /** As in `LinksOptions`. */
  at?: number | string
  /** As in `NameOptions`. */
  cwd?: string
  /** Only links to this heading (`Guide#Install`) or block (`^id`). Default: all. */
  part?: string
}

/** How messages of one call stand in another, by their indexes. */
export interface CallChange {
  /** `kept`, `removed`, `inserted`, or `changed`: the same message, otherwise shown. */
  change: "kept" | "removed" | "inserted" | "changed"
  /** Index of the first one in the earlier call; null for what is inserted. */
  old: number | null
  /** Index of the first one in the later call; null for what is removed. */
  new: number | null
  /** How many; 1 save for what is kept. */
  count: number
  /** Unified difference of what is changed. */
  diff: string | null
}

/** Which call is meant. */
export interface CallOptions {
  /** Its number, from 1; the newest by default. */
  call?: number
}

/** What of an object is read. */
export interface ContentOptions {
  /** As in `ReadOptions`. */
  at?: number | string
  /** As in `NameOptions`. */
  cwd?: string
  /** Name of an additional content. Default: the content. */
  field?: string
  /** Lines, counted from 1: `40-80`, `7`, `1-3,9`. They come as they stand in the text, with their ends. Default: all. */
  lines?: string
}

/** Tokens of a text by `o200k_base`; above 1 MiB an estimate from samples. */
export declare function countTokens(text: string): Promise<number>

/** `activate`: shows content that a reference line stands for; whole, by lines or by a pattern. */
export declare function createActivateTool(): ContextTool

/** `deactivate`: lets content go at the next epoch. */
export declare function createDeactivateTool(): ContextTool

/** `pin`: activates content and exempts it from collapse. */
export declare function createPinTool(): ContextTool

/** `read`: text files by path, with `offset` and `limit`; the limits and notices of Pi's tool. No images. */
export declare function createReadTool(): ContextTool

/** `unpin`: takes the exemption away. */
export declare function createUnpinTool(): ContextTool

/** How two versions differ. */
export interface Difference {
  /** The earlier version. */
  from: Version
  /** The later version. */
  to: Version
  /** Lines that only `to` has. */
  added: number
  /** Lines that only `from` has. */
  removed: number
  /**
   * Unified diff of the contents, empty where these are equal. A null content counts as an empty text, and items as one
   * line each.
   */
  unified: string
  /** Fields that differ. */
  fields: FieldChange[]
}

/** Which two versions are compared. */
export interface DiffOptions {
  /** The earlier one, as `at` in `ReadOptions`. Default: the version before `to`. */
  from?: number | string
  /** The later one. Default: the latest. */
  to?: number | string
  /** As in `NameOptions`. */
  cwd?: string
  /** Unchanged lines around each change. Default: 3. */
  context?: number
}

/**
 * Checks the store at `path`, as `Store.doctor` does, and changes nothing there. Also for a file that `openStore` refuses:
 * one that is damaged so that it cannot be opened resolves to a report that says so.
 *
 * Rejects with `STORE_UNAVAILABLE` (also where there is no file, or its schema is older than this program's),
 * `NEWER_SCHEMA`, `INVALID_ARGUMENT`.
 */
export declare function doctor(path: string): Promise<DoctorReport>

/** Counts of what a check looked at. */
export interface DoctorChecked {
  /** Objects: envelope, nicknames. */
  objects: number
  /** Versions: payload hash, order in time. */
  versions: number
  /** Distinct contents: hash. */
  contents: number
  /** UTF-8 bytes of these. */
  contentBytes: number
  /** Items of chats and sessions: running hash, place. */
  items: number
  /** UTF-8 bytes of these. */
  itemBytes: number
  /** Pinned references in fields and items: whether the store holds the version. */
  references: number
}

/** One thing that is wrong with a store. */
export interface DoctorFinding {
  /** What kind of thing. */
  kind: 'file' | 'content' | 'version' | 'envelope' | 'items' | 'nickname' | 'time' | 'lost' | 'reference'
  /** The object that it concerns, where it is one. */
  object?: string
  /** The transaction of the version that it concerns. */
  txId?: number
  /** What is wrong, for people. */
  problem: string
  /** What can be done about it, for people. */
  advice: string
}

/** What a check of a store looked at and found. */
export interface DoctorReport {
  /** The file, or `:memory:`. */
  path: string
  /** ID of the store; absent where the file is so damaged that it cannot be opened. */
  storeId?: string
  /** Whether nothing is wrong. */
  healthy: boolean
  /** Whether something in the file is not what was written; findings of kind `lost` and `reference` alone are no damage. */
  damaged: boolean
  /** The transaction as of which everything was checked. */
  asOf: number
  /** Counts of what was checked. */
  checked: DoctorChecked
  /** What is wrong, in the order in which it was found; at most 200. */
  findings: Array<DoctorFinding>
  /** Findings that are not listed. */
  moreFindings: number
}

/** What was reached. */
export interface Expanded {
  /** Nearest first, each version once, and once for each part of it that is meant. */
  nodes: Array<ExpandedNode>
  /** Whether there are more than `limit`. */
  more: boolean
}

/** One object that was reached, or a target that is none. */
export interface ExpandedNode {
  /** Relations between it and its root. */
  depth: number
  /** Place in `nodes` of the nearest listed node that it was reached from; missing for roots. */
  parent?: number
  /** The object in which the relation stands that led here; missing for roots. */
  viaFrom?: string
  /** The kind of that relation. */
  viaKind?: RelationKind
  /** Where it stands. */
  viaPlace?: LinkPlace
  /** What is written there. */
  viaWritten?: string
  /** What became of the target. */
  state: TargetState
  /** ID of the object; missing where a link is unresolved. */
  id?: string
  /** Transaction of its version. */
  txId?: number
  /** Hash of that version. */
  contentHash?: string
  /** The headings, block (`^id`) or lines (`1-9`) that are meant; missing for all. */
  part?: string
  /** Its metadata: `id`, `type` and the fields of its view. */
  metadata: Record<string, unknown>
  /** The content, where that was asked for and is not null. */
  content?: string
  /** The values that were asked for and are there, by path; of a path with `[*]` a list. */
  values: Record<string, unknown>
  /** Characters that were left out because they passed the budget. */
  leftOutChars?: number
}

/** What to expand. */
export interface ExpandOptions {
  /** Where to start: names, or static references. */
  roots: (string | StaticReference)[]
  /** Kinds of relations that are followed. Default: all that lead to objects. */
  kinds?: RelationKind[]
  /**
   * Places whose relations are followed: `file_refs`, `items[*].content`, `front_matter.related`, `content#Guide`. Default:
   * all.
   */
  fields?: Array<string>
  /** Which way. Default: `forward`. */
  direction?: "forward" | "back" | "both"
  /** How many relations away from a root; 0: the roots alone. Default: 1. */
  depth?: number
  /** Types that are listed; objects of others are passed through. Default: all. */
  types?: ObjectType[]
  /** Whether contents are given: of the section, block or lines that a relation means, else whole. Default: no. */
  content?: boolean
  /** Paths whose values are given: fields, `content`, `additional.NAME`, `items[*].message.role`. Not together with `content`. */
  values?: Array<string>
  /** Most nodes. Default: 1,000. */
  limit?: number
  /**
   * Most characters (Unicode scalar values) of contents and values in all; a node that would pass it comes without.
   * Default: no bound.
   */
  budgetChars?: number
  /** As in `LinksOptions`. */
  at?: number | string
  /** As in `NameOptions`. */
  cwd?: string
}

/** What an archive is to hold, and where it goes. */
export interface ExportArchiveOptions {
  /** The file; what stands there is replaced once the archive is whole. `-` is standard output. */
  path: string
  /** ID of a session: it with all that it refers to, and with what was before it where it is a fork. */
  session?: string
  /** ID of an object: it with its history. Default, without `session` too: everything. */
  object?: string
  /** Whether what looks like a secret is replaced by `[redacted:RULE]`. Default: false. */
  redact?: boolean
  /** Whether the archive is compressed by zstd. Default: whether the path ends in `.zst`. */
  compress?: boolean
}

/** What was written to an archive. */
export interface ExportedArchive {
  /** Objects. */
  objects: number
  /** Versions. */
  versions: number
  /** Distinct contents. */
  contents: number
  /** Items of chats and sessions. */
  items: number
  /** Nicknames. */
  nicknames: number
  /** Lines. */
  lines: number
  /** Bytes of the lines. */
  bytes: number
  /** Bytes written: fewer where they are compressed. */
  writtenBytes: number
  /** How often something was replaced, by rule. */
  redactions: Record<string, number>
}

/** A line of folded steps that a message carries. */
export interface FoldAbout {
  /** The line. */
  line: string
  /** The first call that showed it. */
  sinceCall: number
  /** The epoch that folded the steps. */
  sinceEpoch: number | null
  /** Why that started. */
  reason: string | null
}

/** How to forget. */
export interface ForgetOptions {
  /** Only report what would happen. Default: true. */
  dryRun?: boolean
  /** Remove the text also from objects and sessions that have nothing to do with it. Default: false. */
  everywhere?: boolean
}

/** What was forgotten, or would be. */
export interface ForgetReport {
  /** Whether nothing was done yet. */
  dryRun: boolean
  /** IDs of the objects that go. */
  objects: Array<string>
  /** Their versions. */
  versions: number
  /** Their items. */
  items: number
  /** Their contents that nothing else has. */
  contents: number
  /** UTF-8 bytes of these contents and of items and fields. */
  textBytes: number
  /** IDs of files that only the session knew: their texts and fields go as well, but they may be read and stored again. */
  emptied: Array<string>
  /** IDs of objects of the session that stay, for others know them. */
  kept: Array<string>
  /** Where lines are replaced by `[forgotten]`. */
  rewritten: Array<Holder>
  /** What still holds lines afterwards, most lines first. */
  holders: Array<Holder>
  /** Distinct lines that go. */
  lines: number
  /** Distinct lines that are left alone, for they are common. */
  commonLines: number
  /** Sessions concerned: their host's own files still hold the text. */
  hosts: Array<HostSession>
  /** What was then dropped from the files; absent in a dry run. */
  collected?: Garbage
}

/** What was dropped from a store's files, or would be. */
export interface Garbage {
  /** Contents that no version has. */
  contents: number
  /** Their UTF-8 bytes. */
  contentBytes: number
  /** Bytes of the file and its log before. */
  bytesBefore: number
  /** Bytes of both afterwards; in a dry run, at most so many. */
  bytesAfter: number
  /** Whether somebody reads an older state, so that dropped text stays in the files until `gc` is called again. */
  waitsForReaders: boolean
}

/** How to collect garbage. */
export interface GcOptions {
  /** Only report what would be dropped. Default: true. */
  dryRun?: boolean
}

/** An object that holds lines of what is forgotten. */
export interface Holder {
  /** ID of the object. */
  object: string
  /** Its type. */
  type: string
  /** ID of the chat or session in which it is, where there is one. */
  session?: string
  /** Versions that hold lines in content, additional contents or fields. */
  versions: number
  /** Items that do. */
  items: number
  /** Distinct lines. */
  lines: number
  /** Share of all lines that go, 0 to 1. */
  share: number
}

/** A session as its host names it. */
export interface HostSession {
  /** Host: `pi`, `openclaw`, ... */
  harness: string
  /** The host's own session ID. */
  hostSession: string
}

/** Where an archive is. */
export interface ImportArchiveOptions {
  /** The file, plain or compressed by zstd. `-` is standard input. */
  path: string
  /** No line of it may be longer, in bytes. Default: 268,435,456 (256 MiB). */
  maxLineBytes?: number
}

/** What became of an archive. */
export interface ImportedArchive {
  /** ID of the store that wrote the archive. */
  storeId: string
  /** Bytes read, uncompressed. */
  bytes: number
  /** Versions that the store did not have. */
  versions: number
  /** Objects of these. */
  objects: number
  /** Versions that the store had. */
  present: number
  /** Versions that were put again: to be the latest, or to stand beside another. */
  putAgain: number
  /** Nicknames given. */
  nicknames: number
  /** Everything that was left out, and why. */
  leftOut: Array<LeftOutOfImport>
  /** Lines of kinds that this program does not know, by kind; they were passed over. */
  unknownLines: Record<string, number>
}

/** A file that was indexed. */
export interface IndexedFile {
  /** Canonical path. */
  path: string
  /** ID of its object. */
  id: string
  /**
   * `created`: the store had no version of it; `updated`: it had another one; `unchanged`: it had this one, nothing was
   * written; `deleted`: the file is gone, its new version has no content.
   */
  outcome: "created" | "updated" | "unchanged" | "deleted"
  /** Transaction of its latest version. */
  txId: number
  /** Why it has no content; null where it has. */
  noContent: "binary" | "too_large" | "excluded" | "deleted" | null | null
}

/** How paths are indexed. */
export interface IndexOptions {
  /** Folder that relative paths count from, absolute. Default: the process's working folder. */
  cwd?: string
  /** Whether hidden and ignored files are taken too; `.git` never is. Default: `false`. */
  all?: boolean
}

/** What became of the paths. */
export interface IndexReport {
  /** The files, in the order in which they were met; deleted ones last. */
  files: Array<IndexedFile>
  /** What could not be read, is missing, or has a name that is not UTF-8. */
  failed: Array<PathProblem>
  /** Links, which are not followed; FIFOs, sockets and devices, which are not opened; what was forgotten. */
  skipped: Array<PathProblem>
}

/** Which items are read. */
export interface ItemsOptions {
  /** As in `ReadOptions`. */
  at?: number | string
  /** As in `NameOptions`. */
  cwd?: string
  /** Position of the first, from 0. Default: 0. */
  from?: number
  /** Position after the last. Default: all. */
  to?: number
}

/**
 * Learns from transcripts how likely a call needs an output or a step, by playing them through a session. Nothing is stored,
 * and no file but the transcripts is read. The same transcripts give the same weights, in whatever order.
 *
 * Rejects with `TOO_FEW_NEEDS` where they show too little; `INVALID_ARGUMENT`; `FILE` where one cannot be read. What is no
 * session file is skipped, and said so.
 */
export declare function learnHazards(paths: string[], options?: LearnOptions): Promise<LearnedHazards>

/** How hazards are learned. */
export interface LearnOptions {
  /** How many times its price a fault weighs. Default: as in the weights that are shipped. */
  caution?: number
  /** Paths of transcripts that the models are tested on. Default: those that they are learned from. */
  tested?: Array<string>
}

/** Something of an archive that was not taken. */
export interface LeftOutOfImport {
  /** ID of the object. */
  id: string
  /** Why. */
  reason: "forgotten" | "other_object" | "unknown_type" | "redacted_here" | "without_items" | "nickname_taken" | "nickname_without_object"
  /** The reason in words. */
  detail: string
  /** Versions concerned; 0 for a nickname. */
  versions: number
}

/** A file that a link may mean. */
export interface LinkCandidate {
  /** ID of the object. */
  id: string
  /** Its absolute path. */
  path: string
}

/** Where a relation stands in its object. */
export interface LinkPlace {
  /** `content`, `front_matter`, `items`, else the name of the payload's field. */
  field: string
  /**
   * In the content the headings above, joined by `#`; in the front matter the keys from its root; else the path from the
   * payload's root, such as `file_refs[0]` or `items[12].content`.
   */
  path: string
  /** Line of the text, from 1; only in content and front matter. */
  line?: number
}

/** Which point in the store's history is asked about. */
export interface LinksOptions {
  /** A transaction (`12`: what was visible after it) or a time in RFC 3339 or a date. Default: the newest transaction. */
  at?: number | string
  /** As in `NameOptions`. */
  cwd?: string
}

/** What a relation leads to. */
export interface LinkTarget {
  /** `none`: no object is meant (URL, tag, alias). */
  state: TargetState
  /** ID of the object; missing where there is none. */
  id?: string
  /** Transaction of its version: the pinned one, else the one visible at the time. */
  txId?: number
  /** Absolute path of a file. */
  path?: string
  /**
   * Of an ambiguous link the other files that it fits, next best first; of an unresolved one the files that have its target
   * as an alias.
   */
  candidates: Array<LinkCandidate>
}

/** Which objects are listed. */
export interface ListOptions {
  /** Only those whose ID comes after this one. Default: from the first. */
  after?: string
  /** At most so many. Default: 1,000. */
  limit?: number
}

/**
 * Reads and checks the settings; what no file sets has its default.
 *
 * Rejects with `INVALID_SETTINGS`, naming the file, each wrong key and what was expected, and `INVALID_ARGUMENT`.
 */
export declare function loadSettings(places: SettingsPlaces): Promise<Settings>

/** What is known of a message of a call. */
export interface MessageAbout {
  /** Its position in the chat, from 0; null for a message of ours, and one that the chat does not hold so. */
  position: number | null
  /** Handle of the object whose content or result it is. */
  handle: string | null
  /** Handle of the file that it shows or changed. */
  fileHandle: string | null
  /** That file's path. */
  path: string | null
  /** How a tool result is shown, such as `{ as: "excerpt", pieces: [...] }`; null for other messages. */
  shown: { as: string; [detail: string]: unknown } | null
  /** The first call that showed it so, where that is not as the host gave it. */
  sinceCall: number | null
  /** The epoch that changed it; null where it was first sent so. */
  sinceEpoch: number | null
  /** Why that epoch started. */
  reason: string | null
  /** The notes that it carries. */
  notes: Array<string>
  /** The lines of folded steps that it carries, and why. */
  folds: Array<FoldAbout>
  /** Why the store does not hold what went out; null where it does. */
  withheld: "excluded" | "forgotten" | "redacted" | null | null
  /** SHA-256 of the message's JSON as it went out, where it is withheld and that is known. */
  digest: string | null
}

/** How a name is read. */
export interface NameOptions {
  /** Folder that a relative path counts from, absolute. Default: the process's working folder. */
  cwd?: string
}

/** A relation of an object: a reference, a link, a tag, an alias. */
export interface ObjectLink {
  /** ID of the object that it stands in. */
  from: string
  /** Transaction of that object's version. */
  version: number
  /** First transaction at which it stands so. */
  since: number
  /** What it is. */
  kind: RelationKind
  /** What is written: an object's or call's ID, a link's target without headings and block, a URL, a tag without `#`. */
  written: string
  /** Headings or block (`^id`) of a link, or lines of a reference (`1-9`); missing where all of the text is meant. */
  part?: string
  /** Whether the target is shown in place: `![[note]]` or an image. */
  embed: boolean
  /** What a link shows in place of its target. */
  alias?: string
  /** Hash of the version that a static reference pins. */
  contentHash?: string
  /** Where it stands. */
  place: LinkPlace
  /** What it leads to. */
  target: LinkTarget
}

/**
 * Opens a session: resumes what the store holds of it, forks its parent, or starts it.
 *
 * Rejects with `INVALID_ARGUMENT`, `CLOSED` and what the store reports.
 */
export declare function openSession(store: Store, options: SessionOptions): Promise<Session>

/**
 * Opens a store; makes the file and its folder where they are missing, unless `create` is false.
 *
 * Rejects with `INVALID_ARGUMENT`, `STORE_UNAVAILABLE`, `STORE_CORRUPT`, `READ_ONLY`, `NEWER_SCHEMA`, `NO_SPACE`.
 */
export declare function openStore(options?: StoreOptions | undefined | null): Promise<Store>

/** A path that was not indexed. */
export interface PathProblem {
  /** The path; where it is not UTF-8, with replacement characters. */
  path: string
  /** What is the matter, in words. */
  problem: string
}

/** A version to write. */
export interface PutOptions {
  /** Type of the object. */
  type: ObjectType
  /** What the object tracks; its ID is made of type and source. */
  source?: Source
  /** ID of an object without a source. Default for a `toolcall`: a new UUIDv7. */
  id?: string
  /** The content, or null for none. */
  content?: string | null
  /** SHA-256 of the source's bytes. Default for an object with source and content: that of the content. */
  sourceHash?: string
  /** Fields; unknown ones are kept. */
  fields?: Record<string, unknown>
  /** Contents beside the content, by name (`short_summary`, ...). */
  additional?: Record<string, string>
  /** Transaction that wrote the object's latest version, 0 if there is to be none yet. Default: whatever there is. */
  expected?: number
}

/** What became of a put. */
export interface PutResult {
  /** Whether a version was written; false if the latest already was equal. */
  written: boolean
  /** The latest version. */
  version: Version
}

/** How a query is answered. */
export interface QueryOptions {
  /**
   * The point in the store's history that is asked about: a transaction (`12`), or a time in RFC 3339 or a date (its first
   * moment in UTC). Default: the latest versions.
   */
  at?: number | string
  /** Only objects of this type. */
  type?: ObjectType
  /** At most so many, whatever the query says itself. */
  limit?: number
}

/** Which version is read. */
export interface ReadOptions {
  /**
   * A transaction (`12`: the version visible then), a step back (`-1`: the version before the latest), or a time in RFC 3339
   * or a date (its first moment in UTC). Default: the latest version. Not together with a name such as `NAME@12`.
   */
  at?: number | string
  /** As in `NameOptions`. */
  cwd?: string
}

/** A recorded call: what the model saw. */
export interface RecordedCall {
  /** The session in which it was made: of a call that a fork inherited, the parent. */
  sessionId: string
  /** Its number in the session, from 1. */
  call: number
  /** The call before, where the host asked again with the same list. */
  retryOf: number | null
  /**
   * Why it went out with the host's own messages; null where it went out with ours. Then what follows is not known, down
   * to `hash`.
   */
  failedOpen: string | null
  /** When, in RFC 3339, UTC. */
  time: string | null
  /** Provider and model: `provider/id`. */
  model: string | null
  /** Layout. */
  layout: string | null
  /** Number of the epoch, from 0. */
  epoch: number | null
  /** Why that started; null in the first. */
  epochReason: string | null
  /** Tokens of the messages as sent. */
  sentTokens: number | null
  /** Tokens of the messages as the host would have sent them. */
  plainTokens: number | null
  /** Tokens of the model's window. */
  contextWindow: number | null
  /** Running SHA-256 over the SHA-256 of each message's JSON, as it was recorded. */
  hash: string | null
  /** Whether `messages` were checked against `hash`: not where text is withheld of which no hash is known. */
  verified: boolean
  /** The system prompt; null without one. */
  systemPrompt: string | null
  /** Definitions of the tools; null where they are not known. */
  tools: unknown
  /** The messages, each as its exact JSON. */
  messages: Array<string>
  /** What is known of each message, in the same order. */
  about: Array<MessageAbout>
  /** The request in the provider's format; null where the host did not show it. */
  payload: RecordedPayload | null
}

/** A request in the provider's format. */
export interface RecordedPayload {
  /** SHA-256 of the request as canonical JSON. */
  hash: string
  /** Its messages, each as JSON, where another extension changed them after us; else null. */
  messages: Array<string> | null
}

/**
 * Plays a transcript through a session as live use would, and says what its requests would have cost beside the plain host's.
 * Nothing is stored, and no file but the transcript is read.
 *
 * Rejects with `INVALID_ARGUMENT`; `MALFORMED_TRANSCRIPT` where the file is no session file of an agent that is known; `FILE`
 * where it cannot be read or the dump cannot be written.
 */
export declare function replayFile(path: string, options?: ReplayOptions): Promise<ReplayedFile>

/** How transcripts are replayed. */
export interface ReplayOptions {
  /** How requests are made; `plain`: as the host alone sends them. Default: `log`. */
  layout?: "log" | "pools" | "plain"
  /** Name of the price table. Default: `anthropic`. */
  prices?: string
  /** Tokens of the model's window, which both sides keep to. Default: no limit. */
  window?: number
  /** How tokens are counted: four characters are one, or by the bundled tokenizer. Default: `characters`. */
  tokens?: "characters" | "bundled"
  /** Tokens of system prompt and tools that the extension adds. Default: what it adds as of this version. */
  overheadTokens?: number
  /** Settings, complete or in part; `layout` and `prices` of these do not count. Default: the defaults. */
  settings?: Partial<Settings>
  /** Folder that the requests are written to, absolute; made where it is missing. Default: they are not written. */
  dump?: string
}

/**
 * A page that shows a report: HTML that loads nothing from elsewhere.
 *
 * Rejects with `INVALID_ARGUMENT`.
 */
export declare function replayPage(report: ReplayReport): Promise<string>

/**
 * Joins what transcripts came to, replayed with these options, to one report.
 *
 * Rejects with `INVALID_ARGUMENT`.
 */
export declare function replayReport(files: ReplayedFile[], options?: ReplayOptions): Promise<ReplayReport>

/** A version, item or nickname in which something was found. */
export interface SearchHit {
  /** ID of the object. */
  id: string
  /** Its type. */
  type: ObjectType
  /** Path of a file, tool of a toolcall; null for others. */
  name: string | null
  /** Newest version with this text; for an item the transaction that added it; for a nickname the latest version. */
  txId: number
  /** Where in the object. */
  part: "version" | "nickname" | "item"
  /** Position of the item, from 0; null for other parts. */
  item: number | null
  /** Whether the object has it now. */
  latest: boolean
  /** Above 0; higher is better. Comparable within one search only. */
  score: number
  /** Place of the text that is quoted: `content`, `path`, `fields.args.command`, `message.content[0].text`. */
  place: string
  /** The lines that show most of the search, at most three; empty where the text cannot be read any more. */
  lines: Array<SnippetLine>
}

/** What is looked through. */
export interface SearchOptions {
  /** Types of objects. Default: all. */
  types?: ObjectType[]
  /** ID of a session: its chat, toolcalls and system prompt. Files belong to none. */
  session?: string
  /** Files whose path starts with this. */
  pathPrefix?: string
  /** Whether texts that objects had before are looked through too. Default: `false`. */
  allVersions?: boolean
  /** Most hits, at least 1. Default: 10. */
  limit?: number
}

/** What a search found. */
export interface SearchResults {
  /** Best first. */
  hits: Array<SearchHit>
  /** How many there are in all, as far as they were ranked. */
  total: number
  /** Whether `total` counts all that fit; false where a search had only words that stand in very many texts. */
  complete: boolean
  /** Versions that could not be looked through, because the store cannot be written at present; 0 as a rule. */
  unindexed: number
}

/** What a store knows of a session. */
export interface SessionInfo {
  /** ID of its document, `session:...`. */
  id: string
  /** Name of the harness. */
  harness: string
  /** The harness's own session ID. Several sessions of a store can have the same: in other folders, or parted. */
  hostSessionId: string
  /** Working folder. */
  cwd: string
  /** `active` while it is open or if its process was killed; `paused` after `close`. */
  state: "active" | "paused"
  /** When it was opened first, in RFC 3339, UTC. */
  started: string
  /** When it was last written. */
  updated: string
  /** Calls to the model, those of the parent before a fork included. */
  calls: number
  /** The session whose chat it began with; null where it began empty. */
  parentId: string | null
  /** How it came from `parentId`: `forked` by the host, or `parted` because another process wrote to that. */
  origin: "forked" | "parted" | null | null
  /** ID of its chat. */
  chatId: string
  /** ID of its system prompt. */
  systemPromptId: string
  /** Transaction of its latest version. */
  txId: number
}

/** What a session is opened with. */
export interface SessionOptions {
  /** Name of the harness: `pi`, `openclaw`, ... */
  harness: string
  /** The harness's own session ID. */
  sessionId: string
  /** Working folder, absolute; relative paths of tools count from it. */
  cwd: string
  /** Settings, complete or in part; what is missing has its default. */
  settings?: Partial<Settings>
  /** The session that this one is a fork of: it inherits index, pool, handles and chat. */
  parentSessionId?: string
}

/** Figures for a status line. */
export interface SessionStatus {
  /** Calls so far. */
  calls: number
  /** Number of the epoch, from 0. */
  epoch: number
  /** Tokens of the messages last sent. */
  windowTokens: number
  /** Tokens of the same messages as the host would have sent them. */
  plainTokens: number
  /** Share of `plainTokens` that was not sent, 0 to 1. */
  savedShare: number
  /** Our bill by what the plain host's would have been; null before the first call. */
  billRatio: number | null
  /** Objects whose content stands in the window. */
  activeObjects: number
  /** Objects met. */
  indexedObjects: number
  /** Objects pinned. */
  pinnedObjects: number
}

/**
 * Moves a damaged store to `NAME.corrupt-N`, with the files that belong to it, and resolves to its new place. The next
 * `openStore` makes a new store. Never done unasked.
 *
 * `force`: also where nothing is damaged. Default: false.
 *
 * Rejects with `INVALID_ARGUMENT` if nothing is damaged, `STORE_UNAVAILABLE` if there is no such file or a store is open
 * there, in this process or another, `FILE`, `NEWER_SCHEMA`.
 */
export declare function setAside(path: string, force?: boolean | undefined | null): Promise<string>

/** Where settings are read from. */
export interface SettingsPlaces {
  /** The agent's folder; its `palimpsest.json` holds the user's settings. */
  agentDir?: string
  /** The project's folder, only if the user trusts it; its `.pi/palimpsest.json` stands over the user's. */
  projectDir?: string
}

/** A line of a text, or the part of it around what was found. */
export interface SnippetLine {
  /** Number of the line in its text, from 1. */
  line: number
  /** The line without its ending, long ones in part. */
  text: string
  /** What was found: start and end in `text`, in UTF-16 code units as `text.slice` takes them; in order, not overlapping. */
  matches: [start: number, end: number][]
}

/** Where a store is. */
export interface StoreOptions {
  /**
   * A file, or `:memory:`. Default: `PALIMPSEST_STORE`, else the setting `store`, else
   * `<agentDir>/palimpsest/store.sqlite`, else `store.sqlite` in the platform's data folder.
   */
  path?: string
  /** Settings, complete or in part: their `store` says where the store is, the others how names are read and files indexed. */
  settings?: Partial<Settings>
  /** The agent's folder: a relative setting counts from it. */
  agentDir?: string
  /** Whether a store that does not exist is made. Default `true`; else `STORE_UNAVAILABLE`. */
  create?: boolean
}

/** A table or index of a store's file. */
export interface StorePart {
  /** Its name. */
  name: string
  /** Its bytes. */
  bytes: number
}

/**
 * Absolute path of the store that `openStore` would open with these options, or `:memory:`. Opens and makes nothing.
 *
 * Rejects with `INVALID_ARGUMENT`.
 */
export declare function storePath(options?: StoreOptions | undefined | null): Promise<string>

/** Counts and sizes of a store. */
export interface StoreStats {
  /** Objects by type. */
  objects: Record<string, number>
  /** Objects that were forgotten, among those. */
  forgotten: number
  /** Sessions. */
  sessions: number
  /** Versions. */
  versions: number
  /** Items, those that no longer stand in their list included. */
  items: number
  /** Contents. */
  contents: number
  /** UTF-8 bytes of contents, items and fields, before compression. */
  plainBytes: number
  /** Bytes of the file; 0 in memory. */
  fileBytes: number
  /** Bytes of the write-ahead log. */
  logBytes: number
  /** Bytes of the file that are free. */
  freeBytes: number
  /** Bytes by table and index, largest first. */
  parts: Array<StorePart>
  /** Oldest transaction that wrote a version; absent on an empty store. */
  oldest?: TransactionTime
  /** Newest transaction; absent on an empty store. */
  newest?: TransactionTime
}

/** A block of text. */
export interface TextBlock {
  /** Always `text`. */
  type: "text"
  /** The text. */
  text: string
}

/** A tool call that came to its end. */
export interface ToolFinishedEvent {
  /** The provider's call ID. */
  toolCallId: string
  /** Tool name. */
  toolName: string
  /** Arguments of the call. */
  args: unknown
  /** Whether it failed. */
  isError: boolean
  /**
   * The text that it showed, for `ls`, `find`, `grep` and shells, failed commands included: files that it names enter the
   * session index, by path alone. The first 256 KiB count.
   */
  text?: string
}

/** What a tool answers. */
export interface ToolResult {
  /** Blocks for the model. */
  content: Array<TextBlock>
}

/** What a tracking does at this moment. */
export interface TrackingStatus {
  /** Tracked files. */
  files: number
  /** Tracked files that are there. */
  attached: number
  /** Tracked files that were found to be gone. */
  deleted: number
  /** Tracked files of which it cannot be told what they are; their latest versions stand. */
  orphaned: number
  /** Folders with tracked files that the system watches. */
  watchedFolders: number
  /** Folders with tracked files that are polled. */
  polledFolders: number
  /** Folders with tracked files that do not exist; the nearest one above each is watched. */
  absentFolders: number
  /** Files that wait to be looked at; never more than are tracked. */
  pending: number
  /** The most files that ever waited. */
  mostPending: number
}

/** How files are tracked. */
export interface TrackOptions {
  /** Folder that relative paths count from, absolute. Default: the process's working folder. */
  cwd?: string
  /** Whether files are polled although the system could watch them. Default: `false`. */
  polling?: boolean
  /** Milliseconds between two looks at a polled file. Default: 2,000. */
  pollMs?: number
  /** Folders that are watched at most; files of others are polled. Default: as many as the system allows. */
  maxWatches?: number
}

/** A transaction and its time. */
export interface TransactionTime {
  /** Number in this store. */
  txId: number
  /** RFC 3339. */
  time: string
}

/** What a provider said that a request used. A report of no input at all is not taken. */
export interface UsageReport {
  /** `call`: a call of the model. `cache_warm`: a request that kept the cache of the newest call alive. */
  kind: "call" | "cache_warm"
  /** Number of the call; default the newest. 0 is none of ours: it went out with the host's own messages. */
  call?: number
  /** The host's ID of the report; one that is known is not taken again. */
  id?: string
  /** When the request was made, in ms since 1970; needed of `cache_warm`. */
  time?: number
  /** Tokens of input neither read from the cache nor written to it. */
  input: number
  /** Tokens read from the cache. */
  cacheRead: number
  /** Tokens written to the cache. */
  cacheWrite: number
  /** Tokens of output. */
  output: number
}

/** A version of an object: everything but its content. */
export interface Version {
  /** Full ID of the object. */
  id: string
  /** Its type. */
  type: ObjectType
  /** What the object tracks; null for objects without a source. */
  source: Source | null
  /** SHA-256 of the immutable part, in 64 hexadecimal digits like all hashes. */
  identityHash: string
  /** The transaction that wrote the version, a number of this store alone. */
  txId: number
  /** Time of that transaction in this store, in RFC 3339, UTC. */
  systemTime: string
  /** Where the version was first written: this store, unless it was imported. */
  origin: VersionOrigin
  /** SHA-256 of the bytes that were read from the source; null where there are none. */
  sourceHash: string | null
  /** SHA-256 over all that a change of makes a new version: fields, content, items, additional contents. */
  contentHash: string
  /** Fields by type, such as `char_count` of a file or `tool` of a toolcall; your own as well. */
  fields: Record<string, unknown>
  /** SHA-256 of the content's UTF-8 bytes; null where the content is null. */
  content: string | null
  /** Number of items (messages of a chat, events of a session); 0 for other objects. */
  itemCount: number
  /** SHA-256 of each additional content, by name. */
  additional: Record<string, string>
  /** Why text was taken out of the version after it was written; null where none was. */
  redacted: "secret" | "forgotten" | null | null
  /** The object's nicknames. */
  nicknames: Array<string>
  /** What pins this version in any store that holds it, see `resolve`. */
  reference: StaticReference
}

/** Where a version was first written. */
export interface VersionOrigin {
  /** ID of that store. */
  storeId: string
  /** Its transaction there. */
  txId: number
  /** Its time there, in RFC 3339, UTC. */
  time: string
}
