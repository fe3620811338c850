// Recorded calls, and a session over time.

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
  /** Tokens of the request by kind of content. */
  kinds: TokensByKind;
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

/** Calls that showed an object in the same way. */
export interface ShownRun {
  /** Number of the first. */
  from: number;
  /** Number of the last. */
  to: number;
  /** As `shown.as` of `MessageAbout`. */
  as: "given" | "current" | "excerpt" | "reread" | "reference";
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
