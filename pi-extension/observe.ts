// Reports to the session what Pi did. Every finished tool call, once, whichever extension the tool comes from: a call that ran with its
// final arguments, before its result goes on; one that did not run (unknown tool, blocked), when it ends. And what providers say was
// used: by each answer, and by requests that only kept the cache alive. Decides nothing, and none of it rejects.
import type {
  AgentToolResult,
  ExtensionContext,
  MessageEndEvent,
  ToolExecutionEndEvent,
  ToolExecutionStartEvent,
  ToolResultEvent,
} from "@earendil-works/pi-coding-agent";
import { blocksOf, withText } from "../lib/content.js";
import type { Session, UsageReport } from "./addon.ts";
import type { Failures } from "./failures.ts";
import type { HelpDetails } from "./tools.ts";

/** Tools whose output names files: the session reads it to learn which files the model has seen. */
const namingTools = new Set(["ls", "find", "grep", "bash"]);

/** Characters of such an output to report; the session reads no more. Pi cuts its outputs sooner; other extensions may not. */
const maxTextCharacters = 262_144;

/** The handlers for the tool calls of one session. None of them rejects. */
export interface Observer {
  started(event: ToolExecutionStartEvent): void;
  /** What replaces parts of the result, if anything: the error of a failed `edit` gets an explanation. */
  ran(event: ToolResultEvent): Promise<Pick<ToolResultEvent, "content" | "details"> | undefined>;
  ended(event: ToolExecutionEndEvent): Promise<void>;
}

/** Creates an observer. It ignores calls of the tools in `ignored`. */
export function createObserver(session: Session, failures: Failures, ignored: ReadonlySet<string>): Observer {
  const argsOfRunning = new Map<string, unknown>();
  const reported = new Set<string>();
  // Calls that a tool makes, such as those of a script: they have no message, so what they do belongs to that tool's call.
  const callOfNested = new Map<string, string>();

  async function report(id: string, toolName: string, args: unknown, isError: boolean, result: unknown) {
    try {
      const text = namingTools.has(toolName) ? shownText(result) : undefined;
      const toolCallId = callOfNested.get(id) ?? id;
      await session.recordToolCall({ toolCallId, toolName, args, isError, text });
    } catch (error) {
      await failures.report(`could not follow up a \`${toolName}\` call`, error);
    }
  }

  async function helpOf(args: unknown): Promise<string | null> {
    try {
      return await session.explainFailedEdit(args);
    } catch (error) {
      await failures.report("a failed `edit` got no help", error);
      return null;
    }
  }

  return {
    started(event) {
      const { toolCallId, args } = event;
      argsOfRunning.set(toolCallId, args);
      // Since Pi 1.5.
      const { parentToolCallId: by } = event as { parentToolCallId?: string };
      if (by !== undefined) {
        callOfNested.set(toolCallId, callOfNested.get(by) ?? by);
      }
    },
    async ran({ toolCallId, toolName, input, content, details, isError }) {
      if (ignored.has(toolName)) {
        return undefined;
      }
      // Without a start event there is no end event either, and the ID would stay in the set for ever.
      if (argsOfRunning.has(toolCallId)) {
        reported.add(toolCallId);
      }
      await report(toolCallId, toolName, input, isError, { content });
      // What a script gets the model need not see, so the change that help tells of would count as told.
      const isForModel = !callOfNested.has(toolCallId);
      const help = isError && toolName === "edit" && isForModel ? await helpOf(input) : null;
      if (help === null) {
        return undefined;
      }
      const ours: HelpDetails = { palimpsest: { help: help.length } };
      return { content: withText(content, help), details: { ...(details as object | undefined), ...ours } };
    },
    async ended({ toolCallId, toolName, isError, result }) {
      const args = argsOfRunning.get(toolCallId);
      argsOfRunning.delete(toolCallId);
      if (!reported.delete(toolCallId) && !ignored.has(toolName)) {
        await report(toolCallId, toolName, args, isError, result);
      }
      callOfNested.delete(toolCallId);
    },
  };
}

function shownText(result: unknown): string {
  const { content } = (result ?? {}) as Partial<AgentToolResult<unknown>>;
  const texts = blocksOf(content).map((block) => (block.type === "text" ? block.text : ""));
  return texts.join("\n").slice(0, maxTextCharacters);
}

/** Reports the usage of one session. */
export interface UsageReporter {
  /** A call goes out. `ours` is false if it has Pi's own messages. */
  called(ours: boolean): void;
  /** A message is complete. Resolves to whether it had something to report. */
  ended(event: MessageEndEvent): Promise<boolean>;
  /** Reports requests that kept the cache alive. Call it before a call, whose estimate depends on it. */
  warmed(ctx: ExtensionContext): Promise<void>;
}

/** Creates a reporter. */
export function createUsageReporter(session: Session, failures: Failures): UsageReporter {
  let newestIsOurs = false;

  async function report(usage: UsageReport) {
    await session.recordUsage(usage).catch((error: unknown) => failures.report("usage was not taken", error));
  }

  return {
    called(ours) {
      newestIsOurs = ours;
    },
    async ended({ message }) {
      if (message.role !== "assistant" || message.usage === undefined) {
        return false;
      }
      const { input, cacheRead, cacheWrite, output } = message.usage;
      // Without a number the report is about the newest call of the session.
      const call = newestIsOurs ? undefined : 0;
      await report({ kind: "call", call, input, cacheRead, cacheWrite, output });
      return true;
    },
    async warmed(ctx) {
      for (const { id, timestamp, usage } of newestWarmings(ctx)) {
        const { input, cacheRead, cacheWrite, output } = usage;
        await report({ kind: "cache_warm", id, time: Date.parse(timestamp), input, cacheRead, cacheWrite, output });
      }
    },
  };
}

/**
 * The entries about cache warming since the answer before the newest, oldest first: while an answer takes long, the cache is kept warm
 * before the answer is complete. The session ignores those that it knows.
 */
function newestWarmings(ctx: ExtensionContext) {
  const branch = ctx.sessionManager.getBranch();
  const found = [];
  let answers = 0;
  for (let at = branch.length - 1; at >= 0 && answers < 2; at--) {
    const entry = branch[at];
    if (entry.type === "message" && entry.message.role === "assistant") {
      answers++;
    }
    if (entry.type === "usage" && entry.kind === "cache_warm") {
      found.unshift(entry);
    }
  }
  return found;
}

/**
 * The model to which the next request goes, as far as it is known: behind a virtual one that of the newest answer. Where there is none
 * yet, the virtual one itself.
 */
export function modelInUse({ model, sessionManager, modelRegistry }: ExtensionContext): ExtensionContext["model"] {
  if (model === undefined || model.api !== "pi-virtual") {
    return model;
  }
  const branch = sessionManager.getBranch();
  for (let at = branch.length - 1; at >= 0; at--) {
    const entry = branch[at];
    if (entry.type !== "message" || entry.message.role !== "assistant") {
      continue;
    }
    const { stopReason, provider, model: id, api } = entry.message;
    // Where routing failed the answer names the virtual model.
    if (stopReason !== "error" && stopReason !== "aborted" && api !== model.api) {
      return modelRegistry.find(provider, id) ?? model;
    }
  }
  return model;
}

/** What a call is made with, as far as its model goes. */
export function modelOf(ctx: ExtensionContext) {
  const model = modelInUse(ctx);
  if (model === undefined) {
    return undefined;
  }
  const { provider, id, contextWindow, api, baseUrl, cost, promptCache, compat } = model;
  // pi-ai reads this variable where no option is set.
  const cacheRetention: "long" | "short" = process.env.PI_CACHE_RETENTION === "long" ? "long" : "short";
  const { cacheControlFormat } = (compat ?? {}) as { cacheControlFormat?: string };
  return { provider, id, contextWindow, api, baseUrl, cost, promptCache, cacheRetention, cacheControlFormat };
}
