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
  highWater: number;
}

/** JSON schema of a tool's arguments. */
export interface ToolSchema {
  type: "object";
  properties: Record<string, { type: string; description?: string }>;
  required: string[];
}

/** Type of an object. Files, toolcalls and chat segments have contents, chats and sessions have items. */
export type ObjectType = "file" | "toolcall" | "chat_segment" | "chat" | "system_prompt" | "session";

/** What an object tracks: a file, by the ID of its filesystem and its canonical absolute path there. */
export interface Source {
  type: "filesystem";
  filesystemId: string;
  path: string;
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
  /** Takes the side effects of a tool call: files read, edited, written or found. */
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
   * Stores what is not stored yet and marks the session paused. Later calls reject with `CLOSED`. Idempotent. The store
   * stays open; where it was closed before, what was not stored yet is not.
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
  /**
   * Finds versions by their metadata, one per object, without reading contents:
   * `tool = bash and args.command contains "cargo test" order by system_time desc limit 20`.
   *
   * A test is a field, then `=`, `!=`, `<`, `<=`, `>`, `>=`, `contains`, `starts_with` or `~` (`*`, `?`, `[a-z]`) with a
   * value, or `in (a, b)`, `exists`, `missing`; `and`, `or`, `not` and parentheses join tests; `order by FIELD [desc]`,
   * `limit N` and `offset N` follow. Ties are by ID. Fields: `id`, `type`, `path`, `source.*`, `tx_id`, `system_time`,
   * `origin.store_id`, `origin.tx_id`, `origin.time`, `content_hash`, `source_hash`, `identity_hash`, `has_content`,
   * `item_count`, `redacted.*`, `additional.*`, `forgotten`, `nickname`, and every field of a payload by its path
   * (`args.command`, `tags[0]`, `tags[*]`; odd keys in `"`). A test of a missing field is false, `!=` too. Types that
   * differ are unequal and have no order. A time as a value is a date or RFC 3339.
   *
   * Rejects with `INVALID_ARGUMENT`, naming the column, and with `UNKNOWN_FIELD` for a field that no object has.
   */
  query(query: string, options?: QueryOptions): Promise<Version[]>
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

/** How a query is answered. */
export interface QueryOptions {
  /**
   * The point in the store's history that is asked about: a transaction (`12`), or a time in RFC 3339 or a date (its first
   * moment in UTC). Default: the latest versions.
   */
  at?: number | string
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
