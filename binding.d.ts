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

/**
 * An epoch: the tokens that it freed, what its start cost, and what it has saved since, minus that cost, until the plain host would have
 * compacted away what it freed.
 */
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

/** What a session cost, in short. Costs as in `Ledger`. `window`: tokens of the newest request, and of the plain host's. */
export interface SessionBill {
  bill: number;
  plainBill: number;
  dollars: LedgerDollars | null;
  faults: number;
  window: { ours: number; plain: number } | null;
}

/** A price table, in multiples of the price of one uncached input token; see the README. */
export interface PriceTable {
  read: number;
  write: number;
  reuse?: "anyPrefix" | "breakpoints";
  lifetimeSeconds?: number | null;
  tiers?: { aboveTokens: number; read: number; write: number }[];
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

/** The result of indexing. */
export interface IndexReport {
  /** The files, in the order in which they were found; deleted ones last. */
  files: Array<IndexedFile>;
  /** Paths that could not be read, are missing, or are not UTF-8. */
  failed: Array<PathProblem>;
  /** Paths left out on purpose: symbolic links, FIFOs, sockets, devices, and forgotten files. */
  skipped: Array<PathProblem>;
}

/** A path that was not indexed. */
export interface PathProblem {
  /** The path, with replacement characters where it is not UTF-8. */
  path: string;
  /** What is wrong, for people. */
  problem: string;
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

/** Kinds of relations: references to the latest or to a pinned version, tool calls of a chat, links, tags, aliases. */
export type RelationKind = "dynamic" | "static" | "call" | "wikilink" | "markdown" | "external" | "tag" | "alias";

/**
 * Whether a relation's target was found. `missing`: the store has no such object or version. `mismatch`: the version has another hash
 * than the pinned one. `no_part`: the object lacks the heading, block or lines. `unresolved`: the store has no file in the vault that
 * the link fits, and no object that it names. `ambiguous`: it names several. `none`: the relation leads to no object.
 */
export type TargetState =
  | "found"
  | "missing"
  | "forgotten"
  | "mismatch"
  | "no_part"
  | "unresolved"
  | "ambiguous"
  | "none";

/** The objects that were reached. */
export interface Expanded {
  /** Nearest first. Each version occurs once for each of its parts that relations name. */
  nodes: Array<ExpandedNode>;
  /** Whether more nodes than `limit` were reached. */
  more: boolean;
}

/** An object that was reached, or a target that is not an object. */
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
   * Of a link that several files fit, the others, best first. Of an ambiguous one, the objects that it names. Of an unresolved link,
   * files that have its target as an alias.
   */
  candidates: Array<LinkCandidate>;
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
  /** Such as `w12`, or `g3` for what is global: unique in all that waits for one project. */
  id: string;
  /** The scope that it is for. */
  scope: MemoryScope;
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

/** What a flush did in one folder, whose scope it names; see `Memory.flush`. */
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

/** What a person should know of a memory file. */
export interface MemoryWarning {
  /** Stable code in upper snake case. */
  code: string;
  /** The file or folder; empty if it is about none. */
  path: string;
  /** What is wrong, in words that follow the path. */
  problem: string;
}

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

/** What an item of a chat has in the place of an output: a version by its `contentHash`, and the first and last of the lines shown. */
export interface ItemContent {
  object: string;
  version: string;
  lines?: [number, number];
}

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

/** The result of a put. */
export interface PutResult {
  /** Whether a version was written; false if the latest one is equal. */
  written: boolean;
  /** The latest version. */
  version: Version;
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
  /** Code of the error for which the index could not be written, such as `NO_SPACE`; else null. */
  unwritten: string | null;
  /** Which outputs of tool calls were searched by their text; those that `gc` left out are found by tool and arguments alone. */
  outputs: "all" | "some" | "none";
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

/** A transaction and its time. */
export interface TransactionTime {
  /** Number in this store. */
  txId: number;
  /** RFC 3339. */
  time: string;
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
  /** Host name of the machine with that store; null for this store, or if it is not known. */
  machine: string | null;
  /** Who works there; null for this store, or if it is not known. */
  author: string | null;
}

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
  /** What the provider counted, if the transcript says it; `cost` of the input, in uncached input tokens. */
  recorded?: { tokens: number; output: number; hidden: number; cost: number };
  /** US dollars for a million uncached input tokens, by what the transcript says that the call cost, else by the list price of its model. */
  usdPerMillion?: number;
  /** What tells the answer from others: the IDs of its calls, a number of its text, and its time. Undefined where that is not enough. */
  answer?: string;
}

/** A session that `replayFile` can play. */
export interface FoundSession {
  /** The file, or `FILE#SESSION` for a session of a database. */
  path: string;
  /** The name of its transcript. */
  name: string;
  /** Why it is not a session; only where `findSessions` was asked for such files, and never of a session. */
  problem?: string;
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
  /** The form of the file, such as `claude-code`, and the session's own ID, if the file has one. */
  format: string;
  session?: string;
  /** The ID of the session whose history it begins with, if the file says so. */
  forkedFrom?: string;
  /** What the file holds by its own marks, without sub-agents; the parts of it on branches that were left, and that failed or whose calls have no result; and what was read. */
  held: ReplayCounts;
  left: ReplayCounts;
  interrupted: ReplayCounts;
  read: ReplayCounts;
  /** Requests that stand in another transcript of the same report as well, and count there. */
  copied: number;
  /** Lines, but for a torn last one, that cannot be read, and may have held anything. */
  unreadLines: number;
  recorded: RecordedRequests;
  series: ReplayedCall[];
}

/** Requests to a model, and calls of tools in its answers. */
export interface ReplayCounts {
  requests: number;
  calls: number;
}

/**
 * What a transcript records of its requests. `tokens`, `output` and `cost` (input, in uncached input tokens) are what the provider counted
 * for `requests` of them, `plainTokens` is our estimate of the same: all other tokens of a replay are by our count, and `scale` of the
 * provider's are one of ours. `prices`, `window` (by our count) and `fixedTokens` (system prompt and tools) are what was used;
 * `hiddenTokens` are those of thinking without text.
 */
export interface RecordedRequests {
  /** The model of most answers. */
  model: string | null;
  prices: string;
  /**
   * US dollars for a million uncached input tokens: on average over the requests, each by what the file says that it cost, else by the
   * list price of its model. Null if one has neither.
   */
  usdPerMillion: number | null;
  /** Tokens of the largest request, if the host compacted. */
  compactedAt: number | null;
  scale: number;
  window: number | null;
  fixedTokens: number;
  hiddenTokens: number;
  requests: number;
  tokens: number;
  plainTokens: number;
  output: number;
  cost: number;
  /** Time of the first and of the last message in ms, if known. */
  from: number | null;
  to: number | null;
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
  layout: NonNullable<ReplayOptions["layout"]>;
  prices: string;
  window: number | null;
  tokens: "characters" | "bundled";
  overheadTokens: number;
  files: ReplayedFile[];
  sum: ReplaySum;
}

/** How likely a call needs an output or a step: the contents of `hazards.json` and of the file that the setting `hazards` names. */
export interface Hazards {
  version: 3;
  /** What they are learned from: sessions, their calls, and how well each model tells what is needed from the rest. */
  learned: { sessions: number; calls: number; outputs: HazardQuality; steps: HazardQuality };
  /** Weights of the logarithm of the chance that a call needs an output, by the names of features (docs/policy.md, *Learned weights*). */
  outputs: Record<string, number>;
  /** The same for a step. */
  steps: Record<string, number>;
}

/** Quality of weights: the number of `needs` that they are learned from, and the area under the ROC curve (0.5: chance, 1: perfect). */
export interface HazardQuality {
  needs: number;
  auc: number | null;
}

/** The result of learning. */
export interface LearnedHazards {
  hazards: Hazards;
  /** Files that are no transcripts. */
  skipped: { file: string; problem: string }[];
}

/** A session as its host names it. */
export interface HostSession {
  /** Host: `pi`, `openclaw`, ... */
  harness: string;
  /** The host's own session ID. */
  hostSession: string;
}

/** What a host shall do that is about to compact; see `Session.answerCompaction`. */
export type CompactionAnswer = { action: "host" } | { action: "cancel" } | { action: "summary"; summary: string };

/** JSON schema of a tool's arguments. */
export interface ToolSchema {
  type: "object";
  properties: Record<string, { type: string; description?: string }>;
  required: string[];
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

/** An object that a name means in a session. */
export interface FoundObject {
  /** Its ID in the store, with the version that the name names: `ID@12`. */
  name: string;
  /** Its handle in the session; null for a file that the session did not meet. */
  handle: string | null;
  /** The lines that the name names; null for all. */
  lines: string | null;
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

/** An object as a session met it. */
export interface MetObject {
  /** Its ID in the store. */
  id: string;
  /** `contentHash` of each version that the session met, oldest first. */
  versions: Array<string>;
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
  /** Whether something of it waits to be sent to the shared store of the settings. */
  waits: boolean;
  /** Host name of the machine where it was written last; null for this store, or if it is not known. */
  machine: string | null;
  /** Who works there; null for this store, or if it is not known. */
  author: string | null;
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
  /** Files and outputs met. */
  indexedObjects: number;
  /** Those of them that are files of which only the name is known, as of a listing. */
  namedFiles: number;
  /** Pinned objects whose content stands in the window. */
  pinnedObjects: number;
  /** Files and folders that do not answer: what is known of what they hold stands, and they are looked at again later. */
  silentPlaces: Array<string>;
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
  thrift: "careful" | "balanced" | "thrifty";
  faultTokens: number;
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
  shareAs: string | null;
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

/** What `checkSettings` makes of a host's settings. */
export interface CheckedSettings {
  /** Those that count. */
  settings: Partial<Settings>;
  /** What is wrong with the others, each with its key. */
  problems: Array<string>;
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

/** An answer of a person. */
export interface TrustedProject {
  /** The project's real path. */
  path: string;
  /** Whether they trust it. */
  trusted: boolean;
  /** When they said so, in RFC 3339. */
  at: string;
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
  /** Versions among them that it had acknowledged once, and lost. */
  again: number;
  /** Versions that it had already. */
  present: number;
  /** Objects that were forgotten here, and now there. */
  forgotten: number;
  /** What stays here, and why. */
  leftOut: Array<LeftOutOfImport>;
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
  /** Host name of the machine with that store; null for this store, or if it is not known. */
  machine: string | null;
  /** Who works there; null for this store, or if it is not known. */
  author: string | null;
}

/** A machine that shares. */
export interface SharingMachine {
  /** ID of its store. */
  storeId: string;
  /** Its host name. */
  machine: string;
  /** Who works there: its setting `shareAs`, or the `user.name` of git; null if neither is set. */
  author: string | null;
  /** When it last wrote to the shared store, in RFC 3339, UTC, to the second. */
  seen: string;
  /** Transactions of others that it had not fetched: of this machine now, of others when they last said so. */
  behind: number;
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

/** That a shared store lost what it had acknowledged: it was put back from a backup, or another one is at its address. */
export interface SharingRestored {
  /** When that was noticed, in RFC 3339, UTC. */
  noticed: string;
  /** Whether another store, without anything of it, was at the address. */
  isOther: boolean;
  /** Versions sent again so far. */
  versions: number;
  /** When all was there again, in RFC 3339, UTC; null before that. */
  done: string | null;
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
  /** The last time that the shared store had lost something; null if it never had. */
  restored: SharingRestored | null;
  /** Whether sessions are shared too. */
  sessions: boolean;
}

/** An object whose latest version is another than before an import. */
export interface ChangedLatest {
  /** ID of the object. */
  id: string;
  /** Its type. */
  type: string;
  /** Path of a file; absent for other objects. */
  path?: string;
  /** When the version that was the latest was first written, in milliseconds since 1970. */
  before: number;
  /** When the version that is the latest now was first written, in milliseconds since 1970. */
  after: number;
  /** ID of the store that wrote it first. */
  storeId: string;
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
  /** Only what was written after this transaction was checked; absent if all was. */
  since?: number;
  /** Counts of what was checked. */
  checked: DoctorChecked;
  /** How large the store is, and how it grows; absent if that cannot be read. */
  growth?: Growth;
  /** The first 200 problems, in the order in which they were found. */
  findings: Array<DoctorFinding>;
  /** Number of further problems. */
  moreFindings: number;
}

/** How large a store is, and how it grows. */
export interface Growth {
  /** Bytes of the file and its log; 0 in memory. */
  fileBytes: number;
  /** About how many of these came in the last 30 days: the share of their versions. */
  recentBytes: number;
  /** Sessions. */
  sessions: number;
  /** Of these, sessions that were last written 180 days ago or earlier. */
  unusedSessions: number;
}

/** How far work on a store's own file is. */
export interface StoreProgress {
  /** What is being done: an import checks the whole archive first. */
  stage: "exporting" | "checking" | "importing";
  /** Versions written, lines or contents, versions and objects checked, or transactions imported. */
  done: number;
  /** All of them; null if that is not known. */
  of: number | null;
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
  /** Versions whose text or messages are not what was written, and of a session with such a chat, with the reason `damaged`. */
  leftOut: Array<LeftOutOfImport>;
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
  /** Whether more objects may hold lines: a line that stands in 64 of those listed is not looked for any further. With `everywhere`, never. */
  moreHolders: boolean;
  /** Distinct lines that are removed. */
  lines: number;
  /** Distinct lines that are kept because they are common. */
  commonLines: number;
  /** Distinct lines that were not looked for in unrelated objects, since no index has them: data. With `everywhere`, none. */
  unsearchedLines: number;
  /** Sessions whose hosts still hold the text in files of their own. */
  hosts: Array<HostSession>;
  /** The garbage collected afterwards; absent in a dry run. */
  collected?: Garbage;
}

/** A copy of a store that `backup` made. */
export interface Backup {
  /** The newest transaction in it. */
  txId: number;
  /** Its versions. */
  versions: number;
  /** Bytes of the file. */
  bytes: number;
}

/** What was dropped from a store's files, or would be in a dry run. */
export interface Garbage {
  /** Contents that no version refers to. */
  contents: number;
  /** Their UTF-8 bytes. */
  contentBytes: number;
  /** Bytes of the file and its log before. */
  bytesBefore: number;
  /** Bytes of both afterwards; in a dry run, an upper bound, without what `searchOutputs: true` adds to the search index. */
  bytesAfter: number;
  /** Whether dropped text stays in the files until the next `gc`, because a process is still reading an older state. */
  waitsForReaders: boolean;
  /**
   * Whether free pages of the file stay, and may still hold dropped text, until `gc` runs while nobody else has it open: it is one
   * of an earlier version, or others freed pages all the while.
   */
  waitsToBeAlone: boolean;
  /** Bytes of the file that the search index takes; only in a dry run. */
  searchBytes?: number;
  /** What goes with the sessions that nobody went on with; absent without `unusedDays`. */
  aged?: Aged;
}

/** What goes with sessions that nobody went on with. */
export interface Aged {
  /** Number of these sessions. */
  sessions: number;
  /** Sessions that are as old, but stay: they have a nickname, or one that stays refers to them. */
  kept: number;
  /** Objects that go: the sessions' documents, their tool calls, files that only they know. */
  objects: number;
  /** UTF-8 bytes of what these hold, before compression. */
  textBytes: number;
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

/** Something in an archive that was not imported. */
export interface LeftOutOfImport {
  /** ID of the object. */
  id: string;
  /** Path of a file, if it is among the first 50. */
  path?: string;
  /** The reason. */
  reason:
    | "forgotten"
    | "other_object"
    | "unknown_type"
    | "redacted_here"
    | "without_items"
    | "excluded"
    | "parted"
    | "ahead"
    | "damaged"
    | "nickname_taken"
    | "nickname_mistakable"
    | "nickname_without_object";
  /** The reason in words. */
  detail: string;
  /** Number of versions left out; 0 for a nickname. */
  versions: number;
}

/** A session of an archive that is stored under an ID of its own. */
export interface PartedSession {
  /** ID of the session, in the archive and here. */
  id: string;
  /** ID under which the archive's is stored. */
  storedAs: string;
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

/**
 * Which binding artifact the generated loader actually loaded: `'native'` for
 * a native addon, otherwise the `platformArchABI` of the WASI flavor. Every
 * flavor napi-rs can build is listed, because `NAPI_RS_NATIVE_LIBRARY_PATH`
 * can point the loader at a WASI artifact this package does not build itself.
 */
export declare const __napiBindingTarget: 'native' | 'wasm32-wasi' | 'wasm32-wasip1'

/** Maintenance of a store: checks, archives, forgetting, garbage collection, statistics. See `Store.maintenance`. */
export declare class Maintenance {
  /**
   * Writes an archive of the whole store, a session, or an object. `docs/archive-format.md` describes the format.
   *
   * Rejects with `INVALID_ARGUMENT`, `NOT_FOUND`, `FILE`, `CLOSED`, and with `HASH_MISMATCH` or `STORE_CORRUPT` if the store is
   * damaged.
   */
  exportArchive(options: ExportArchiveOptions, onProgress?: (progress: StoreProgress) => void): Promise<ExportedArchive>
  /**
   * Copies the whole store into a file that only its user may read, as it is at one moment, and checks the copy before it is put in
   * its place. Sessions may go on meanwhile. Put in the place of a store, it goes on from there.
   *
   * Rejects with `INVALID_ARGUMENT`, `NOT_PRIVATE`, `FILE`, `CLOSED`, and with `STORE_CORRUPT` if the store is damaged.
   */
  backup(path: string): Promise<Backup>
  /**
   * Imports the versions of an archive that the store does not have. The whole archive is checked first; if a line is wrong,
   * nothing is written. Versions that the store has are not changed. After an interruption, import the archive again.
   *
   * The latest version of an object is then the one that was first written last; `changed` lists those of which that is another
   * than before. A session that went on here in another way stays as it is, and the archive's becomes one of its own. Text of
   * files that the setting `exclude` names is left out, and so is what was forgotten here. A version from the future makes the
   * archive invalid.
   *
   * Rejects with `MALFORMED_ARCHIVE`, `ARCHIVE_EXPANDS`, `INVALID_ARGUMENT`, `FILE`, `CONFLICT`, `NO_SPACE`, `CLOSED`.
   */
  importArchive(options: ImportArchiveOptions, onProgress?: (progress: StoreProgress) => void): Promise<ImportedArchive>
  /**
   * Checks everything in the store as of its newest transaction: every hash, list, nickname and pinned reference, and SQLite's own
   * checks. Only reads, and works while the store is in use. Takes time in proportion to the store's size.
   *
   * Rejects with `CLOSED`.
   */
  doctor(): Promise<DoctorReport>
  /**
   * Forgets the object with the ID `target`: removes its contents, fields, items and nicknames, and its text in call records and
   * chats that refer to it. It is never stored again. Without `dryRun: false`, only reports what would happen.
   *
   * Of a session or a chat, the whole session is forgotten, with chat, system prompt and tool calls. Files that only this session
   * knew lose their texts, but may be stored again.
   *
   * Others may write meanwhile: it works in turns of some milliseconds. If it is broken off, doing it again finishes it.
   *
   * Rejects with `NOT_FOUND`, `NO_SPACE`; with `NO_ANSWER` after a minute in which somebody read an older state, and so kept the log
   * from starting over at 256 MB.
   */
  forget(target: string, options?: ForgetOptions | undefined | null): Promise<ForgetReport>
  /**
   * Drops contents that nothing refers to, shrinks the file and empties its log. Every version of every object stays, but of sessions
   * that `unusedDays` asks to drop. Without `dryRun: false`, only reports what would be dropped.
   *
   * Others may write meanwhile: it works in turns of some milliseconds. A file of an earlier version is written anew once, which
   * needs as much space again. Rejects with `NO_SPACE`; with `NO_ANSWER` as `forget` does: doing it again goes on.
   */
  gc(options?: GcOptions | undefined | null): Promise<Garbage>
  /** Counts objects and measures the file. Reads every page of it. */
  stats(): Promise<StoreStats>
}

/** The memory of one user in one project. Its files are read when a method is called; what did not change is not read again. */
export declare class Memory {
  /** The pages, in the order in which the model reads them: by scope, file and line. */
  pages(): Promise<Array<MemoryPage>>
  /**
   * What the system prompt is to say of memory, for a harness without a session: it changes whenever memory does. Resolves to null
   * where memory is off. With a session call `Session.memorySection`.
   */
  section(): Promise<MemorySection | null>
  /**
   * Whether a tool call writes a file of memory that may be looked at, however it spells the path and whatever links lead there.
   *
   * `args`: those of the call. `cwd`: the working folder, from which relative paths count. Rejects with `INVALID_ARGUMENT`.
   */
  isWrittenBy(tool: string, args: unknown, cwd: string): Promise<boolean>
  /**
   * Whether a tool call writes one of these files, or into one of these folders, but no file of memory that may be looked at: for what a
   * conversation with others must not write. Links are followed.
   *
   * `places`: absolute paths. The rest as in `isWrittenBy`. Rejects with `INVALID_ARGUMENT`.
   */
  isWrittenBeside(tool: string, args: unknown, cwd: string, places: Array<string>): Promise<boolean>
  /**
   * Reports a finished tool call: it may have read pages again that had left the system prompt, or have been made before. Call it for
   * every call of the host.
   *
   * Rejects with `INVALID_ARGUMENT`.
   */
  observe(call: ObservedToolCall): Promise<void>
  /** Reports that the host compacted the conversation. */
  compacted(): Promise<void>
  /** The six memory faults with their numbers, in this session and in the traces. */
  faults(): Promise<Array<MemoryFaultCount>>
  /** The traces of decisions and memory faults, the newest first. The oldest go where they take too much room. */
  traces(): Promise<Array<MemoryTrace>>
  /**
   * The trace with an ID, or with the only one that begins so.
   *
   * Rejects with `NO_TRACE`.
   */
  trace(id: string): Promise<MemoryTrace>
  /** Pages that a person may want to look at: those whose cited files changed first, then the oldest. Changes nothing. */
  stale(): Promise<Array<StalePage>>
  /** Brings what is known of the pages up to date, and lists those whose cited files changed, with what changed. */
  verify(): Promise<Array<StaleReport>>
  /**
   * Confirms a page: it counts as written today, with the files that it cites as they are now. `id`: its ID, or the beginning of only
   * its. Resolves to the ID.
   *
   * Rejects with `NO_PAGE`.
   */
  confirm(id: string): Promise<string>
  /**
   * Confirms all marked pages that cite a file. Resolves to their IDs.
   *
   * `file`: its path as in `CitedFile`.
   */
  confirmAllOf(file: string): Promise<Array<string>>
  /** What there is of memory: settings, scopes with their files, pages, and how much of it the model has. Changes nothing. */
  overview(): Promise<MemoryOverview>
  /**
   * Stages an entry of a scope's index: it is on the disk when this resolves, and in the index after the next flush. `findings`: what
   * a flush would find about it now.
   *
   * `heading`: the heading that it goes under. Default: what the text suggests.
   *
   * Rejects with `SECRET` if the text looks like it holds one, and nothing is written; `INVALID_ARGUMENT` if it is empty or too long, or
   * the scope may not be written; `MEMORY_BUSY`, `OUTSIDE_PROJECT`, `FILE`, `NO_ANSWER`.
   */
  remember(scope: MemoryScope, text: string, heading?: string | null): Promise<RememberedEntry>
  /**
   * Checks and writes what waits in each folder, and ends flushes that were interrupted. Folders in which there was nothing to do are
   * left out. Never rejects because of a folder: `failed` says why nothing could be done there, and what waits goes on waiting; but with
   * `NO_ANSWER` if a disk does not answer.
   */
  flush(): Promise<Array<MemoryFlush>>
  /** The session ends, after its last flush: what is staged and has no reason to wait is a flush miss. Writes what is known of pages. */
  ended(): Promise<void>
  /** What waits in each folder: for a flush, or for a person's word. Folders in which nothing waits are left out. */
  waiting(): Promise<Array<MemoryWaiting>>
  /**
   * Accepts a proposal, which the next flush then writes. `scope`: of its folder; the ID says it as well. Resolves to the scope that it is
   * for.
   *
   * Rejects with `NO_OPERATION`, or as `remember`.
   */
  accept(id: string, scope?: MemoryScope | null): Promise<MemoryScope>
  /** Turns a proposal down, or takes back an entry that waits. As `accept`. */
  withdraw(id: string, scope?: MemoryScope | null): Promise<MemoryScope>
  /**
   * Looks at what other programs remember: Claude Code's memory of the project, or notes that people wrote for it. Only says what it would
   * take, unless `apply` is true: then that is staged, and the next flush writes it. Nothing of theirs is changed.
   *
   * Rejects with `INVALID_ARGUMENT`, with `FILE` if there is nothing at `path`; with `apply` also as `remember`.
   */
  importFrom(options?: MemoryImportOptions | null): Promise<MemoryImport>
  /** The conversations with others, such as groups, that have memory of their own, by name. Only memory of the user's own lists them. */
  conversations(): Promise<Array<MemoryConversation>>
  /**
   * Takes over what a conversation with others remembers, as `importFrom` does it.
   *
   * `conversation`: its name, the end of it after a `:`, or its ID. Rejects with `UNKNOWN_NAME`, `AMBIGUOUS_NAME` and as `importFrom`.
   */
  takeFrom(conversation: string, options?: MemoryTakeOptions | null): Promise<MemoryImport>
  /** The model that the user named in `captureModel` to propose entries; null: nothing is to be proposed. */
  captureModel(): Promise<MemoryCaptureModel | null>
  /**
   * What to ask that model about a conversation; null where too little was said. The host makes the request, with this as its one message,
   * and gives the answer to `propose`.
   *
   * `messages`: as the host has them, oldest first. Rejects with `INVALID_ARGUMENT`.
   */
  capturePrompt(messages: unknown[]): Promise<string | null>
  /**
   * Proposes what a model answered: it waits until a person accepts it. Resolves to what was new and is proposed now.
   *
   * Rejects as `remember`.
   */
  propose(answer: string): Promise<Array<RememberedEntry>>
  /**
   * Everything that a person should know of the files as they stand: what cannot be read, wrong settings, secrets, sizes, entries that
   * double or contradict each other, damaged journals.
   */
  check(): Promise<Array<MemoryWarning>>
  /**
   * Why a host's call must not run: it would put a secret into a memory file. Null for everything else.
   *
   * `args`: those of the call. `cwd`: the working folder, from which relative paths count. Rejects with `INVALID_ARGUMENT`.
   */
  checkWrite(tool: string, args: unknown, cwd: string): Promise<string | null>
  /**
   * What the model should know of the memory files that a call wrote: entries that double or contradict others, sizes, wrong settings.
   * Null if there is nothing. Arguments as in `checkWrite`.
   */
  explainWrite(tool: string, args: unknown, cwd: string): Promise<string | null>
  /**
   * Finds what memory says about something: entries, topic files, the archive, and where `sessions` is set the chats of past sessions
   * in `store`. Words, `"phrases"`, `-excluded` words, `prefix*`, and plain questions. Never rejects because something could
   * not be searched: `reason` says so.
   */
  recall(query: string, options?: RecallOptions | null, store?: Store | null): Promise<RecallAnswer>
}

/** The native side of a session. Not part of the package's API: `Session` of `index.d.ts` wraps it. */
export declare class Session {
  /**
   * Resolves to an answer as `Session.answerCompaction` of `index.d.ts` gives it. `messages`: the whole list, as for `transform`.
   * `call`: what the next call would be made with, JSON.
   */
  answerCompaction(messages: Array<string | Array<string>>, call: string, compaction: HostCompaction): Promise<CompactionAnswer>
  /** See `Session.recordUsage` of `index.d.ts`. */
  recordUsage(report: UsageReport): Promise<void>
  /** See `Session.ledger` of `index.d.ts`. */
  ledger(): Promise<Ledger>
  /** See `Session.memorySection` of `index.d.ts`. */
  memorySection(memory: Memory, call: string): Promise<MemorySection | null>
  /** See `Session.memoryChanged` of `index.d.ts`. */
  memoryChanged(memory: Memory, toolCallId?: string | undefined | null): Promise<void>
  /**
   * Sends the messages of a list that are new and a result that comes behind them; resolves to `{ content }`, as JSON, null to show
   * it as it is, or to `{ resend: true }`, after which the whole list has to be sent. `since`, `skip`, `messages`: as for
   * `transform`.
   */
  showResult(since: number | undefined | null, skip: number, messages: Array<string | Array<string>>, result: NewToolResult): Promise<string>
  /** See `Session.continueFrom` of `index.d.ts`. */
  continueFrom(session: string): Promise<Continuation>
  /** See `Session.commitTurn` of `index.d.ts`. `messages`: as for `transform`. */
  commitTurn(key: string, messages: Array<string | Array<string>>): Promise<"committed" | "duplicate">
  /** See `Session.id` of `index.d.ts`. */
  get id(): string
  /**
   * Sends the messages of a list that are new and resolves to the answer, as JSON: `{ call, edits, events }`, or
   * `{ resend: true }`, after which the whole list has to be sent.
   *
   * `since`: the `call` of the answer that the caller applied last; null if it holds none. `skip`: messages at the front that
   * are the same as in that call. `messages`: the others, each as `lib/long-texts.js` gives it. `call`: what the call is made with, JSON.
   */
  transform(since: number | undefined | null, skip: number, messages: Array<string | Array<string>>, call: string): Promise<string>
  /** Sends the request to the provider, as JSON; resolves to the changes to make in it, a JSON Patch (RFC 6902). */
  preparePayload(payload: string): Promise<string>
  /** See `Session.recordToolCall` of `index.d.ts`. */
  recordToolCall(call: ToolCallReport): Promise<void>
  /** See `Session.checkWrite` of `index.d.ts`. */
  checkWrite(toolName: string, args: unknown): Promise<string | null>
  /** See `Session.explainFailedEdit` of `index.d.ts`. */
  explainFailedEdit(args: unknown): Promise<string | null>
  /** See `Session.recordFailedCall` of `index.d.ts`. */
  recordFailedCall(reason: string): void
  /** See `Session.met` of `index.d.ts`. */
  met(name: string): Promise<MetObject>
  /** See `Session.find` of `index.d.ts`. */
  find(name: string): Promise<FoundObject>
  /** Whether our tools have a prefix in the session; `taken`: names of the host's other tools. */
  prefixTools(taken: string[]): Promise<boolean>
  /** See `Session.leavePool` of `index.d.ts`. */
  leavePool(name: string): Promise<string>
  /** See `Session.enterPool` of `index.d.ts`. */
  enterPool(name: string): Promise<string>
  /** Files checked so far and in all, while a check of the files that the session knows runs; else null. */
  filesChecked(): [files: number, of: number] | null
  /** See `Session.mountNotices` of `index.d.ts`. */
  mountNotices(): Promise<string[]>
  /** See `Session.status` of `index.d.ts`. */
  status(): SessionStatus
  /** See `Session.sharing` of `index.d.ts`. */
  sharing(): Promise<SharingStatus | null>
  /** See `Session.close` of `index.d.ts`. */
  close(): Promise<void>
  /** Whether something waits to be sent to the shared store that nothing in this process sends any more: after `close`. */
  leaves(): Promise<boolean>
  /** See `Session.sets` of `index.d.ts`. */
  sets(): Promise<SessionSets>
  /** See `ContextTool.execute` of `index.d.ts`; resolves to its answer, as JSON. */
  executeTool(tool: string, toolCallId: string, args: unknown): Promise<string>
}

/** A store in XTDB that several machines share, beside a store of one's own. Nothing reaches the network before a method that says so. */
export declare class SharedStore {
  /**
   * What this store knows of how it stands with the shared one. Does not ask the server.
   *
   * Rejects with `CLOSED` and with what the store reports.
   */
  status(): Promise<SharingStatus>
  /**
   * The same, having asked the server. What is wrong with that is the `error` of the answer.
   *
   * Rejects as `status`.
   */
  look(): Promise<SharingStatus>
  /**
   * Asks the server what it is, and for the time. Writes nothing there, and needs no database that is ours.
   *
   * Rejects with `XTDB_UNAVAILABLE`, `XTDB_REFUSED`, `XTDB_FOREIGN`, `XTDB_FAILED`, `XTDB_ANSWER`, `INVALID_ARGUMENT`, and with
   * `NOT_PRIVATE` or `FILE` for the token's file.
   */
  server(): Promise<SharedServer>
  /**
   * Sends what waits here: files, and sessions where they are shared. What the shared store has already is not sent again.
   *
   * Rejects as `server`, with `XTDB_DOCUMENT`, and as `status`. What was sent before an error stays there.
   */
  push(onProgress?: (progress: SharingProgress) => void): Promise<PushReport>
  /**
   * Fetches what others sent.
   *
   * Rejects as `push`. What was fetched before an error stays here.
   */
  pull(onProgress?: (progress: SharingProgress) => void): Promise<PullReport>
  /**
   * Sends one session, whole, without what looks like a secret, whatever the settings say of sessions. `name`: as for
   * `Store.findSession`.
   *
   * Rejects as `push`, and as `Store.findSession`.
   */
  pushSession(name: string): Promise<PushReport>
  /**
   * Fetches a session that somebody sent, with all objects that it refers to. `name`: its ID, with or without `session:`, or the
   * host's session ID.
   *
   * Rejects as `push`, and with `UNKNOWN_NAME` and `AMBIGUOUS_NAME`.
   */
  pullSession(name: string): Promise<PullReport>
  /**
   * Fetches sessions that others sent: with `new` those that are not here yet, with `all` also what was added to those that are.
   *
   * Rejects as `push`. What was fetched before an error stays here.
   */
  pullSessions(which: 'new' | 'all', onProgress?: (progress: SharingProgress) => void): Promise<PullReport>
  /**
   * Lists the sessions that the shared store has, those written last first.
   *
   * Rejects as `push`.
   */
  sessions(): Promise<SharedSession[]>
  /**
   * Lists the machines that share, those seen last first.
   *
   * Rejects as `push`.
   */
  machines(): Promise<SharingMachine[]>
  /**
   * Sends what a session left that ended: tries for so many seconds, or until nothing waits.
   *
   * Rejects as `push`, but not with `XTDB_UNAVAILABLE`.
   */
  finish(seconds: number): Promise<void>
}

/** A store of versioned objects: a SQLite file, which any number of processes can share. */
export declare class Store {
  /**
   * Renders what the model saw at a call again and checks it against the recorded hash.
   *
   * `session`: as in `findSession`.
   *
   * Rejects as `findSession`, with `NOT_FOUND` if there is no such call, and with
   * `HASH_MISMATCH` if the store no longer gives what was sent.
   */
  recordedCall(session: string, options?: CallOptions): Promise<RecordedCall>
  /**
   * A call as `recordedCall` has it, beside the call before or beside what the plain host would have sent.
   *
   * `session`: as in `findSession`. Rejects as `recordedCall`.
   */
  comparedCall(session: string, options?: ComparisonOptions): Promise<ComparedCall>
  /**
   * Calls one after another, each beside the call before and beside what the plain host would have sent: what `comparedCall` gives,
   * without reading the session anew for each. A call that cannot be read is an error in its place; behind the newest call there are
   * none.
   *
   * `session`: as in `findSession`. Rejects as `findSession`, with `NOT_FOUND` if it made no call, and with `INVALID_ARGUMENT` if
   * `count` is above 1000.
   */
  comparedCalls(session: string, options: CallRange): Promise<(CallBesideBoth | CallFailure)[]>
  /**
   * Compares what the model saw at two calls of a session, message by message, from call `from` to call `to`.
   *
   * Rejects as `recordedCall`.
   */
  compareCalls(session: string, from: number, to: number): Promise<CallChange[]>
  /**
   * Lists the relations from an object to others, first those in its fields and text, then those in its items. Reads metadata only.
   *
   * A link resolves to a file in the store, in the vault of the linking file: the nearest folder above it with a `.obsidian`, else
   * with a `.git`, else the folder that was given to `index`, else the one that the file is in. Rejects with `UNKNOWN_NAME`, `AMBIGUOUS_NAME`, and with `NOT_FOUND` if the
   * object had no version at that time.
   */
  links(name: string, options?: LinksOptions | undefined | null): Promise<ObjectLink[]>
  /**
   * Lists the relations from other objects to this one, ordered by the ID of those objects. Reads metadata only.
   *
   * Rejects with `INVALID_ARGUMENT` if the object has no such `part`, and as `find`.
   */
  backlinks(name: string, options?: BacklinksOptions | undefined | null): Promise<ObjectLink[]>
  /**
   * Lists the relations of many objects, in the order of their names: as `links` and `backlinks` of each, but what all of them need is read
   * once. Rejects as these, for the first one of which they do.
   */
  relations(names: string[], options?: LinksOptions | undefined | null): Promise<ObjectRelations[]>
  /**
   * Follows relations from some objects to others, level by level, and lists what they lead to. The same store always gives the
   * same answer. A static reference leads to its version, which is checked against its hash if contents or values are read.
   * Targets that are missing, forgotten or unresolved are listed too.
   */
  expand(options: ExpandOptions): Promise<Expanded>
  /**
   * Stores the files at and under `paths`: text files with their content, binary and large files without it. Unchanged files are
   * not written. A file under `paths` that the store knows and that is gone gets a version without content.
   *
   * Hidden files and those that `.gitignore` names are left out, unless `paths` names them. The settings `maxTextBytes`,
   * `filesystemId` and `exclude` given to `openStore` apply. `onProgress` is called with the number of files done, after every 50.
   *
   * Rejects with `INVALID_ARGUMENT` and with what the store reports. A transaction holds at most 200 files; those that were
   * committed before an error stay.
   */
  index(paths: string[], options?: IndexOptions, onProgress?: (files: number) => void): Promise<IndexReport>
  /**
   * The bill of a session in short, for lists: the same figures as in `ledger`, without reading the whole session again where
   * nothing was written to it.
   *
   * `session`: as in `recordedCall`. Rejects as `ledger`.
   */
  bill(session: string): Promise<SessionBill>
  /**
   * What the calls of a session cost beside the plain host.
   *
   * `session`: as in `recordedCall`. Rejects with `UNKNOWN_NAME`, `AMBIGUOUS_NAME` and `FORGOTTEN`.
   */
  ledger(session: string): Promise<Ledger>
  /** Checks, archives, forgetting, garbage collection and statistics of this store. All of it works while the store is in use. */
  get maintenance(): Maintenance
  /**
   * Resolves a name to the full ID of its object. A name is a full ID, a nickname, a path, or a unique prefix of an ID with at least
   * 8 hexadecimal digits, tried in this order; the nickname of what another store wrote only where no object has the path. A version may
   * follow (`NAME@12`, `NAME@-1`).
   *
   * Rejects with `UNKNOWN_NAME`, and with `AMBIGUOUS_NAME`, whose `candidates` are the first 8 matches.
   */
  find(name: string, options?: NameOptions): Promise<string>
  /**
   * Resolves a handle of a session, such as `t17`, to the full ID of its object. A version and lines behind the handle (`f3@-1:5-9`)
   * stay behind the ID.
   *
   * `session`: as in `recordedCall`. Rejects with `INVALID_ARGUMENT` if `handle` has another form, with `UNKNOWN_NAME` if the
   * session gave no such handle, and as `recordedCall` for the session.
   */
  findHandle(session: string, handle: string): Promise<string>
  /**
   * Gives an object a nickname, and resolves to the object's full ID. A nickname has 1 to 64 characters, no white space, none of
   * `@ / \ [ ] :`, does not look like a handle or an ID, and is not `latest`.
   *
   * Rejects with `INVALID_NICKNAME` if it has another form or belongs to another object, and as `find`.
   */
  name(name: string, nickname: string, options?: NameOptions): Promise<string>
  /**
   * Removes a nickname, and resolves to the full ID of the object that had it.
   *
   * Rejects with `UNKNOWN_NAME` if no object has it.
   */
  unname(nickname: string): Promise<string>
  /**
   * Writes a version of an object, unless the latest one has the same fields, contents and source hash. The items of chats and
   * sessions stay as they are.
   *
   * Rejects with `CONFLICT` if `expected` is not the latest version, even if that is equal; with `FORGOTTEN` if the object was
   * forgotten, `INVALID_ARGUMENT`, and with what the store reports.
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
   * Reads the content of a version, or an additional content, and checks it against its hash; of a chat segment, the words of its
   * messages. Null if there is none.
   *
   * Rejects as `get`; with `INVALID_ARGUMENT` for lines that the text does not have and for an additional content that the
   * version does not have; with `HASH_MISMATCH`.
   */
  content(name: string, options?: ContentOptions): Promise<string | null>
  /**
   * Reads the items of a chat (its messages) or a session (its events), each as the JSON that was stored. Other objects have none.
   *
   * Rejects as `get`; with `INVALID_ARGUMENT` for lines of which there is no item; with `HASH_MISMATCH`.
   */
  items(name: string, options?: ItemsOptions): Promise<string[]>
  /**
   * Lists the versions of an object, newest first. For a file that moved, the versions before the move follow; they belong to another
   * object, whose ID is in the field `moved_from` of the first version after the move.
   *
   * Rejects as `find`.
   */
  history(name: string, options?: NameOptions): Promise<Version[]>
  /**
   * Compares two versions of an object, or two objects, by lines.
   *
   * Rejects as `get`.
   */
  diff(name: string, options?: DiffOptions): Promise<Difference>
  /**
   * Reads the version that a reference points to. `{ id }` points to the latest version. With `content_hash` and `origin` it points
   * to that version, in whatever store it was first written; its payload is checked against the hash. So does what an item of a chat
   * has in the place of an output.
   *
   * Rejects with `NOT_FOUND` if the store does not hold it, and with `HASH_MISMATCH`, naming both hashes.
   */
  resolve(reference: Reference | ItemContent): Promise<Version>
  /** Lists the latest versions of all objects of a type, ordered by ID. */
  list(type: ObjectType, options?: ListOptions): Promise<Version[]>
  /**
   * Finds versions by their metadata, one per object, without reading contents:
   * `tool = bash and args.command contains "cargo test" order by system_time desc limit 20`.
   *
   * A test is a field, then `=`, `!=`, `<`, `<=`, `>`, `>=`, `contains`, `starts_with` or `~` (`*`, `?`, `[a-z]`) with a
   * value, or `in (a, b)`, `exists`, `missing`; `and`, `or`, `not` and parentheses join tests; `order by FIELD [desc]`,
   * `limit N` and `offset N` follow. Without an order the newest versions come first; ties are by ID. Fields: `id`, `type`, `path`, `source.*`, `tx_id`, `system_time`,
   * `origin.store_id`, `origin.tx_id`, `origin.time`, `content_hash`, `source_hash`, `identity_hash`, `has_content`,
   * `item_count`, `redacted.*`, `additional.*`, `forgotten`, `nickname`, `tags` and `front_matter.KEY` of Markdown, and every field of a payload by its path
   * (`args.command`, `tags[0]`, `tags[*]`; odd keys in `"`). A test of a missing field is false, `!=` too. Types that
   * differ are unequal and have no order. A time as a value is a date or RFC 3339.
   *
   * Rejects with `INVALID_ARGUMENT`, naming the column, and with `UNKNOWN_FIELD` for a field that no object has.
   */
  query(query: string, options?: QueryOptions): Promise<Version[]>
  /**
   * Plays the chat of a stored session again, along its branch, as `replayFile` plays a transcript. What the store does not hold of it
   * is a line that says so. Stores nothing.
   *
   * `session`: as in `findSession`. Rejects as that, and with `INVALID_ARGUMENT`.
   */
  replaySession(session: string, options?: ReplayOptions): Promise<ReplayedFile>
  /**
   * Searches contents, paths, tool arguments, messages, notes and nicknames; by default, only the latest versions. Hits are ranked by
   * BM25. A chat segment has no text of its own: the type finds the messages of chats that stand in one. Finds identifiers by their parts (`transformContext`, `tool_call_id`, `src/store/sqlite.rs`), and CJK text.
   *
   * `text` holds words, `"phrases"`, `-excluded` words and `prefix*`. A text that has more of them ranks higher. Finds everything that
   * was committed before the call; what is not indexed yet is indexed first, for as long as `patienceSeconds`.
   *
   * Rejects with `INVALID_ARGUMENT` if `text` holds no word to search for, and with `UNSUPPORTED` if the store has no index.
   */
  search(text: string, options?: SearchOptions): Promise<SearchResults>
  /**
   * Lists the sessions, last written first, without those that made no call or were forgotten.
   *
   * Rejects with `INVALID_ARGUMENT`.
   */
  sessions(options?: SessionsOptions | undefined | null): Promise<SessionInfo[]>
  /**
   * Resolves the name of a session to the ID of its document. A name is that ID with or without `session:`, the host's session
   * ID, a prefix of either, or `latest`: the session with a call that was last written in this store, closing not counted. Of sessions that
   * parted from each other, host ID and prefix mean the one written last, and not a copy that an import made.
   *
   * Rejects with `UNKNOWN_NAME`, with `AMBIGUOUS_NAME`, whose `candidates` are the first 8 matches, and with `FORGOTTEN`.
   */
  findSession(name: string): Promise<string>
  /**
   * Reads what a session knew: its sets with handles, its tool calls, and where its branch ends. `options.at`: when; default: now.
   * Takes time in proportion to its events before that.
   *
   * `session`: as in `findSession`. Rejects as that, and with `NOT_FOUND` if there was no such session then.
   */
  sessionDocument(session: string, options?: Pick<ReadOptions, "at">): Promise<SessionDocument>
  /**
   * The shared store beside this one. Asks nobody yet. The settings that `openStore` was given say what is missing in `options`, and
   * by `exclude` and `excludeAlso` of which files the text stays here, beside that of memory.
   *
   * Rejects with `INVALID_ARGUMENT` if no address is given or set, or it is none of a server.
   */
  shared(options?: SharedStoreOptions | undefined | null): Promise<SharedStore>
  /** ID of the store, made when it was created. */
  get id(): string
  /** Absolute path of the file, or `:memory:`. */
  get path(): string
  /**
   * A message for the user about a problem with the store: it is on a network file system, or writes were missing when it was
   * opened. Null if there is none.
   */
  get notice(): string | null
  /**
   * Ends the store's trackings and closes the file. Later calls reject with `CLOSED`. Idempotent. Rejects with `NO_ANSWER` where a
   * disk does not answer; what hangs ends with the process.
   */
  close(): Promise<void>
  /**
   * A session over time: its calls, what happened between them, and how each object was shown.
   *
   * `session`: as in `findSession`. Rejects as that.
   */
  timeline(session: string): Promise<Timeline>
  /**
   * Tracks files: indexes each of them now and whenever it changes on disk, as `index` does. A deleted file gets a version without
   * content. A moved file is followed to its new path, whose object has the field `moved_from`. After changes are written, `onEvents`
   * is called with a batch of events; while it runs, further events collect for the next batch.
   *
   * The system watches the folders of the files. Where it cannot (the limit of watches is reached, or the file system is a network
   * one), the files are polled, and an event says so. The settings `maxTextBytes`, `filesystemId` and `exclude` given to `openStore`
   * apply. Tracking does not keep the process alive. It ends when the tracking or the store is closed.
   *
   * Rejects with `INVALID_ARGUMENT` and `FILE`.
   */
  track(paths: string[], onEvents: (events: TrackingEvent[]) => void, options?: TrackOptions): Promise<Tracking>
}

/** Keeps files up to date in a store, until it or the store is closed. */
export declare class Tracking {
  /**
   * Tracks more files. Files that are tracked already are not affected.
   *
   * Rejects with `INVALID_ARGUMENT`.
   */
  add(paths: string[], options?: NameOptions): Promise<void>
  /**
   * Stops tracking files. Ignores paths that are not tracked.
   *
   * Rejects with `INVALID_ARGUMENT`.
   */
  remove(paths: string[], options?: NameOptions): Promise<void>
  /**
   * Waits until all changes before this call are in the store and their events delivered. Checks polled files at once. Resolves to
   * false if that takes longer than `timeoutMs`, by default 1,000.
   */
  settle(timeoutMs?: number): Promise<boolean>
  /** The state of the tracking, as of now. */
  status(): TrackingStatus
  /** Stops watching. Once it resolves, `onEvents` is called only with events that were already on their way. Idempotent. */
  close(): Promise<void>
}

/** Which relations to an object to list. */
export interface BacklinksOptions {
  /** As in `LinksOptions`. */
  at?: number | string
  /** As in `NameOptions`. */
  cwd?: string
  /** Only links to this heading (`Guide#Install`) or block (`^id`). Default: all relations. */
  part?: string
}

/** Which call to read. */
export interface CallOptions {
  /** Number of the call, from 1. Default: the newest. */
  call?: number
}

/** Which calls to read. */
export interface CallRange {
  /** Number of the first, from 1. */
  from: number
  /** How many; at most 1000. */
  count: number
}

/**
 * Checks settings that a host keeps in its own configuration, where a wrong value must not turn off what does not depend on it. What counts
 * of a wrong one is as with `settingProblems`.
 */
export declare function checkSettings(given: unknown): CheckedSettings

/** Which call to compare, and with what. */
export interface ComparisonOptions {
  /** Number of the call, from 1. Default: the newest. */
  call?: number
  /**
   * `before`: the call before. `plain`: the host's own list at that call, as the plain host would have sent it: no record, no hash,
   * each message as it was given. Where the host compacted, its list as it was then. Default: `before`.
   */
  against?: "before" | "plain"
}

/** Which content to read. */
export interface ContentOptions {
  /** As in `ReadOptions`. */
  at?: number | string
  /** As in `NameOptions`. */
  cwd?: string
  /** Name of an additional content. Default: the content. */
  field?: string
  /** Lines, counted from 1: `40-80`, `7`, `1-3,9`. They keep their line endings. Default: all. */
  lines?: string
}

/** Tokens of a text by `o200k_base`; above 1 MiB an estimate from samples. */
export declare function countTokens(text: string): Promise<number>

/** Which versions to compare. */
export interface DiffOptions {
  /** Name of another object, to compare with: its version is the later one. Default: the object itself. */
  other?: string
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
 * Checks the store at `path` as `Maintenance.doctor` does, and changes nothing. A store that is too damaged for `openStore`
 * resolves to a report that says so.
 *
 * Rejects with `STORE_UNAVAILABLE` (also if there is no such file, if it is another program's database, or if its schema is older
 * than this program's), `STORE_CORRUPT` if it does not begin as a database does, `NOT_PRIVATE`,
 * `NEWER_SCHEMA`, `INVALID_ARGUMENT`.
 *
 * `deep`: check everything; otherwise, of a store of more than 2,000 versions, only what was written last. Default: true.
 * `onProgress` is called with the number of contents, versions and objects checked.
 */
export declare function doctor(path: string, deep?: boolean | undefined | null, onProgress?: (progress: StoreProgress) => void): Promise<DoctorReport>

/**
 * A document, given as JSON, in whose strings what looks like a secret is replaced as by `withoutSecrets`. What was found once is
 * replaced wherever it stands: in names of members, in JSON inside of strings, and where it was cut. A member `diff` is a unified
 * difference.
 */
export declare function documentWithoutSecrets(json: string): Promise<string>

/** Where to start, what to follow, and what to return. */
export interface ExpandOptions {
  /** Where to start: names, or static references. */
  roots: (string | StaticReference)[]
  /** Kinds of relations to follow. Default: all that lead to objects. */
  kinds?: RelationKind[]
  /**
   * Places whose relations to follow: `file_refs`, `items[*].content`, `front_matter.related`, `content#Guide`. Default:
   * all.
   */
  fields?: Array<string>
  /** Direction to follow relations in. Default: `forward`. */
  direction?: "forward" | "back" | "both"
  /** Longest distance from a root, in relations; 0 returns only the roots. Default: 1. */
  depth?: number
  /** Types of objects to list. Relations of other objects are followed all the same. Default: all. */
  types?: ObjectType[]
  /** Whether to return contents: the section, block or lines that a relation names, else the whole text. Default: false. */
  content?: boolean
  /** Paths whose values to return: fields, `content`, `additional.NAME`, `items[*].message.role`. Not together with `content`. */
  values?: Array<string>
  /** Largest number of nodes. Default: 1,000. */
  limit?: number
  /** Budget for all contents and values together, in Unicode scalar values. Nodes that exceed it come without them. Default: none. */
  budgetChars?: number
  /** As in `LinksOptions`. */
  at?: number | string
  /** As in `NameOptions`. */
  cwd?: string
}

/** What to write into an archive, and where. */
export interface ExportArchiveOptions {
  /** The file. An existing one is replaced once the archive is complete. `-` is standard output. */
  path: string
  /** ID of a session: writes the session, all objects that it refers to, and the parents of a fork. */
  session?: string
  /** ID of an object: writes the object with its history. Without `object` and `session`, everything is written. */
  object?: string
  /** Whether to replace what looks like a secret by `[redacted:RULE]`. Default: false. */
  redact?: boolean
  /** Whether to compress the archive with zstd. Default: true if the path ends in `.zst`. */
  compress?: boolean
}

/**
 * Finds the sessions at paths: files as they are, each session of a database of OpenCode or OpenClaw, and in folders all that are sessions.
 * `path` of an answer is what `replayFile` and `learnHazards` take, `FILE#SESSION` for a session of a database.
 *
 * `others`: whether to list as well, with their `problem`, files of folders that have names of sessions and are none. Default: false.
 *
 * Rejects with `FILE` if a folder or a database cannot be read.
 */
export declare function findSessions(paths: string[], others?: boolean): Promise<FoundSession[]>

/** How to forget. */
export interface ForgetOptions {
  /** Only report what would happen. Default: true. */
  dryRun?: boolean
  /** Remove the text also from objects and sessions that have nothing to do with it. Default: false. */
  everywhere?: boolean
}

/** How to collect garbage. */
export interface GcOptions {
  /** Only report what would be dropped. Default: true. */
  dryRun?: boolean
  /**
   * Also drop the sessions that were last written so many days ago, at least 1, as if they had never been stored, with their tool
   * calls and the files that only they know. What has a nickname stays, and what sessions that stay refer to. Default: none.
   */
  unusedDays?: number
  /**
   * Whether a search finds the outputs of tool calls by their text, from now on. Without them the index is much smaller; names and
   * arguments are found all the same. Default: as it is, at first `true`.
   */
  searchOutputs?: boolean
}

/** A compaction that the host is about to make. */
export interface HostCompaction {
  /** Why: the person asked for it; the window is nearly full; a request was refused as too long, or its answer cut short. */
  reason: "manual" | "threshold" | "overflow"
  /** Whether the host makes the newest call again afterwards. */
  retries: boolean
  /** Index in the list of the first message that would stay. */
  keptFrom: number
  /** Tokens of the window that the host keeps free. Default: 16,384. */
  reservedTokens?: number
}

/** Which archive to read. */
export interface ImportArchiveOptions {
  /** The file, plain or compressed by zstd. `-` is standard input. */
  path: string
  /** Longest line to accept, in bytes. Default: 268,435,456 (256 MiB). */
  maxLineBytes?: number
  /** Whether to only report what would happen. Default: false. */
  dryRun?: boolean
}

/** How to index paths. */
export interface IndexOptions {
  /** Folder that relative paths count from, absolute. Default: the process's working folder. */
  cwd?: string
  /** Whether to index hidden and ignored files too, but never `.git`. Default: `false`. */
  all?: boolean
}

/** Which items to read. */
export interface ItemsOptions {
  /** As in `ReadOptions`. */
  at?: number | string
  /** As in `NameOptions`. */
  cwd?: string
  /** Position of the first item, from 0. Default: 0. */
  from?: number
  /** Position after the last item. Default: the end. */
  to?: number
  /** Only these of them, counted from 1 as lines are: `40-80`, `7`, `1-3,9`. Default: those of the name, else all. */
  lines?: string
}

/**
 * Learns from transcripts how likely a call needs an output or a step, by playing them through a session. Stores nothing and reads
 * no files but the transcripts. The same transcripts give the same weights, in any order. Files that are no transcripts are skipped
 * and listed.
 *
 * Rejects with `INVALID_ARGUMENT`, with `FILE` if a transcript cannot be read, and with `TOO_FEW_NEEDS` if they show too little.
 */
export declare function learnHazards(paths: string[], options?: LearnOptions): Promise<LearnedHazards>

/** How to learn hazards. */
export interface LearnOptions {
  /** Paths of transcripts to test the weights on. Default: those that they are learned from. */
  tested?: Array<string>
}

/** Which point in the store's history to read. */
export interface LinksOptions {
  /** A transaction (`12`: the state after it), or a time (RFC 3339 or a date). Default: the newest transaction. */
  at?: number | string
  /** As in `NameOptions`. */
  cwd?: string
}

/** Which objects to list. */
export interface ListOptions {
  /** Only objects whose IDs come after this one. Default: all. */
  after?: string
  /** Largest number of objects. Default: 1,000. */
  limit?: number
}

/**
 * Reads and checks the settings. Keys that no file sets have their defaults.
 *
 * Rejects with `INVALID_ARGUMENT`, and with `INVALID_SETTINGS`, which names the file, each wrong key and what was expected.
 */
export declare function loadSettings(places: SettingsPlaces): Promise<Settings>

/** What to import, see `Memory.importFrom`. */
export interface MemoryImportOptions {
  /**
   * `claude`: Claude Code's memory of the project. `notes`: `CLAUDE.md`, `.claude/CLAUDE.md` and `CLAUDE.local.md` of the project, and the
   * user's own `CLAUDE.md`. Default: `claude`.
   */
  from?: 'claude' | 'notes'
  /** Absolute path of a file of notes, or of a folder with a memory, in place of `from`. */
  path?: string
  /**
   * Where it goes. Default: `CLAUDE.local.md` into local memory, the user's own `CLAUDE.md` into the global one, all else into the
   * project's.
   */
  scope?: MemoryScope
  /** Whether to stage what is to be taken. Default: false. */
  apply?: boolean
}

/** What memory is opened with. */
export interface MemoryOptions {
  /** The harness's own folder: global memory lives in its folder `memory`. Without it there is none. */
  agentDir?: string
  /** The project's folder: its memory lives in `.pi/memory`. Without it there is none. */
  project?: string
  /**
   * Whether the user trusts the project; otherwise its memory is not read and never made. Default: what the person said of the project,
   * see `projectTrust`; it is asked for again at every look. Give `true` only where a person said so to the caller.
   */
  trusted?: boolean
  /**
   * Name of a conversation in which others than the user take part, such as a group's. Then there is its own memory alone, in a folder
   * of the harness's own folder: neither global memory, nor the project's, nor `MEMORY.local.md`. The scope is `conversation`.
   */
  conversation?: string
}

/** What to take over, see `Memory.takeFrom`. */
export interface MemoryTakeOptions {
  /** Where it goes. Default: into local memory, which is the user's own in the project. */
  scope?: MemoryScope
  /** Whether to stage what is to be taken. Default: false. */
  apply?: boolean
}

/**
 * Brings all that one store holds into another, a file or a shared one, and compares both by hashes afterwards. What the second store
 * has stays as it is, so that a migration may be repeated. A file that is not there is made.
 *
 * Rejects with `INVALID_ARGUMENT`, as `openStore` and as `SharedStore.push`, and with `HASH_MISMATCH` if something differs.
 */
export declare function migrate(from: MigrationPlace, to: MigrationPlace, onProgress?: (progress: SharingProgress) => void): Promise<MigrationReport>

/** A store: a file, or a shared one by its address. One of `path` and `url`. */
export interface MigrationPlace {
  /** The store's file. */
  path?: string
  /** Address of XTDB's HTTP server. */
  url?: string
  /** File with the token to send, readable for its user only. */
  tokenFile?: string
  /** File with certificate authorities in PEM form. */
  caFile?: string
}

/** How to read a name. */
export interface NameOptions {
  /** Folder that a relative path counts from, absolute. Default: the process's working folder. */
  cwd?: string
}

/** The result of a tool call that the host is about to add to its list. */
export interface NewToolResult {
  /** The ID of the call, as in the list. */
  toolCallId: string
  /** Name of the tool. */
  toolName: string
  /** Arguments as the tool ran with them. */
  args: unknown
  /** Whether it failed. */
  isError: boolean
  /** What the tool answered: a text, or blocks. */
  content: string | { type: string; [field: string]: unknown }[]
  /** The host's details of the result. */
  details?: unknown
}

/** A finished tool call, as memory is told of it. */
export interface ObservedToolCall {
  /** The tool's name. */
  toolName: string
  /** Its arguments. */
  args: unknown
  /** The working folder, absolute, from which relative paths count. */
  cwd: string
  /** Whether it failed. */
  isError: boolean
  /** Whether a store holds its result. Default: false. */
  isStored?: boolean
}

/**
 * Opens memory. Reads and makes nothing yet.
 *
 * `store`: where its files become objects like any other, with versions, history, differences and backlinks. Memory needs none, and goes
 * on without it where it fails.
 *
 * Throws `INVALID_ARGUMENT`.
 */
export declare function openMemory(options: MemoryOptions, store?: Store | undefined | null): Memory

/**
 * Opens a session: resumes what the store holds of it, forks its parent, or starts it.
 *
 * Rejects with `INVALID_ARGUMENT`, `CLOSED` and what the store reports.
 */
export declare function openSession(store: Store, options: SessionOptions): Promise<Session>

/**
 * Opens a store. Creates the file and its folder if they are missing, unless `create` is false or `readOnly` is true.
 *
 * Rejects with `INVALID_ARGUMENT`, `STORE_UNAVAILABLE`, `STORE_CORRUPT`, `NOT_PRIVATE`, `READ_ONLY`, `NEWER_SCHEMA`, `NO_SPACE`.
 */
export declare function openStore(options?: StoreOptions | undefined | null): Promise<Store>

/** The names of the price tables that `prices` of `ReplayOptions` and of the settings may be. */
export declare function pricePresets(): Array<string>

/**
 * Tells whether a project's memory and settings count. Asks nobody and changes nothing.
 *
 * Rejects with `INVALID_ARGUMENT`; with `FILE` if there is no such folder or the answers cannot be read, and with `NOT_PRIVATE` if others
 * could have written them: then nothing counts.
 */
export declare function projectTrust(places: TrustPlaces): Promise<ProjectTrust>

/** A version to write. */
export interface PutOptions {
  /** Type of the object. */
  type: ObjectType
  /** What the object tracks. Its ID is a hash of type and source. */
  source?: Source
  /** ID, for an object without a source. Default for a `toolcall`: a new UUIDv7. */
  id?: string
  /** The content, or null for none. */
  content?: string | null
  /** SHA-256 of the source's bytes. Default for an object with source and content: the SHA-256 of the content. */
  sourceHash?: string
  /** Fields. Any names are allowed. */
  fields?: Record<string, unknown>
  /** Additional contents, by name (`short_summary`, ...). */
  additional?: Record<string, string>
  /** Transaction that must have written the object's latest version; 0 if there must be none yet. Default: any. */
  expected?: number
}

/** How to answer a query. */
export interface QueryOptions {
  /**
   * A point in the store's history: a transaction (`12`), or a time (RFC 3339, or a date: its first moment in UTC). Default: the
   * latest versions.
   */
  at?: number | string
  /** Only objects of this type. */
  type?: ObjectType
  /** Largest number of objects, even if the query has a larger `limit`. */
  limit?: number
  /** The last version of the page before: the next page of a query without `order by` and `offset`. */
  after?: VersionPlace
}

/** Which version to read. */
export interface ReadOptions {
  /**
   * A transaction (`12`: the version that was visible then), a step back (`-1`: the version before the latest), or a time (RFC 3339,
   * or a date: its first moment in UTC). Default: the latest version. Not together with a name such as `NAME@12`.
   */
  at?: number | string
  /** As in `NameOptions`. */
  cwd?: string
}

/** What to recall. */
export interface RecallOptions {
  /** Scopes to search. Default: all that may be looked at. */
  scopes?: MemoryScope[]
  /** Whether whole files are ranked, and not the passages in them. Default: `false`. */
  byFile?: boolean
  /** Whether past sessions are searched too, in the store given. Default: `false`. */
  sessions?: boolean
  /** ID of the session that asks: it is no past one. */
  currentSession?: string
  /** Most hits in memory, and most in past sessions; at least 1. Default: 10. */
  limit?: number
}

/**
 * Removes the temporary files and folders of this process: what is written and not complete yet, and where sessions are replayed. For a
 * process that ends at once, by a signal: after this it writes no more of them, and work that would does not come to an end.
 */
export declare function removeTemporary(): void

/**
 * Plays a transcript through a session as in live use, and reports what its requests would have cost, beside the plain host's.
 * Stores nothing and reads no file but the transcript and the snapshots in `tree`. The transcript's files are laid in a folder for
 * temporary files while it runs; no path of the transcript is opened.
 *
 * Rejects with `INVALID_ARGUMENT`, with `MALFORMED_TRANSCRIPT` if the file is not a session file of a known agent, and with `FILE` if it
 * cannot be read or the dump cannot be written.
 */
export declare function replayFile(path: string, options?: ReplayOptions): Promise<ReplayedFile>

/** How to replay transcripts. */
export interface ReplayOptions {
  /**
   * Layout of the requests. `plain` sends them as the host alone would; `masking`, `clearing` and `pruning` as a host that makes them
   * smaller by a rule of its own (docs/policy.md, *The curve*). Default: `log`.
   */
  layout?: "log" | "pools" | "plain" | "masking" | "clearing" | "pruning"
  /** Name of the price table. Default: `anthropic`. */
  prices?: string
  /** Tokens of the model's window, for both sides. Default: no limit. */
  window?: number
  /** How to count tokens: a quarter of the characters, or by the bundled tokenizer. Default: `characters`. */
  tokens?: "characters" | "bundled"
  /**
   * Tokens of system prompt and tools, those of `overheadTokens` among them. Default: of a stored session what its calls had on average,
   * otherwise 4,000 and `overheadTokens`.
   */
  promptTokens?: number
  /**
   * Tokens that the extension adds to system prompt and tools. Default: of a stored session what its calls had on average, otherwise
   * what this version adds.
   */
  overheadTokens?: number
  /**
   * Whether prices, window, and the sizes of system prompt, tools and thinking are as the transcript records them, where no other option
   * says them. Default: false.
   */
  recorded?: boolean
  /** Settings, complete or in part; their `layout` and `prices` are ignored. Default: the default settings. */
  settings?: Partial<Settings>
  /** Whether to tell what perfect foresight would cost under the same rules, as `oracle`; only with the layout `log`. Default: false. */
  oracle?: boolean
  /** Name of the session in the report, for `dump` and for `tree`. Default: that of the file. */
  name?: string
  /** Absolute path of a folder to write the requests to, which is created if it is missing. Default: they are not written. */
  dump?: string
  /**
   * Absolute path of a folder with snapshots of the working folder, `NAME/call-N` and `NAME/result-ID`. Default: files are what
   * the transcript shows of them.
   */
  tree?: string
}

/**
 * Joins the results of transcripts that were replayed with these options into one report. Requests that were copied from one of them
 * into another count once. With `recorded`, `prices` and `window` are what all transcripts have in common, else `recorded` and null.
 *
 * Rejects with `INVALID_ARGUMENT`.
 */
export declare function replayReport(files: ReplayedFile[], options?: ReplayOptions): Promise<ReplayReport>

/** What to search. */
export interface SearchOptions {
  /** Types of objects. Default: all. */
  types?: ObjectType[]
  /** ID of a session: search its chat, tool calls and system prompt. Files belong to no session. */
  session?: string
  /** Only files whose path starts with this. */
  pathPrefix?: string
  /** Whether to search earlier versions too. Default: `false`. */
  allVersions?: boolean
  /** Largest number of hits, at least 1. Default: 10. */
  limit?: number
  /**
   * How many seconds to bring the index up to date at most; `unindexed` counts what is missing then. Default: until it is up to
   * date.
   */
  patienceSeconds?: number
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
  /**
   * Whether the host's tools may answer with images. Then the images of a tool result leave the window with the text beside them,
   * and `activate` answers with both. Not in the layout `pools`. Default: false, and images stay.
   */
  images?: boolean
  /**
   * Whether others than the user take part, as in a group: names then mean what the session itself met, in the versions that it met, and
   * of files those whose text the model saw; it goes on with no other session, and a fork of a session that is not confined starts
   * without what that one left. Default: as the session, or the one that it is a fork of, was.
   */
  confined?: boolean
  /**
   * Whether the host asks `answerCompaction` before it compacts, and does as it is told. Then all of a small window is used, of which the
   * host alone would keep half free. Default: false.
   */
  asksToCompact?: boolean
}

/** Which sessions to list. */
export interface SessionsOptions {
  /** Largest number of sessions. Default: all. */
  limit?: number
}

/**
 * Renames a damaged store, with the files that belong to it, to `NAME.corrupt-N`, and resolves to its new path. The next
 * `openStore` creates a new store. Nothing else calls this.
 *
 * `force`: also rename a store that is not damaged, or a file that does not begin as a store does. Default: false.
 *
 * Rejects with `INVALID_ARGUMENT` if nothing is damaged, `STORE_UNAVAILABLE` if there is no such file or a store is open
 * there, in this process or another, `FILE`, and as `doctor`.
 */
export declare function setAside(path: string, force?: boolean | undefined | null): Promise<string>

/**
 * Lists what is wrong with the values in the settings files, in a sentence for each file. It does not count where `loadSettings` does not
 * need it: a wrong value must not turn off what does not depend on it. Of a wrong list the right entries count, and a wrong `sandbox`, or
 * wrong `mounts`, make the agent's files those of a sandbox that nobody knows.
 *
 * Rejects as `loadSettings`, but not for wrong values. `places.needed` is ignored.
 */
export declare function settingProblems(places: SettingsPlaces): Promise<string[]>

/** Where to read settings from. */
export interface SettingsPlaces {
  /** The agent's folder; its `palimpsest.json` holds the user's settings. */
  agentDir?: string
  /** The project's folder. Its `.pi/palimpsest.json` overrides the user's settings where the person trusts the project, see `trusted`. */
  projectDir?: string
  /**
   * Whether the project's settings count. Default: what the person said of the project, see `projectTrust`. Give `true` only where a
   * person said so to the caller.
   */
  trusted?: boolean
  /** Keys of the settings that the caller needs: a wrong value of another is passed over, and its default counts. Default: all. */
  needed?: Array<string>
}

/**
 * Lists every setting with the value that counts and where it comes from, in the order of docs/settings.md.
 *
 * Rejects as `settingProblems`, and for wrong environment variables. `places.needed` is ignored.
 */
export declare function settingValues(places: SettingsPlaces): Promise<SettingValue[]>

/** How to reach a shared store. */
export interface SharedStoreOptions {
  /** Address of XTDB's HTTP server. Default: the setting `xtdbUrl`, over which `PALIMPSEST_XTDB_URL` counts. */
  url?: string
  /**
   * File with the token to send, readable for its user only. Default: the setting `xtdbTokenFile`; none with a `url` that is not
   * that of the settings.
   */
  tokenFile?: string
  /** File with certificate authorities in PEM form. Default: the setting `xtdbCaFile`, in the same way. */
  caFile?: string
  /** Whether `push` and `pull` share sessions too. Default: the setting `shareSessions`. */
  sessions?: boolean
}

/** Where a store is. */
export interface StoreOptions {
  /**
   * A file, or `:memory:`. Default: `PALIMPSEST_STORE`, else the setting `store`, else
   * `<agentDir>/palimpsest/store.sqlite`, else `store.sqlite` in the platform's data folder.
   */
  path?: string
  /** Settings, complete or in part. `store` says where the store is; others, how names are resolved and files indexed. */
  settings?: Partial<Settings>
  /** The agent's folder, which a relative path in the settings counts from. */
  agentDir?: string
  /** Whether to create a store that does not exist, instead of rejecting with `STORE_UNAVAILABLE`. Default: `true`. */
  create?: boolean
  /**
   * Whether the store is only looked at: nothing is made, brought up to date or written, and what would write rejects with
   * `READ_ONLY`. The folder and the file may be ones that cannot be written. Default: `false`.
   */
  readOnly?: boolean
}

/**
 * Resolves to the absolute path of the store that `openStore` would open with these options, or `:memory:`. Opens nothing.
 *
 * Rejects with `INVALID_ARGUMENT`.
 */
export declare function storePath(options?: StoreOptions | undefined | null): Promise<string>

/** A finished tool call. */
export interface ToolCallReport {
  /** The provider's ID of the call. */
  toolCallId: string
  /** Name of the tool. */
  toolName: string
  /** Arguments as the tool ran with them. */
  args: unknown
  /** Whether it failed. */
  isError: boolean
  /**
   * The text that it showed, from tools that list or search files and from shells, failed commands included. Files that it
   * names enter the session index by path alone. Only the first 256 KiB are read.
   */
  text?: string
}

/** Lists the tools. `index.d.ts` has another `tools`, which wraps this one. */
export declare function tools(prefixed: boolean): Array<ToolDefinition>

/** How to track files. */
export interface TrackOptions {
  /** Folder that relative paths count from, absolute. Default: the process's working folder. */
  cwd?: string
  /** Whether to poll files instead of having the system watch them. Default: `false`. */
  polling?: boolean
  /** Interval at which polled files are checked, in milliseconds. Default: 2,000. */
  pollMs?: number
  /** Largest number of folders to watch; files in others are polled. Default: as many as the system allows. */
  maxWatches?: number
}

/**
 * All answers of a person, by path. `agentDir`: as in `TrustPlaces`.
 *
 * Rejects as `projectTrust`.
 */
export declare function trustedProjects(agentDir?: string | undefined | null): Promise<Array<TrustedProject>>

/** A project, and where a person's answers are. */
export interface TrustPlaces {
  /** The harness's own folder, whose `palimpsest/trust.json` has the answers. Default: the platform's data folder. */
  agentDir?: string
  /** The project's folder. */
  project: string
}

/**
 * Remembers what a person said of a project: `true` or `false`; null forgets it. Call it for nothing but a person's own word.
 *
 * Rejects as `projectTrust`.
 */
export declare function trustProject(places: TrustPlaces, trusted: boolean | null): Promise<ProjectTrust>

/** What a provider said that a request used. A report without any input is ignored. */
export interface UsageReport {
  /** `call`: a call to the model. `cache_warm`: a request that only kept the cache of the newest call alive. */
  kind: "call" | "cache_warm"
  /** Number of the call. 0 is a call that went out with the host's own messages. Default: the newest call. */
  call?: number
  /** The host's ID of the report. A report with a known ID is ignored. */
  id?: string
  /** When the request was made, in milliseconds since 1970. Required for `cache_warm`. */
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

/** Where a version stands among all. */
export interface VersionPlace {
  /** Its object. */
  id: string
  /** Its transaction. */
  txId: number
}

/**
 * A text in which what looks like a secret is replaced by `[redacted:RULE]`, as in an archive written with `redact`. For logs and
 * reports.
 */
export declare function withoutSecrets(text: string): Promise<string>

/**
 * Writes a file that only its user may read, as `exportArchive` does: beside its place first, and then into it. What is there is
 * replaced, a link too, and what a link leads to stays as it is.
 *
 * Rejects with `NOT_PRIVATE` for a file of another user, and with `FILE` if a FIFO, a folder or the like has the name.
 */
export declare function writePrivate(path: string, text: string): Promise<void>
