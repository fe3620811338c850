// Objects, their versions, and what is found in them.

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
