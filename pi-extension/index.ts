// Palimpsest for Pi: handles the `context_with_system` event, observes all tools, adds `activate`, `deactivate`, `pin` and `unpin`. Only wiring:
// state is in the store, and what a session needs while it runs is in `current`. If something of ours fails, Pi works as it does
// without us (failures.ts).
import {
  type ContextWithSystemEvent,
  type ExtensionAPI,
  type ExtensionContext,
  getAgentDir,
  type SessionBeforeCompactEvent,
  type ToolCallEvent,
} from "@earendil-works/pi-coding-agent";
import { type Addon, type ContextTool, loadAddon, type Settings } from "./addon.ts";
import { type ContextHost, contextCommand } from "./command.ts";
import { contextMessages } from "./compaction.ts";
import { type Copy, servingCopy, standsAside } from "./copies.ts";
import { createFailures, describe, type Failures } from "./failures.ts";
import { inMemory, isLost, type Live, openElsewhere, openLive, sessionKey, settingsPlaces } from "./live.ts";
import { environment, openExtensionLog, timedHooks } from "./log.ts";
import { modelInUse } from "./model.ts";
import { noticeOf } from "./notices.ts";
import { createObserver, type Observer } from "./observe.ts";
import { noteHidden, prompted } from "./prompt.ts";
import { registerRows, showTold } from "./rows.ts";
import { checkingLine, offLine, statusLine, type Trouble } from "./status.ts";
import {
  chosenLayout,
  flagName,
  isForgotten,
  isSwitchedOff,
  type Off,
  offByError,
  offByFlag,
  offBySettings,
  offerTools,
  remember,
  swallowed,
  switchedOff,
} from "./switch.ts";
import { registerContextTools } from "./tools.ts";
import { createUsageReporter, type UsageReporter } from "./usage.ts";
import { endWelcome, welcomeOnce } from "./welcome.ts";
import { cut } from "./words.ts";

/** A Pi session with Palimpsest on. */
interface Current extends Live {
  readonly tools: readonly ContextTool[];
  readonly failures: Failures;
  readonly observer: Observer;
  readonly usage: UsageReporter;
  readonly trouble: Trouble;
  /** First lines of the notes that the next request has for the model. */
  readonly told: string[];
}

const statusKey = "palimpsest";

/** Whether the user was told that this copy does not serve, or what `--no-context` cost. */
let saidOff = false;

export default function palimpsest(pi: ExtensionAPI): void {
  const agentDir = getAgentDir();
  const log = openExtensionLog(agentDir);
  const on = timedHooks(pi, log);
  const first = servingCopy(pi);
  if (first !== undefined) {
    pi.on("session_start", (_event, ctx) => sayOff(first, createFailures(log, ctx)));
    return;
  }
  let current: Current | undefined;
  // Opening and closing take turns: in RPC mode a session starts twice, and a shutdown may come while it is still opening.
  let turn: Promise<void> = Promise.resolve();
  let keyAttempted: string | undefined;
  let toolNames: string[] = [];
  // Why it is off. `/context` says it again, since Pi shows what is said at the start of a resumed session above its messages.
  let off: Off | undefined;
  // Whether `--no-context` counts still: `/context on` overrides it.
  let isByFlag = true;

  function inTurn(action: () => Promise<void>): Promise<void> {
    const next = turn.then(action);
    turn = next.catch(() => {});
    return next;
  }

  async function open(ctx: ExtensionContext): Promise<void> {
    if (keyAttempted === sessionKey(ctx)) {
      return;
    }
    await close();
    keyAttempted = sessionKey(ctx);
    off = undefined;
    if (isSwitchedOff(ctx)) {
      showOff(ctx, switchedOff);
      return;
    }
    const failures = createFailures(log, ctx);
    if (isByFlag && pi.getFlag(flagName) === true) {
      showOff(ctx, offByFlag);
      sayWhatIsLost(failures);
      return;
    }
    let live: Live | undefined;
    try {
      const addon = await loadAddon();
      live = await openLive(addon, agentDir, ctx);
      if (live === undefined) {
        showOff(ctx, offBySettings(agentDir));
        return;
      }
      current = start(addon, live, failures, ctx);
      void log.write("info", `session ${live.session.id} is open: ${environment(addon, live.store.path)}`);
      if (log.wrongLevel !== undefined) {
        failures.notice(log.wrongLevel);
      }
      showStatus(ctx, current);
    } catch (error) {
      current = undefined;
      showOff(ctx, offByError(error));
      if (isForgotten(error)) {
        failures.notice("off for this session, which you had forgotten; Pi works as without it");
        return;
      }
      await failures.report("off for this session, Pi works as without it", error);
      await live?.close().catch((closing: unknown) => failures.report("could not close the store", closing));
    }
  }

  async function begin(ctx: ExtensionContext): Promise<void> {
    await open(ctx);
    if (current !== undefined && current.store.path !== inMemory) {
      await welcomeOnce(ctx, agentDir, current.store.path);
    }
  }

  /** Says in the status line that Palimpsest is off, and why. */
  function showOff(ctx: ExtensionContext, because: Off): void {
    off = because;
    try {
      if (ctx.hasUI) {
        ctx.ui.setStatus(statusKey, offLine(because.why));
      }
    } catch {
      // The host may be shutting down.
    }
  }

  function start(addon: typeof Addon, live: Live, failures: Failures, ctx: ExtensionContext): Current {
    const tools = addon.tools();
    const observer = createObserver(live.session, failures, new Set(tools.map((tool) => tool.name)));
    for (const notice of live.notices) {
      failures.notice(notice);
    }
    const usage = createUsageReporter(live.session, failures);
    const started = { ...live, tools, failures, observer, usage, trouble: { aside: live.aside }, told: [] as string[] };
    let saidTooLong = false;
    live.session.onEvent((event) => {
      const notice = noticeOf(event);
      if (notice !== undefined && !(event.type === "window_exceeded" && saidTooLong)) {
        failures.notice(notice);
      }
      saidTooLong ||= event.type === "window_exceeded";
      if (event.type === "model_told") {
        started.told.push(event.line);
      }
      if (event.type === "checking_files" && ctx.hasUI) {
        if (event.files === event.of) {
          showStatus(ctx, started);
        } else {
          ctx.ui.setStatus(statusKey, checkingLine(event.files, event.of));
        }
      }
    });
    registerContextTools(
      pi,
      tools,
      () => current?.session,
      async (what, error) => {
        await failures.report(what, error);
        await leaveStore(ctx, error);
      },
    );
    toolNames = tools.map(({ name }) => name);
    return started;
  }

  /** Goes on in another store where that of the open session is lost; returns whether it did. */
  async function leaveStore(ctx: ExtensionContext, error: unknown): Promise<boolean> {
    const lost = current;
    // Nobody can damage a store in memory: that is a fault of ours, and another one would not help.
    if (lost === undefined || !isLost(error) || lost.store.path === inMemory) {
      return false;
    }
    await inTurn(async () => {
      // Several calls may find out at once.
      if (current !== lost) {
        return;
      }
      await lost.failures.log("the store of this session failed", error);
      const addon = await loadAddon();
      const live = await openElsewhere(addon, agentDir, ctx, lost, error);
      current = start(addon, live, lost.failures, ctx);
      showStatus(ctx, current);
    }).catch((failed: unknown) => lost.failures.report("no other store could be opened", failed));
    return current !== lost;
  }

  /** The messages for a call; nothing to send Pi's own. */
  async function transform(event: ContextWithSystemEvent, ctx: ExtensionContext, isAgain: boolean) {
    const asked = current;
    if (asked === undefined) {
      return undefined;
    }
    try {
      return await transformed(pi, asked, event, ctx);
    } catch (error) {
      if (!isAgain && (await leaveStore(ctx, error))) {
        return transform(event, ctx, true);
      }
      await asked.failures.report("a call went out with Pi's own messages", error);
      asked.usage.called(false);
      recordFailedCall(asked, describe(error));
      asked.trouble.failed = describe(error);
      if (current === asked) {
        showStatus(ctx, asked);
      }
      return undefined;
    }
  }

  /** Closes the open session, if there is one. `ctx`: that of the session, where it is known. */
  async function close(ctx?: ExtensionContext): Promise<void> {
    const closing = current;
    current = undefined;
    keyAttempted = undefined;
    try {
      await closing?.session.close();
    } catch (error) {
      const isKept = ctx !== undefined && isLost(error) && (await keepElsewhere(closing as Current, ctx, error));
      if (!isKept) {
        await closing?.failures.last("could not store the end of this session", error);
      }
    }
    await closing?.store.close().catch((error: unknown) => closing.failures.report("could not close the store", error));
  }

  /** Carries a session over that ends in a lost store; returns whether all of it could be read. */
  async function keepElsewhere(lost: Current, ctx: ExtensionContext, error: unknown): Promise<boolean> {
    try {
      const live = await openElsewhere(await loadAddon(), agentDir, ctx, lost, error);
      await live.close();
      if (live.isWhole && live.store.path !== inMemory) {
        await lost.failures.log("the store of this session failed", error);
        live.notices.map(lost.failures.farewell);
        return true;
      }
    } catch (failed) {
      await lost.failures.log("no other store could be opened", failed);
    }
    return false;
  }

  /** Turns Palimpsest off for this session, also when it is resumed. */
  function turnOff(ctx: ExtensionContext): Promise<void> {
    return inTurn(async () => {
      await close(ctx);
      keyAttempted = sessionKey(ctx);
      offerTools(pi, toolNames, false);
      remember(pi, { on: false });
      showOff(ctx, switchedOff);
    });
  }

  /** Turns it on again, or tries once more where it could not be opened. */
  function turnOn(ctx: ExtensionContext): Promise<void> {
    return inTurn(async () => {
      if (current !== undefined) {
        return;
      }
      if (isSwitchedOff(ctx)) {
        remember(pi, { on: true });
      }
      keyAttempted = undefined;
      isByFlag = false;
      await open(ctx);
      if (current !== undefined) {
        offerTools(pi, toolNames, true);
      }
    });
  }

  /** Goes on with another layout, also when the session is resumed. */
  function setLayout(ctx: ExtensionContext, layout: Settings["layout"]): Promise<void> {
    return inTurn(async () => {
      await close(ctx);
      remember(pi, { layout });
      await open(ctx);
    });
  }

  pi.registerFlag(flagName, {
    type: "boolean",
    default: false,
    description: "Start without Palimpsest (put it last: the next word is taken for its value)",
  });
  on("session_start", (_event, ctx) => inTurn(() => begin(ctx)));
  on("session_shutdown", (_event, ctx) => inTurn(() => close(ctx)));
  on("agent_start", (_event, ctx) => endWelcome(ctx));
  on("before_agent_start", (event) => noteHidden(pi, event));
  on("context_with_system", (event, ctx) => transform(event, ctx, false));
  on("session_before_compact", (event, ctx) =>
    current === undefined ? undefined : answerCompaction(pi, current, event, ctx),
  );
  on("before_provider_request", ({ payload }) => (current === undefined ? undefined : prepare(current, payload)));
  on("tool_call", (event) => (current === undefined ? undefined : refuseWrite(current, event)));
  on("message_end", async (event) => {
    await current?.usage.ended(event);
  });
  on("tool_execution_start", (event) => current?.observer.started(event));
  on("tool_result", (event) => current?.observer.ran(event));
  on("tool_execution_end", (event) => current?.observer.ended(event));
  on("model_select", (_event, ctx) => (current === undefined ? undefined : showStatus(ctx, current)));
  registerRows(pi);
  const host: ContextHost = {
    current: () => current,
    off: () => off,
    turnOff,
    turnOn,
    setLayout,
    settings: async (ctx) => (await loadAddon()).settingValues(settingsPlaces(agentDir, ctx)),
    chosenLayout,
  };
  pi.registerCommand("context", contextCommand(host));
}

/** Pi drops a prompt that it takes for the value of our option, and says nothing of it. */
function sayWhatIsLost(failures: Failures): void {
  const lost = swallowed(process.argv);
  if (lost !== undefined && !saidOff) {
    saidOff = true;
    failures.notice(
      `Pi took \`${cut(lost, 60)}\` for the value of \`--${flagName}\`, not for a prompt: put \`--${flagName}\` last`,
    );
  }
}

function sayOff(first: Copy, failures: Failures): void {
  if (!saidOff) {
    saidOff = true;
    failures.notice(standsAside(first));
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

/** Blocks a `write` or `edit` whose text holds a line of ours that stands for content. */
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

function modelOf(ctx: ExtensionContext) {
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

function showStatus(ctx: ExtensionContext, current: Current): void {
  if (ctx.hasUI) {
    ctx.ui.setStatus(statusKey, statusLine(current.session.status(), modelInUse(ctx)?.contextWindow, current.trouble));
  }
}
