// Settings and trust.

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
