// Replays of recorded sessions, and what is learned of them.

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
