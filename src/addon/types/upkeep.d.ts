// Upkeep of a store.

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
