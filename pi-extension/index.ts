// Palimpsest for Pi: wires Pi's events to the open session (session.ts), and gives Pi the answers: the messages of a call, the provider's
// request, a compaction, whether a text may be written. Where that fails, Pi does what it does without us (failures.ts). Decides nothing
// about contexts. What only a person needs is imported when it is used: each file takes half a millisecond of the start of every Pi.
import {
  type ContextWithSystemEvent,
  type ExtensionAPI,
  type ExtensionContext,
  getAgentDir,
  type SessionBeforeCompactEvent,
  type ToolCallEvent,
} from "@earendil-works/pi-coding-agent";
import { withText } from "../lib/content.js";
import { type Copy, once, servingCopy, standsAside } from "./addon.ts";
import { createFailures, describe, type Failures, openExtensionLog, timedHooks } from "./failures.ts";
import { flagName } from "./live.ts";
import { captureMs, MemoryLife, memoryFlag } from "./memory.ts";
import { modelOf } from "./observe.ts";
import { contextMessages, noteHidden, prompted } from "./prompt.ts";
import { type Current, loadWelcome, SessionLife, showStatus } from "./session.ts";
import { registerRows, showTold } from "./tools.ts";
import { registerTrust } from "./trust.ts";

/** Whether the user was told that this copy does not serve. */
let saidAside = false;

const loadCommand = once(() => import("./command.ts"));
const loadMemoryCommand = once(() => import("./memory-command.ts"));

export default function palimpsest(pi: ExtensionAPI): void {
  const agentDir = getAgentDir();
  const log = openExtensionLog(agentDir);
  const first = servingCopy(pi, agentDir);
  if (first !== undefined) {
    pi.on("session_start", (_event, ctx) => sayAside(first, createFailures(log, ctx)));
    return;
  }
  const life = new SessionLife(pi, agentDir, log);
  pi.registerFlag(flagName, {
    type: "boolean",
    default: false,
    description: "Start without Palimpsest (put it last: the next word is taken for its value)",
  });
  pi.registerCommand("context", {
    description: "Show what Palimpsest does in this session and what it saves, or turn it off and on",
    getArgumentCompletions: async (typed) => (await loadCommand()).completions(life, typed),
    handler: async (args, ctx) => (await loadCommand()).run(life, args, ctx),
  });
  pi.registerFlag(memoryFlag, {
    type: "boolean",
    default: false,
    description: "Start without memory in the system prompt (put it last: the next word is taken for its value)",
  });
  registerTrust(pi);
  const memory = new MemoryLife(pi, agentDir, life, log);
  pi.registerCommand("memory", {
    description: "Show, search and check memory that survives sessions, add to it, or turn it off and on",
    getArgumentCompletions: async (typed) => (await loadMemoryCommand()).completeMemory(life, memory, typed),
    handler: async (args, ctx) => (await loadMemoryCommand()).runMemory(life, memory, args, ctx),
  });
  registerRows(pi);
  wire(timedHooks(pi, log), pi, life, memory);
}

/** Hands Pi's events to the open session. */
function wire(on: ExtensionAPI["on"], pi: ExtensionAPI, life: SessionLife, memory: MemoryLife): void {
  on("session_start", async (_event, ctx) => {
    memory.begin(ctx);
    await memory.askTrust(ctx);
    await life.begin(ctx);
    memory.start(ctx);
    if (ctx.hasUI) {
      // Not when a person asks: an update of the package may have taken the place of these files by then.
      void Promise.all([loadCommand(), loadMemoryCommand()]).catch(() => {});
    }
  });
  // By now the other extensions have registered their tools.
  on("resources_discover", async (_event, ctx) => {
    await life.offer(ctx);
  });
  on("session_shutdown", async ({ reason }, ctx) => {
    if (reason !== "reload") {
      await memory.capture(ctx, captureMs.end);
    }
    await memory.end(ctx);
    await life.end(ctx);
  });
  on("agent_start", async (_event, ctx) => {
    if (ctx.mode === "tui") {
      (await loadWelcome()).endWelcome(ctx);
    }
  });
  on("before_agent_start", async (event, ctx) => {
    noteHidden(pi, event);
    await life.offer(ctx);
    return memory.inject(event, ctx);
  });
  on("context_with_system", (event, ctx) => transform(pi, life, event, ctx));
  on("session_before_compact", (event, ctx) =>
    life.current === undefined ? undefined : answerCompaction(pi, life.current, event, ctx),
  );
  on("session_before_tree", () => life.leavePlace());
  on("session_tree", (_event, ctx) => {
    life.reachPlace();
    listRewritten(life, ctx);
  });
  on("session_compact", async (_event, ctx) => {
    listRewritten(life, ctx);
    // Nobody waits for it.
    void memory.capture(ctx, captureMs.compaction);
    await memory.compacted();
  });
  on("before_provider_request", ({ payload }) =>
    life.current === undefined ? undefined : prepare(life.current, payload),
  );
  on("tool_call", async (event, ctx) => {
    const refusal = await memory.refusal(event, ctx);
    return refusal ?? (life.current === undefined ? undefined : refuseWrite(life.current, event));
  });
  on("message_end", async (event, ctx) => {
    const { current } = life;
    if (current !== undefined && (await current.usage.ended(event))) {
      showStatus(ctx, current);
    }
  });
  on("tool_execution_start", (event) => life.current?.observer.started(event));
  on("tool_result", async (event, ctx) => {
    const replaced = await life.current?.observer.ran(event);
    const found = await memory.ran(event, ctx);
    return found === undefined ? replaced : { ...replaced, content: withText(event.content, found) };
  });
  on("tool_execution_end", (event) => life.current?.observer.ended(event));
  on("model_select", (_event, ctx) => (life.current === undefined ? undefined : showStatus(ctx, life.current)));
}

/** Pi's list is another than that of the last call: the status line says no size until the next. */
function listRewritten({ current }: SessionLife, ctx: ExtensionContext): void {
  if (current !== undefined) {
    current.trouble.rewritten = true;
    showStatus(ctx, current);
  }
}

function sayAside(first: Copy, failures: Failures): void {
  if (!saidAside) {
    saidAside = true;
    failures.notice(standsAside(first));
  }
}

/** The messages for a call; nothing to send Pi's own. */
async function transform(
  pi: ExtensionAPI,
  life: SessionLife,
  event: ContextWithSystemEvent,
  ctx: ExtensionContext,
  isAgain = false,
) {
  const asked = life.current;
  if (asked === undefined) {
    return undefined;
  }
  try {
    return await transformed(pi, asked, event, ctx);
  } catch (error) {
    if (!isAgain && (await life.leaveStore(ctx, error))) {
      return transform(pi, life, event, ctx, true);
    }
    await asked.failures.report("a call went out with Pi's own messages", error);
    asked.usage.called(false);
    recordFailedCall(asked, describe(error));
    asked.trouble.failed = describe(error);
    if (life.current === asked) {
      showStatus(ctx, asked);
    }
    return undefined;
  }
}

/** The messages for a call; nothing where they are Pi's own. */
async function transformed(
  pi: ExtensionAPI,
  current: Current,
  { messages: list }: ContextWithSystemEvent,
  ctx: ExtensionContext,
) {
  const { front, messages: given, ...prompt } = prompted(pi, ctx, list);
  await current.usage.warmed(ctx);
  const messages = await current.session.transformContext(given, { ...prompt, model: modelOf(ctx) });
  current.usage.called(true);
  current.trouble.rewritten = false;
  const told = current.told.splice(0);
  if (told.length > 0 && ctx.mode === "tui") {
    showTold(pi, told);
  }
  if (current.trouble.failed !== undefined) {
    current.trouble.failed = undefined;
    current.failures.notice("it works again, and has what went out meanwhile");
  }
  showStatus(ctx, current);
  if (messages.length === given.length && messages.every((message, at) => message === given[at])) {
    return undefined;
  }
  // Messages of ours have the shapes of Pi's.
  return { messages: [...front, ...(messages as typeof given)] };
}

/** What Pi shall do that is about to compact; nothing to let it. */
async function answerCompaction(
  pi: ExtensionAPI,
  current: Current,
  event: SessionBeforeCompactEvent,
  ctx: ExtensionContext,
) {
  const { reason, willRetry, preparation } = event;
  const { firstKeptEntryId, tokensBefore, settings } = preparation;
  try {
    const { messages, keptFrom, ...prompt } = contextMessages(pi, ctx, firstKeptEntryId);
    const compaction = { reason, retries: willRetry, keptFrom, reservedTokens: settings.reserveTokens };
    const answer = await current.session.answerCompaction(messages, { ...prompt, model: modelOf(ctx) }, compaction);
    if (answer.action === "summary") {
      return { compaction: { summary: answer.summary, firstKeptEntryId, tokensBefore } };
    }
    return answer.action === "cancel" ? { cancel: true } : undefined;
  } catch (error) {
    await current.failures.report("Pi compacts as without Palimpsest", error);
    return undefined;
  }
}

/** The provider's request with our cache breakpoint. Its hash is recorded with the call. */
async function prepare(current: Current, payload: unknown): Promise<unknown> {
  try {
    return await current.session.preparePayload(payload);
  } catch (error) {
    await current.failures.report("a request went out without our cache breakpoint", error);
    return undefined;
  }
}

/** Blocks a call that would write a line of ours which stands for content. */
async function refuseWrite(current: Current, { toolName, input }: ToolCallEvent) {
  try {
    const reason = await current.session.checkWrite(toolName, input);
    return reason === null ? undefined : { block: true, reason };
  } catch (error) {
    // An error from this handler would block the tool.
    await current.failures.report("a write was not checked", error);
    return undefined;
  }
}

function recordFailedCall(current: Current, reason: string): void {
  try {
    current.session.recordFailedCall(reason);
  } catch (error) {
    void current.failures.report("a failed call could not be recorded", error);
  }
}
