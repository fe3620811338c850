// What the plugin uses of OpenClaw's plugin API, as of 2026.9.6. Written by hand: the host is no dependency of the package, and its API is
// experimental, so each member that is used is listed here and exercised by `npm run test:openclaw`.

/** A message as OpenClaw keeps it. */
export interface HostMessage {
  role: string;
  content?: unknown;
  timestamp?: number;
  [field: string]: unknown;
}

export interface HostLogger {
  warn(message: string): void;
}

/** What the methods of an engine get of a session. */
export interface SessionParams {
  sessionId: string;
  sessionKey?: string;
  runtimeSettings?: RuntimeSettings;
  runtimeContext?: Record<string, unknown>;
}

export interface RuntimeSettings {
  executionHost?: { id?: string; label?: string };
  model?: { resolved?: string | null; requested?: string | null; provider?: string | null };
  limits?: { promptTokenBudget?: number | null; maxOutputTokens?: number | null };
}

export interface AssembleParams extends SessionParams {
  messages: HostMessage[];
  tokenBudget?: number;
  availableTools?: Set<string>;
  citationsMode?: unknown;
  model?: string;
  prompt?: string;
}

export interface AssembleResult {
  messages: HostMessage[];
  estimatedTokens: number;
  systemPromptAddition?: string;
}

export interface CompactParams extends SessionParams {
  agentId?: string;
  tokenBudget?: number;
  currentTokenCount?: number;
  compactionTarget?: "budget" | "threshold";
  force?: boolean;
  abortSignal?: AbortSignal;
}

export interface CompactResult {
  ok: boolean;
  compacted: boolean;
  reason?: string;
  result?: { tokensBefore: number; tokensAfter?: number };
}

export interface CommitParams extends SessionParams {
  advancementKey: string;
  messages: HostMessage[];
}

export interface SpawnParams {
  parentSessionKey: string;
  childSessionKey: string;
  contextMode?: "isolated" | "fork";
  parentSessionId?: string;
  childSessionId?: string;
}

export interface ContextEngine {
  readonly info: {
    readonly id: string;
    readonly name: string;
    readonly version?: string;
    readonly ownsCompaction?: boolean;
    readonly transcriptSemantics?: Record<string, string>;
    readonly hostRequirements?: Record<string, { requiredCapabilities: string[]; unsupportedMessage?: string }>;
  };
  bootstrap(params: SessionParams): Promise<{ bootstrapped: boolean; importedMessages?: number; reason?: string }>;
  ingest(params: SessionParams & { message: HostMessage }): Promise<{ ingested: boolean }>;
  assemble(params: AssembleParams): Promise<AssembleResult>;
  compact(params: CompactParams): Promise<CompactResult>;
  commitTurn(params: CommitParams): Promise<{ status: "committed" | "duplicate" }>;
  maintain(params: SessionParams): Promise<{ changed: boolean; bytesFreed: number; rewrittenEntries: number }>;
  prepareSubagentSpawn(params: SpawnParams): Promise<{ rollback(): Promise<void> } | undefined>;
  onSubagentEnded(params: { childSessionKey: string; reason: string }): Promise<void>;
  dispose(): Promise<void>;
}

export interface EngineContext {
  config?: HostConfig;
  agentDir?: string;
  workspaceDir?: string;
}

/** What is read of the host's configuration. */
export interface HostConfig {
  agents?: {
    defaults?: {
      workspace?: string;
      models?: Record<string, { params?: { cacheRetention?: unknown } } | undefined>;
      sandbox?: { mode?: string; docker?: { workdir?: string } };
    };
  };
  models?: { providers?: Record<string, HostProvider | undefined> };
}

export interface HostProvider {
  api?: string;
  baseUrl?: string;
  models?: {
    id: string;
    api?: string;
    baseUrl?: string;
    contextWindow?: number;
    cost?: { input?: number; output?: number; cacheRead?: number; cacheWrite?: number };
  }[];
}

/** Whose event a hook gets. */
export interface HookContext {
  agentId?: string;
  sessionId?: string;
  sessionKey?: string;
}

export interface ToolResult {
  content?: unknown;
  details?: unknown;
  [field: string]: unknown;
}

export interface ToolResultEvent {
  toolCallId: string;
  toolName: string;
  args: Record<string, unknown>;
  cwd?: string;
  isError?: boolean;
  result: ToolResult;
}

export interface ToolContext extends HookContext {
  workspaceDir?: string;
  messageChannel?: string;
  agentAccountId?: string;
  /** Who is behind the run; absent where it is nobody on a channel. */
  requesterSenderId?: string;
  senderIsOwner?: boolean;
  /** Whether the tools of the run are in a sandbox. */
  sandboxed?: boolean;
}

export interface HostTool {
  name: string;
  label: string;
  catalogMode: "direct-only";
  description: string;
  parameters: unknown;
  execute(
    toolCallId: string,
    params: unknown,
  ): Promise<{ content: { type: string; [field: string]: unknown }[]; details: object }>;
}

export interface CommandContext extends HookContext {
  args?: string;
  isAuthorizedSender: boolean;
  /** Plugins that come with the host alone are told. */
  senderIsOwner?: boolean;
  senderId?: string;
  channel?: string;
  accountId?: string;
  from?: string;
  to?: string;
  /** Of an operator of the gateway. */
  gatewayClientScopes?: string[];
  config?: HostConfig;
}

export interface HostCommand {
  name: string;
  description: string;
  acceptsArgs: boolean;
  requireAuth: boolean;
  handler(ctx: CommandContext): Promise<{ text: string }>;
}

type Hooks = {
  before_message_write: (event: { message: HostMessage }, ctx: HookContext) => void;
  before_tool_call: (
    event: { toolName: string; params: Record<string, unknown>; toolCallId?: string },
    ctx: HookContext,
  ) => Promise<{ block: true; blockReason: string } | undefined>;
  model_call_ended: (event: { requestPayloadBytes?: number; sessionId?: string }, ctx: HookContext) => Promise<void>;
  gateway_stop: () => Promise<void>;
};

export interface PluginApi {
  /** The plugin's own folder; what runs may be a copy of it elsewhere. */
  readonly rootDir?: string;
  readonly pluginConfig?: Record<string, unknown>;
  readonly config?: HostConfig;
  readonly logger: HostLogger;
  readonly runtime?: {
    version?: string;
    state?: { resolveStateDir?: () => string };
    agent?: { resolveAgentWorkspaceDir?: (config: HostConfig, agentId: string) => string };
    channel?: {
      pairing?: { readAllowFromStore(params: { channel: string; accountId: string }): Promise<string[]> };
    };
  };
  on<Name extends keyof Hooks>(name: Name, handler: Hooks[Name], options?: { priority?: number }): void;
  registerContextEngine(id: string, factory: (ctx: EngineContext) => ContextEngine): void;
  registerTool(tool: (ctx: ToolContext) => HostTool | null, options: { name: string }): void;
  registerCommand(command: HostCommand): void;
  registerAgentToolResultMiddleware(
    handler: (event: ToolResultEvent, ctx: HookContext) => Promise<{ result: ToolResult } | undefined>,
    options: { runtimes: string[] },
  ): void;
}

/** Functions of the host that are imported, and so stand in the entry. */
export interface HostFunctions {
  /** What the active memory plugin has for the system prompt. */
  buildMemorySystemPromptAddition(params: {
    availableTools: Set<string>;
    citationsMode?: unknown;
    agentSessionKey?: string;
  }): string | undefined;
  /** OpenClaw's own compaction, with a model call. */
  delegateCompactionToRuntime(params: CompactParams): Promise<CompactResult>;
  /** Who somebody is by the host's own rules. */
  resolveCommandAuthorization(params: { cfg: unknown; commandAuthorized: boolean; ctx: Record<string, unknown> }): {
    senderIsOwner: boolean;
  };
  /** Whether the tools of a session run in a sandbox. */
  resolveSandboxRuntimeStatus(params: { cfg: unknown; sessionKey: string }): { sandboxed: boolean };
}
