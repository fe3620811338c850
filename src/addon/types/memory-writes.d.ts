// What is written into memory, and what is said of it.

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
