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
  /** The model; `contextWindow` in tokens. */
  model?: { provider: string; id: string; contextWindow?: number };
}

/** Something that happened during a call and that a person may want to know. */
export type SessionEvent =
  | { type: "epoch_started"; epoch: number; reason: string; collapsed: number; freedTokens: number }
  | { type: "file_changed"; handle: string; path: string; added: number; removed: number }
  | { type: "host_rewrote"; how: "branch" | "compaction" | "rearranged" | "edited"; at: number }
  | { type: "message_volatile"; at: number };

/** Settings, complete; see the README for what each does. */
export interface Settings {
  enabled: boolean;
  layout: "log" | "pools";
  store: string | null;
  filesystemId: string | null;
  keepResults: number;
  collapseTokens: number;
  previewTokens: number;
  activePerTurn: number;
  activeTurns: number;
  poolTokens: number;
  maxTextBytes: number;
  maxOutputBytes: number;
  highWater: number;
  exclude: string[] | null;
}

/** JSON schema of a tool's arguments. */
export interface ToolSchema {
  type: "object";
  properties: Record<string, { type: string; description?: string }>;
  required: string[];
}

/** An error of this package. */
export interface PalimpsestError extends Error {
  /** Stable code: `CONFLICT`, `STORE_CORRUPT`, `INVALID_SETTINGS`, ... */
  code: string;
  /** What to do about it, where there is something. */
  hint?: string;
  /** Message, causes and hint, for logs. */
  report?: string;
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
   * Takes the side effects of a tool call: files read, edited, written or found. Takes its turn behind the calls of
   * `transformContext` that came before.
   */
  toolFinished(event: ToolFinishedEvent): Promise<void>
  /**
   * Why a `write` or `edit` must not run: its text holds a line that stands for content in this window. Null for every
   * other call. Ask before the tool runs; the answer is for the model, as a failed call.
   */
  refusedWrite(toolName: string, args: unknown): Promise<string | null>
  /** Notes that a call went out with the host's own messages and why; the next call's record says so. */
  reportFailedCall(reason: string): void
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
   * Checks everything that the store holds, as of its newest transaction, while it is in use: every hash, list, nickname
   * and pinned reference, and SQLite's own checks. Reads only. Takes a time in proportion to the store's size.
   *
   * Rejects with `CLOSED`.
   */
  doctor(): Promise<DoctorReport>
  /**
   * Forgets an object; of a session or chat, the session with its chat, system prompt and tool calls, and those of its
   * files that nobody else knows. Its contents, fields, items and nicknames go, and its text in the records and chats
   * that refer to it; it is not stored again. `target` is an ID. Without `dryRun: false` it only reports what would
   * happen.
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
  /** ID of the store, made when it was created. */
  get id(): string
  /** Absolute path of the file, or `:memory:`. */
  get path(): string
  /**
   * What the user should be told about the store, if anything: that it is on a network file system, or that acknowledged
   * writes were found missing when it was opened.
   */
  get notice(): string | null
  /** Releases the file. Later calls reject with `CLOSED`. Idempotent. */
  close(): Promise<void>
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

/**
 * Reads and checks the settings; what no file sets has its default.
 *
 * Rejects with `INVALID_SETTINGS`, naming the file, each wrong key and what was expected, and `INVALID_ARGUMENT`.
 */
export declare function loadSettings(places: SettingsPlaces): Promise<Settings>

/**
 * Opens a session: resumes what the store holds of it, forks its parent, or starts it.
 *
 * Rejects with `INVALID_ARGUMENT`, `CLOSED` and what the store reports.
 */
export declare function openSession(store: Store, options: SessionOptions): Promise<Session>

/**
 * Opens a store; makes the file and its folder where they are missing.
 *
 * Rejects with `INVALID_ARGUMENT`, `STORE_UNAVAILABLE`, `STORE_CORRUPT`, `READ_ONLY`, `NEWER_SCHEMA`, `NO_SPACE`.
 */
export declare function openStore(options?: StoreOptions | undefined | null): Promise<Store>

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

/** Where a store is. */
export interface StoreOptions {
  /**
   * A file, or `:memory:`. Default: `PALIMPSEST_STORE`, else the setting `store`, else
   * `<agentDir>/palimpsest/store.sqlite`, else `store.sqlite` in the platform's data folder.
   */
  path?: string
  /** Settings, for their `store`. */
  settings?: Partial<Settings>
  /** The agent's folder: a relative setting counts from it. */
  agentDir?: string
}

/** A table or index of a store's file. */
export interface StorePart {
  /** Its name. */
  name: string
  /** Its bytes. */
  bytes: number
}

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
  /** The text that it showed, for `ls`, `find` and `grep`: its paths enter the session index. */
  text?: string
}

/** What a tool answers. */
export interface ToolResult {
  /** Blocks for the model. */
  content: Array<TextBlock>
}

/** A transaction and its time. */
export interface TransactionTime {
  /** Number in this store. */
  txId: number
  /** RFC 3339. */
  time: string
}
