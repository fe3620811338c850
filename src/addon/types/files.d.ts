// Files that are tracked or indexed.

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
