// A store that several machines share.

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
