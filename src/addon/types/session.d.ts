// A session, and what it met.

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
