// The API of the package. Here: sessions, messages, events and tools, written by hand for the JavaScript in `lib`. The rest
// (stores, tracking, replays and all types of their arguments and answers) is generated into `binding.d.ts` by the build.
import type {
  CompactionAnswer,
  Continuation,
  FoundObject,
  HostCompaction,
  Ledger,
  Memory,
  MemorySection,
  MetObject,
  NewToolResult,
  SessionOptions,
  SessionSets,
  SessionStatus,
  SharingStatus,
  Store,
  ToolCallReport,
  ToolDefinition,
  UsageReport,
} from "./binding.js";

export * from "./binding.js";

/**
 * Opens a session: resumes it if the store holds it, forks `parentSessionId` if that is given, else starts a new one.
 *
 * Rejects with `INVALID_ARGUMENT`, `CLOSED` if the store is closed, `FORGOTTEN` if a person had the session forgotten, and with
 * what the store reports.
 */
export declare function openSession(store: Store, options: SessionOptions): Promise<Session>;

/** An agent's session: takes the host's messages before each call and says what the model is to see. */
export declare class Session {
  /** `openSession` makes sessions. */
  private constructor();

  /**
   * ID of the session's document in the store, `session:...`. Another process that writes to the same session gets it: this one
   * then goes on as a session of its own, with another ID.
   */
  get id(): string;

  /**
   * Takes the host's messages before a call to the model and resolves to the messages to send instead.
   *
   * `messages` is the host's whole list, every time; only what is new since the last call is looked at. Messages that do not
   * change come back as the host's own objects, and those of a role that is not known stay where they are: changes of the system
   * prompt that the provider takes in the middle belong to the list, while `call` has what stands in front. The array that comes back,
   * and every other message in it, belongs to the caller.
   * Calls run one after another, in the order in which they were made.
   *
   * Rejects with `INVALID_ARGUMENT` if `messages` is not an array, is longer than 100,000 or cannot be written as JSON, with `CLOSED`, and
   * with what the store reports. Then send the host's own messages and call `recordFailedCall`.
   */
  transformContext<M extends { role: string } = Message>(
    messages: readonly M[],
    call?: CallInfo,
  ): Promise<(M | Message)[]>;

  /**
   * Says what the host shall do that is about to compact its list by itself. Call it before it does.
   *
   * - `host`: compact as it would without us. So it is if the person asked for it, and if the next request would not fit.
   * - `cancel`: do not compact, since the next request fits as it will go out. A host to which no provider says how long requests were
   *   would ask at every call: it gets this answer at three calls one after another at most.
   * - `summary`: compact with this text as the summary, which needs no call to a model, and then make the call again. It names what
   *   left by handles, so that all of it can be activated, and repeats what the person wrote.
   *
   * What is new in the list is stored where it may leave it. `messages` is the list as it is now, `call` what the next call would be
   * made with. It waits for the methods called before it.
   *
   * Rejects with `INVALID_ARGUMENT`, `CLOSED`, and with what the store reports. Then compact as without us.
   */
  answerCompaction(
    messages: readonly { role: string }[],
    call: CallInfo | undefined,
    compaction: HostCompaction,
  ): Promise<CompactionAnswer>;

  /**
   * Takes a request in the provider's format just before it is sent, and resolves to the request to send: the same object, or a
   * copy with one more cache breakpoint if the format takes breakpoints.
   *
   * The first request after a `transformContext` is recorded with its call: its SHA-256, and its messages if something changed
   * them after `transformContext`. A request that is sent again to keep a cache warm gets the same breakpoint and is not recorded.
   * `payload` itself is not changed; bytes in it are read as base64.
   *
   * Rejects with `INVALID_ARGUMENT` if `payload` is not JSON, with `CLOSED`, and with what the store reports. Then send `payload`.
   */
  preparePayload<T>(payload: T): Promise<T>;

  /**
   * Records a finished tool call: files that it read, edited or wrote get a version, files that it named enter the session index.
   * Call it after each tool call, before the next `transformContext`. It waits for the methods called before it.
   *
   * Rejects with `INVALID_ARGUMENT`, `CLOSED`, and with what the store reports.
   */
  recordToolCall(call: ToolCallReport): Promise<void>;

  /**
   * For a host that sends the messages of the running turn itself (`CallInfo.keptFrom`): takes the result of a tool call before the host
   * adds it to its list. Takes the place of `recordToolCall` for this call.
   *
   * Stores the whole result and resolves to the content to show and to keep in its place: a preview of a long output, which names what
   * it leaves out, so that the model can `activate` it, and a line for what stands already. Null: the result as it is. Other files that
   * the model reads, what it asked for by lines or a pattern, and failures are shown whole. In later lists a result in these words is
   * taken for the whole again.
   *
   * `messages`: the host's whole list up to the message that makes the call.
   *
   * Rejects with `INVALID_ARGUMENT`, `CLOSED`, and with what the store reports. Then show the result as it is.
   */
  showResult(result: NewToolResult, messages: readonly { role: string }[]): Promise<ContentBlock[] | null>;

  /**
   * Stores the messages of a turn that has ended well, behind what is known. A host that says so more than once gets `duplicate`, and
   * nothing is stored twice.
   *
   * `key`: the host's, one for each turn. `messages`: those of the turn, from what the person wrote to the last answer.
   *
   * Rejects with `INVALID_ARGUMENT`, `CLOSED`, and with what the store reports. Then nothing is stored: say it again.
   */
  commitTurn(key: string, messages: readonly { role: string }[]): Promise<"committed" | "duplicate">;

  /**
   * Goes on with what another session left, of whatever harness and machine: its objects keep their handles, what it pinned stays
   * pinned, and the next message tells the model what was said and done there. The other session stays as it is; from here on the two
   * are independent, and this one has another `id`, if it was stored before.
   *
   * `session`: ID of the other one's document, `session:...`, in this store; `Store.findSession` finds it.
   *
   * Rejects with `INVALID_ARGUMENT` if this session has messages, with `NOT_FOUND`, `FORGOTTEN`, `CLOSED`, and with what the store
   * reports. Then this session is as it was.
   */
  continueFrom(session: string): Promise<Continuation>;

  /**
   * Records what a provider said that a request used. The ledger holds it beside the estimate, and estimates of later calls are
   * corrected by it. Call it after each answer of the model. It waits for the methods called before it; what it records is stored
   * with the next call.
   *
   * Rejects with `INVALID_ARGUMENT` and `CLOSED`.
   */
  recordUsage(report: UsageReport): Promise<void>;

  /**
   * Records that a call went out with the host's own messages, and why. The record of the next call says so.
   *
   * Throws `INVALID_ARGUMENT` if `reason` is not a string.
   */
  recordFailedCall(reason: string): void;

  /**
   * Checks a call of a tool that may write, before it runs: `write`, `edit`, a command, or a tool that is not known. Resolves to the
   * reason why it must not run, for the model, as the error of the call: its text holds a line that stands for content in this window. Null for every other call.
   *
   * Rejects with `INVALID_ARGUMENT` and `CLOSED`.
   */
  checkWrite(toolName: string, args: unknown): Promise<string | null>;

  /**
   * Explains to the model why an edit failed. Resolves to the text to add to the tool's error; null if nothing helps, if the file
   * is excluded, and for arguments of another shape.
   *
   * The text shows what changed in the file since the version that the model saw (a unified difference; the next call does not
   * repeat it), and, for each text that does not occur exactly once in the file, the places where it occurs, or the most similar
   * lines with five lines around them. Each part has at most 40 lines and 1,000 tokens.
   *
   * `args` are the tool's: `path`, and either `edits` with an `oldText` each, or one `oldText`. It waits for the methods called
   * before it. Rejects with `CLOSED` and with what the store reports; then leave the tool's error as it is.
   */
  explainFailedEdit(args: unknown): Promise<string | null>;

  /**
   * What the system prompt is to say of memory, or null where memory is off. Call it before each prompt, and give the same section to
   * the model until it is called again.
   *
   * The section is made anew at the start of a session, and when no cache of the model is alive, so that this costs nothing. Otherwise it
   * is the one from before, byte for byte, and the newest message of the next call tells the model what changed in memory since; after
   * the section was made anew these notes are gone. `call`: what the next call will be made with; its model counts, and
   * where memory is not all in view, the section says how to ask it with the `activate` among its tools.
   *
   * Rejects with `INVALID_ARGUMENT`, `CLOSED` and with what the store reports. Then give the section from before.
   */
  memorySection(memory: Memory, call?: CallInfo): Promise<MemorySection | null>;

  /**
   * Has the session look at memory before and after a tool call that writes it (`Memory.isWrittenBy`), so that the model is told what
   * others changed, and not what it changed itself. `toolCallId`: the call, after it; before it none.
   *
   * Rejects with `CLOSED` and with what the store reports.
   */
  memoryChanged(memory: Memory, toolCallId?: string): Promise<void>;

  /**
   * The object of a name among those that the session itself met, and the versions of it that it met: what those may see who may see
   * nothing else of the store. Of a file the model saw text.
   *
   * `name`: a handle, path or ID. Rejects with `UNKNOWN_NAME`, `AMBIGUOUS_NAME`, `CLOSED` and with what the store reports.
   */
  met(name: string): Promise<MetObject>;

  /**
   * The object that a name means in this session, in any form that the tools take: `t17`, `[t17] bash`, `f3@-1:5-9`, `src/a.rs:10-20`.
   *
   * Rejects with `UNKNOWN_NAME`, `AMBIGUOUS_NAME`, `CLOSED` and with what the store reports.
   */
  find(name: string): Promise<FoundObject>;

  /**
   * The tools to offer to the model in this session, as `tools()` lists them. If another extension of the host has a tool with one of their
   * names, they all have the prefix `palimpsest_`, in lines and errors of the session too, and keep it for as long as the session lasts.
   *
   * `taken`: names of the tools that the host has besides ours. Rejects with `INVALID_ARGUMENT` if the names with the prefix are taken as
   * well, `CLOSED` and with what the store reports.
   */
  tools(taken?: readonly string[]): Promise<ContextTool[]>;

  /**
   * Takes an object out of the metadata pool, which deactivates it: it is in the session index only, its line leaves the request of the
   * layout `pools`, and in `log` its reference line loses nickname and fields at the next collapse. Reading or activating it brings it
   * back. Resolves to a sentence for the person or the model.
   *
   * `name`: a handle, path, nickname or ID. Rejects with `UNKNOWN_NAME`, `AMBIGUOUS_NAME`, `CLOSED` and with what the store reports.
   */
  leavePool(name: string): Promise<string>;

  /** Brings an object that is in the session index only back into the metadata pool. As `leavePool`. */
  enterPool(name: string): Promise<string>;

  /**
   * Calls `listener` with every event of the session from now on. What the listener throws is ignored. Returns a function that
   * ends the subscription.
   *
   * Throws `INVALID_ARGUMENT` if `listener` is not a function.
   */
  onEvent(listener: (event: SessionEvent) => void): () => void;

  /** Figures for a status line, as of the last call or tool. */
  status(): SessionStatus;

  /**
   * The session index, the metadata pool, the active and the pinned set, as of now.
   *
   * Rejects with `CLOSED`.
   */
  sets(): Promise<SessionSets>;

  /**
   * What the calls of the session cost beside the plain host, as of now.
   *
   * Rejects with `CLOSED`.
   */
  ledger(): Promise<Ledger>;

  /**
   * How the session's store stands with the one that several machines share, without asking the server; null where nothing is shared.
   * Does not wait for other methods.
   *
   * Rejects with what the store reports.
   */
  sharing(): Promise<SharingStatus | null>;

  /**
   * Problems with what the settings name that a person should know when the session begins: folders of mount mappings that do not
   * exist, mounts that show the same files, weights (`hazards`) that cannot be read, so that the built-in ones count.
   */
  mountNotices(): Promise<string[]>;

  /**
   * Stores what is not stored yet and marks the session paused, after all calls made before have ended. Later calls reject with
   * `CLOSED`. Idempotent. The store stays open; close it after the session, or what was not stored yet is lost.
   *
   * As every method, it rejects with `NO_ANSWER` once it has waited for `deadlineSeconds`, and at once where earlier work still hangs.
   */
  close(): Promise<void>;
}

/**
 * Lists the tools to offer to the model: `activate`, `deactivate`, `pin` and `unpin`.
 *
 * `options.read`: also `read`, which reads text files by path with the parameters and limits of Pi's tool, for harnesses that have
 * no such tool. No images. Default: false.
 */
export declare function tools(options?: { read?: boolean }): ContextTool[];

/** A tool to offer to the model. */
export interface ContextTool extends ToolDefinition {
  /**
   * Executes a call of the tool in a session. An empty `toolCallId` is a person's command: what `activate` then brings, or `pin` where
   * it does not stand, comes with the newest message of the next call, in the layout `log` as a note.
   *
   * Rejects with `CLOSED`, and with errors whose messages are for the model: `UNKNOWN_NAME`, `AMBIGUOUS_NAME`, `NO_ROOM`,
   * `NOT_ACTIVATABLE`, `INVALID_ARGUMENT`, `FILE`, `OFFSET_BEYOND_END`.
   */
  execute(session: Session, toolCallId: string, args: unknown): Promise<ToolResult>;
}

/** The answer of a tool. */
export interface ToolResult {
  /** One block of text for the model, and behind it the images that it asked for, if the session was opened with `images`. */
  content: [TextBlock, ...ImageBlock[]];
  /** Tokens of the content, by our count. */
  tokens: number;
}

/**
 * A message of the host, in the shapes of pi-ai. Messages with another role, blocks of another type, and fields that are not
 * listed here pass through unchanged.
 */
export type Message = UserMessage | AssistantMessage | ToolResultMessage | OtherMessage;

/** Fields of every message. */
export interface MessageFields {
  /** When the message was made, in milliseconds since 1970. Part of its identity where the host gives it. */
  timestamp?: number;
  /** The host's own fields. */
  [field: string]: unknown;
}

/** What a person typed. */
export interface UserMessage extends MessageFields {
  role: "user";
  content: string | ContentBlock[];
}

/** An answer of the model. */
export interface AssistantMessage extends MessageFields {
  role: "assistant";
  content: string | (TextBlock | ThinkingBlock | ToolCallBlock | OtherBlock)[];
}

/** The result of a tool call. It follows the message with the call. */
export interface ToolResultMessage extends MessageFields {
  role: "toolResult";
  /** The `id` of the call. */
  toolCallId: string;
  /** Name of the tool. Default: the one that the call names. */
  toolName?: string;
  content: string | ContentBlock[];
  /** Whether the tool failed. Default: what was reported of the call. */
  isError?: boolean;
}

/** A message of a kind that is not known: it passes through. */
export interface OtherMessage extends MessageFields {
  role: string;
  content?: unknown;
}

/** A block of what a person wrote or a tool answered. */
export type ContentBlock = TextBlock | ImageBlock | OtherBlock;

/** A block of text. */
export interface TextBlock {
  type: "text";
  text: string;
}

/**
 * An image. If the session was opened with `images`, it leaves its tool result with the text beside it, and `activate` brings both
 * back; else it stays.
 */
export interface ImageBlock {
  type: "image";
  /** Base64. */
  data: string;
  mimeType: string;
}

/** What the model thought before it answered. */
export interface ThinkingBlock {
  type: "thinking";
  thinking: string;
}

/** A call of a tool. */
export interface ToolCallBlock {
  type: "toolCall";
  /** The provider's ID of the call. */
  id: string;
  /** Name of the tool. */
  name: string;
  arguments: Record<string, unknown>;
}

/** A block of a type that is not known: it passes through. */
export interface OtherBlock {
  type: string;
  [field: string]: unknown;
}

/** What a call is made with, besides its messages. */
export interface CallInfo {
  /** The system prompt as the host will send it. Without it and without `tools`, both are as in the call before. */
  systemPrompt?: string;
  /** Definitions of the active tools. */
  tools?: { name: string; description?: string; parameters?: unknown }[];
  /** The model that is called. */
  model?: ModelInfo;
  /**
   * Index in the list from which the host sends the messages itself, as they are: those of the running turn. They come back as given,
   * behind all others, and are counted and recorded like them. What the model is to be told then stands in front of the first of them,
   * as a message of the role `custom`. Default: none.
   */
  keptFrom?: number;
  /** Everything that may leave does so before this call, as if the model's window had this many tokens: somebody asked for it. */
  squeezeTo?: number;
  /** Tokens of the whole system prompt and all tools, where the host tells only that. Default: those of `systemPrompt` and `tools`. */
  promptTokens?: number;
}

/**
 * The model of a call. The setting `prices` comes first, then `cost`. Without prices, a model whose `baseUrl` leads to this machine
 * or a private network has those of the preset `local`; for any other, `api` chooses a preset.
 */
export interface ModelInfo {
  provider: string;
  id: string;
  /** In tokens. */
  contextWindow?: number;
  /** The provider's wire format, as pi-ai names it: `anthropic-messages`, `openai-completions`, ... */
  api?: string;
  /** Where the model is served. */
  baseUrl?: string;
  /** Prices, and higher ones for requests with more input tokens than a threshold. */
  cost?: ModelRates & { tiers?: (ModelRates & { inputTokensAbove: number })[] };
  /** Seconds for which the provider's cache lives, by `cacheRetention`. */
  promptCache?: { short?: number; long?: number };
  /** How long the provider is asked to keep the cache. Default: `short`. */
  cacheRetention?: "none" | "short" | "long";
  /** `anthropic` if another wire format takes cache breakpoints as Anthropic's does. */
  cacheControlFormat?: string;
}

/** What tokens cost, in US dollars per million; 0 if it is not known. */
export interface ModelRates {
  input: number;
  cacheRead: number;
  cacheWrite: number;
}

/** Something that a person may want to know. Events about a call come before its `transformContext` resolves. */
export type SessionEvent =
  /** A new epoch began: `collapsed` objects gave way to reference lines, which freed `freedTokens`. */
  | { type: "epoch_started"; epoch: number; reason: string; collapsed: number; freedTokens: number }
  /**
   * A request has more tokens than the model's window, by our count: system prompt, tools, what people wrote and the results
   * that the model has not answered leave no room.
   */
  | { type: "window_exceeded"; tokens: number; window: number }
  /** A pinned object has no room in the window: the request goes out without its content. Said once, until it stands again. */
  | { type: "pin_left_out"; handle: string; name: string; tokens: number }
  /** A pin ended without anybody asking for it; `why` continues "because". */
  | { type: "pin_ended"; handle: string; name: string; why: string }
  /** A file that the model saw changed on disk: `added` and `removed` lines. The model gets a note. */
  | { type: "file_changed"; handle: string; path: string; added: number; removed: number }
  /** A file moved to `path`. */
  | { type: "file_moved"; handle: string; from: string; path: string }
  /** A file can no longer be looked at, for example because a mount is gone. Its latest version stands. */
  | { type: "file_orphaned"; handle: string; path: string; reason: string }
  /** An orphaned file can be looked at again. */
  | { type: "file_resumed"; handle: string; path: string }
  /** A note tells the model of a file; `line` is its first line, without the colon before a difference. */
  | { type: "model_told"; line: string }
  /** Files in this number of folders are looked at every 2 seconds instead of watched. What the model sees is the same. */
  | { type: "files_polled"; folders: number; reason: "watch_limit" | "network_file_system" | "refused" }
  /** A resumed session checks its files: every second while the check runs, and once when it has ended (`files` is `of`). */
  | { type: "checking_files"; files: number; of: number }
  /** Tracking failed; files are still looked at before each call. */
  | { type: "tracking_failed"; problem: string }
  /**
   * A file or folder of this machine does not answer, such as a mount whose server is gone. What is known of what it holds stands, and
   * it is looked at again later.
   */
  | { type: "disk_silent"; path: string }
  /** It answers again. */
  | { type: "disk_answers"; path: string }
  /**
   * Little of the host's list stays from call to call: something changes it from the message at index `at` on, and what stands behind
   * that can neither be cached nor left out for less. `by`: the kind of that message as the extension names it, if it does. Once.
   */
  | { type: "list_changes"; at: number; by: string | null }
  /** The host's list does not continue the one before, from the message at index `at` on. */
  | { type: "host_rewrote"; how: "branch" | "compaction" | "rearranged" | "edited"; at: number }
  /**
   * Another process works on the same session, so one of the two goes on as a session of its own, `id`: this one where it is `own`, else
   * the other, whose messages do not come here.
   */
  | { type: "session_split"; id: string; own: boolean }
  /**
   * The provider's reports of usage are no measure of the requests: it reports nothing (`none`), the same for requests of different sizes
   * (`constant`), what no count of them can be (`implausible`), or never anything from its cache (`uncached`). Said once in a session.
   * Figures and decisions rest on our own count.
   */
  | { type: "usage_ignored"; why: "none" | "constant" | "implausible" | "uncached" }
  /** The message at index `at` changes at every call: it passes through, and provider caches end before it. */
  | { type: "message_volatile"; at: number };
