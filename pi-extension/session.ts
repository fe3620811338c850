// The life of the open session behind a Pi: opened, closed, turned off and on, carried over to another store where its own is lost. At
// most one is open. What is done in an open session is in index.ts and observe.ts; how store and session are opened, in live.ts.
import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { isLost } from "../lib/failures.js";
import { watchSharing } from "../lib/sharing.js";
import { cut } from "../lib/words.js";
import { type Addon, type ContextTool, loadAddon, once, type SessionEvent } from "./addon.ts";
import { createFailures, environment, type Failures, type openExtensionLog } from "./failures.ts";
import type { Inspector } from "./inspector.ts";
import {
  type Choices,
  flagName,
  inMemory,
  isForgotten,
  isSwitchedOff,
  type Live,
  type Off,
  offByError,
  offByFlag,
  offBySettings,
  offerTools,
  openElsewhere,
  openLive,
  remember,
  sessionKey,
  settingsPlaces,
  swallowed,
  switchedOff,
} from "./live.ts";
import { createObserver, createUsageReporter, modelInUse, type Observer, type UsageReporter } from "./observe.ts";
import { foreignTools, registerContextTools } from "./tools.ts";
import { checkingLine, noticeOf, offLine, statusLine, type Trouble } from "./words.ts";

/** A Pi session with Palimpsest on. */
export interface Current extends Live {
  readonly tools: readonly ContextTool[];
  /** The names under which the model is offered them. */
  readonly toolNames: Set<string>;
  readonly failures: Failures;
  readonly observer: Observer;
  readonly usage: UsageReporter;
  readonly trouble: Trouble;
  /** First lines of the notes that the next request has for the model. */
  readonly told: string[];
  /** Ends the looks at the shared store. */
  endLooks(): void;
}

const statusKey = "palimpsest";

/** The notice of the first session; most have none. */
export const loadWelcome = once(() => import("./welcome.ts"));

/** Only where we are off. */
const loadPlainRequest = once(() => import("./plain-request.ts"));

const loadInspector = once(() => import("./inspector.ts"));

/** Whether the user was told what `--no-context` cost. */
let saidLost = false;

/** The session of one Pi, with its ways on and off. */
export class SessionLife {
  readonly #pi: ExtensionAPI;
  readonly #agentDir: string;
  readonly #log: ReturnType<typeof openExtensionLog>;
  #current: Current | undefined;
  #off: Off | undefined;
  /** Opening and closing take turns: in RPC mode a session starts twice, and a shutdown may come while it is still opening. */
  #turn: Promise<void> = Promise.resolve();
  #keyAttempted: string | undefined;
  #toolNames: string[] = [];
  /** Those of them that the model was offered when the person left a place in Pi's tree. */
  #offered: string[] = [];
  /** Undefined until somebody asks for it. */
  #inspector: Inspector | undefined;
  /** Whether `--no-context` counts still: `/context on` overrides it. */
  #isByFlag = true;

  constructor(pi: ExtensionAPI, agentDir: string, log: ReturnType<typeof openExtensionLog>) {
    this.#pi = pi;
    this.#agentDir = agentDir;
    this.#log = log;
  }

  /** The open session; undefined where Palimpsest is off. */
  get current(): Current | undefined {
    return this.#current;
  }

  /** Why it is off. `/context` says it again, since Pi shows what is said at the start of a resumed session above its messages. */
  get off(): Off | undefined {
    return this.#off;
  }

  /** Opens the session of `ctx`, unless that was tried. Never rejects. */
  begin(ctx: ExtensionContext): Promise<void> {
    return this.#inTurn(async () => {
      await this.#open(ctx);
      const open = this.#current;
      if (open !== undefined && open.store.path !== inMemory && ctx.hasUI) {
        await (await loadWelcome()).welcomeOnce(ctx, this.#agentDir, open.store.path);
      }
    });
  }

  /** Closes it with Pi's session. */
  end(ctx: ExtensionContext): Promise<void> {
    return this.#inTurn(async () => {
      await this.#inspector?.end();
      await this.#storeAnswer(ctx);
      await this.#close(ctx);
    });
  }

  /**
   * Stores the last answer, which no call has brought: who goes on elsewhere finds it. Not before the end, since other extensions may
   * change what the next call brings.
   */
  async #storeAnswer(ctx: ExtensionContext): Promise<void> {
    const { id, messages } = answeredTurn(ctx);
    if (id !== undefined) {
      const { session, failures } = this.#current ?? {};
      await session?.commitTurn(id, messages).catch((error) => failures?.log("the last answer is not stored", error));
    }
  }

  /** Turns Palimpsest off for this session, also when it is resumed. */
  turnOff(ctx: ExtensionContext): Promise<void> {
    return this.#inTurn(async () => {
      await this.#inspector?.end();
      await this.#close(ctx);
      this.#keyAttempted = sessionKey(ctx);
      offerTools(this.#pi, this.#toolNames, []);
      remember(this.#pi, { on: false });
      this.#showOff(ctx, switchedOff);
    });
  }

  /** Turns it on again, or tries once more where it could not be opened. */
  turnOn(ctx: ExtensionContext): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#current !== undefined) {
        return;
      }
      if (isSwitchedOff(ctx)) {
        remember(this.#pi, { on: true });
      }
      this.#keyAttempted = undefined;
      this.#isByFlag = false;
      await this.#open(ctx);
      await this.#offer(ctx);
      if (this.#current !== undefined) {
        offerTools(this.#pi, this.#toolNames, this.#toolNames);
      }
    });
  }

  /** Offers our tools to the model, under names that no other extension has. */
  offer(ctx: ExtensionContext): Promise<void> {
    return this.#inTurn(() => this.#offer(ctx));
  }

  /** The person leaves a place in Pi's tree. */
  leavePlace(): void {
    const active = this.#pi.getActiveTools();
    this.#offered = this.#toolNames.filter((name) => active.includes(name));
  }

  /** The person came to another place there, and Pi offers the tools again that were offered there: whether ours are does not change. */
  reachPlace(): void {
    offerTools(this.#pi, this.#toolNames, this.#offered);
  }

  async #offer(ctx: ExtensionContext): Promise<void> {
    const current = this.#current;
    if (current === undefined) {
      return;
    }
    const taken = foreignTools(this.#pi, current.tools);
    if (current.toolNames.size > 0 && !taken.some((name) => current.toolNames.has(name))) {
      return;
    }
    try {
      const tools = await current.session.tools(taken);
      const before = this.#toolNames;
      this.#toolNames = tools.map(({ name }) => name);
      current.toolNames.clear();
      for (const name of this.#toolNames) {
        current.toolNames.add(name);
      }
      registerContextTools(
        this.#pi,
        tools,
        () => this.#current?.session,
        async (what, error) => {
          await current.failures.report(what, error);
          await this.leaveStore(ctx, error);
        },
      );
      this.#endNames(current, before, taken);
    } catch (error) {
      await this.#close(ctx);
      this.#keyAttempted = sessionKey(ctx);
      this.#showOff(ctx, offByError(error));
      await current.failures.report("off for this session, Pi works as without it", error);
    }
  }

  /** Takes from the model what our tools were called before, and says why they have other names. */
  #endNames({ tools, toolNames, failures }: Current, before: readonly string[], taken: readonly string[]): void {
    const ended = before.filter((name) => !toolNames.has(name));
    if (ended.length > 0) {
      offerTools(
        this.#pi,
        ended.filter((name) => !taken.includes(name)),
        [],
      );
    }
    const isNew = before.length === 0 || ended.length > 0;
    if (isNew && tools.some(({ name }) => taken.includes(name))) {
      const names = `\`${this.#toolNames.join("`, `")}\``;
      failures.notice(`another extension has a tool with a name of ours: in this session ours are ${names}`);
    }
  }

  /** Goes on with a setting that the person chose, also when the session is resumed. */
  choose(ctx: ExtensionContext, choice: Partial<Choices>): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#current?.store.path === inMemory) {
        await this.#inspector?.end();
      }
      await this.#close(ctx);
      remember(this.#pi, choice);
      await this.#open(ctx);
      await this.#offer(ctx);
    });
  }

  /** Goes on in another store where that of the open session is lost; returns whether it did. */
  async leaveStore(ctx: ExtensionContext, error: unknown): Promise<boolean> {
    const lost = this.#current;
    // Nobody can damage a store in memory: that is a fault of ours, and another one would not help.
    if (lost === undefined || !isLost(error) || lost.store.path === inMemory) {
      return false;
    }
    await this.#inTurn(async () => {
      // Several calls may find out at once.
      if (this.#current !== lost) {
        return;
      }
      await this.#inspector?.end();
      await lost.failures.log("the store of this session failed", error);
      lost.endLooks();
      const addon = await loadAddon();
      const live = await openElsewhere(addon, this.#agentDir, ctx, lost, error);
      this.#current = this.#start(addon, live, lost.failures, ctx);
      await this.#offer(ctx);
      showStatus(ctx, this.#current);
    }).catch((failed: unknown) => lost.failures.report("no other store could be opened", failed));
    return this.#current !== lost;
  }

  /** Shows the session in the browser while it lasts, also where Palimpsest is off; returns what the person is told. */
  inspect(ctx: ExtensionContext): Promise<string> {
    return this.#inTurn(async () => {
      const loaded = await loadInspector();
      this.#inspector ??= new loaded.Inspector(this.#agentDir);
      return this.#inspector.open(ctx, this.#current);
    });
  }

  /** All settings with who set them. */
  async settings(ctx: ExtensionContext) {
    return (await loadAddon()).settingValues(settingsPlaces(this.#agentDir, ctx));
  }

  #inTurn<T>(action: () => Promise<T>): Promise<T> {
    const next = this.#turn.then(action);
    this.#turn = next.then(
      () => {},
      () => {},
    );
    return next;
  }

  async #open(ctx: ExtensionContext): Promise<void> {
    if (this.#keyAttempted === sessionKey(ctx)) {
      return;
    }
    await this.#close();
    this.#keyAttempted = sessionKey(ctx);
    this.#off = undefined;
    const failures = createFailures(this.#log, ctx);
    if (isSwitchedOff(ctx)) {
      this.#showOff(ctx, switchedOff);
      await this.#sayWhatGoesOut(failures, ctx);
      return;
    }
    if (this.#isByFlag && this.#pi.getFlag(flagName) === true) {
      this.#showOff(ctx, offByFlag);
      sayWhatIsLost(failures);
      await this.#sayWhatGoesOut(failures, ctx);
      return;
    }
    await this.#openWith(failures, ctx);
  }

  async #openWith(failures: Failures, ctx: ExtensionContext): Promise<void> {
    let live: Live | undefined;
    try {
      const addon = await loadAddon();
      live = await openLive(addon, this.#agentDir, ctx);
      if (live === undefined) {
        this.#showOff(ctx, offBySettings(this.#agentDir));
        return;
      }
      this.#current = this.#start(addon, live, failures, ctx);
      void this.#log.write("info", `session ${live.session.id} is open: ${environment(addon, live.store.path)}`);
      if (this.#log.wrongLevel !== undefined) {
        failures.notice(this.#log.wrongLevel);
      }
      showStatus(ctx, this.#current);
    } catch (error) {
      this.#current = undefined;
      this.#showOff(ctx, offByError(error));
      if (isForgotten(error)) {
        failures.notice("off for this session, which you had forgotten; Pi works as without it");
        return;
      }
      await failures.report("off for this session, Pi works as without it", error);
      await this.#sayWhatGoesOut(failures, ctx);
      await live?.close().catch((closing: unknown) => failures.report("could not close the store", closing));
    }
  }

  /** Says how large the next request of a session is in which we are off, where that is much. */
  async #sayWhatGoesOut(failures: Failures, ctx: ExtensionContext): Promise<void> {
    try {
      const text = (await loadPlainRequest()).plainRequest(this.#pi, ctx);
      if (text !== undefined) {
        failures.notice(`off in this session. ${text}`);
      }
    } catch (error) {
      await failures.log("the size of the next request is not known", error);
    }
  }

  #start(addon: typeof Addon, live: Live, failures: Failures, ctx: ExtensionContext): Current {
    const tools = addon.tools();
    const toolNames = new Set<string>();
    for (const notice of live.notices) {
      failures.notice(notice);
    }
    const started: Current = {
      ...live,
      tools,
      toolNames,
      failures,
      observer: createObserver(live.session, failures, toolNames),
      usage: createUsageReporter(live.session, failures),
      trouble: { aside: live.aside },
      told: [],
      endLooks: watchSharing(() => live.session.sharing(), {
        changed: (mark) => {
          started.trouble.sharing = mark;
          if (this.#current === started) {
            showStatus(ctx, started);
          }
        },
        notice: failures.notice,
      }),
    };
    listen(started, ctx);
    return started;
  }

  /** Closes the open session, if there is one. `ctx`: that of the session, where it is known. */
  async #close(ctx?: ExtensionContext): Promise<void> {
    const closing = this.#current;
    this.#current = undefined;
    this.#keyAttempted = undefined;
    closing?.endLooks();
    try {
      await closing?.session.close();
    } catch (error) {
      const isKept = ctx !== undefined && isLost(error) && (await this.#keepElsewhere(closing as Current, ctx, error));
      if (!isKept) {
        await closing?.failures.last("could not store the end of this session", error);
      }
    }
    await closing?.store.close().catch((error: unknown) => closing.failures.report("could not close the store", error));
  }

  /** Carries a session over that ends in a lost store; returns whether all of it could be read. */
  async #keepElsewhere(lost: Current, ctx: ExtensionContext, error: unknown): Promise<boolean> {
    try {
      const live = await openElsewhere(await loadAddon(), this.#agentDir, ctx, lost, error);
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

  /** Says in the status line that Palimpsest is off, and why. */
  #showOff(ctx: ExtensionContext, because: Off): void {
    this.#off = because;
    showLine(ctx, () => offLine(because.why));
  }
}

/** Shows a person what the events of a session mean, and keeps what the model is told for the transcript. */
function listen(started: Current, ctx: ExtensionContext): void {
  let saidTooLong = false;
  started.session.onEvent((event: SessionEvent) => {
    const notice = noticeOf(event);
    if (notice !== undefined && !(event.type === "window_exceeded" && saidTooLong)) {
      started.failures.notice(notice);
    }
    saidTooLong ||= event.type === "window_exceeded";
    if (event.type === "model_told") {
      started.told.push(event.line);
    }
    if (event.type === "checking_files") {
      if (event.files === event.of) {
        showStatus(ctx, started);
      } else {
        showLine(ctx, () => checkingLine(event.files, event.of));
      }
    }
  });
}

/** Shows in the status line how an open session stands. */
export function showStatus(ctx: ExtensionContext, current: Current): void {
  showLine(ctx, () => statusLine(current.session.status(), modelInUse(ctx)?.contextWindow, current.trouble));
}

/** Shows our line in the footer, where there is one. */
function showLine(ctx: ExtensionContext, line: () => string): void {
  try {
    if (ctx.hasUI) {
      ctx.ui.setStatus(statusKey, line());
    }
  } catch {
    // The host may be shutting down. A line in its footer must not cost a call.
  }
}

/** Pi drops a prompt that it takes for the value of our option, and says nothing of it. */
function sayWhatIsLost(failures: Failures): void {
  const lost = swallowed(process.argv);
  if (lost !== undefined && !saidLost) {
    saidLost = true;
    failures.notice(
      `Pi took \`${cut(lost, 60)}\` for the value of \`--${flagName}\`, not for a prompt: put \`--${flagName}\` last`,
    );
  }
}

/** The newest turn of a session, with the ID of its last entry; nothing where it has no answer. */
function answeredTurn(ctx: ExtensionContext) {
  const entries = ctx.sessionManager.getBranch().filter((entry) => entry.type === "message");
  const start = entries.findLastIndex(({ message }) => message.role === "user");
  const last = entries.at(-1);
  const isAnswered = start >= 0 && last?.message.role === "assistant" && last.message.stopReason === "stop";
  const messages = entries.slice(Math.max(0, start)).map(({ message }) => message);
  return { id: isAnswered ? last.id : undefined, messages };
}
