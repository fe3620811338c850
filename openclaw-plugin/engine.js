// The context engine: one instance serves one logical turn. OpenClaw calls `assemble` once before the prompt, for the history without the
// turn, and then before each call to the model, for the same history; the messages of the turn itself it sends behind what we return. So
// the first answer leaves the history as it is, and every later one says how it goes out. A callback that fails answers as if we were not
// there. Decides nothing about contexts.
import { tools } from "../index.js";
import { describe } from "../lib/failures.js";
import { modelOf } from "./model.js";
import { guidance } from "./tools.js";
import { asSent, Calls, toHost, toSession, withImages } from "./turn.js";

/**
 * @import { CallInfo } from "../index.js"
 * @import { AssembleParams, AssembleResult, CommitParams, CompactParams, CompactResult, ContextEngine, EngineContext, HostFunctions,
 *   HostMessage, SpawnParams } from "./host.d.ts"
 * @import { Plugin } from "./plugin.js"
 * @import { Current } from "./sessions.js"
 */

/** The engine's ID, which the slot of the configuration names. */
export const engineId = "palimpsest";

/** What the host must be able to do: where a run cannot ask us, it must not look as if it had. */
const hostRequirements = {
  "agent-run": {
    requiredCapabilities: ["assemble-before-prompt"],
    unsupportedMessage:
      "Palimpsest cannot manage the context of this runtime. Use the embedded runtime of OpenClaw, or set plugins.slots.contextEngine to legacy.",
  },
};

/** Characters that stand for a token in estimates for the host's diagnostics. */
const charactersPerToken = 4;

/** Share of a refused request that the next one may have. */
const afterOverflow = 0.8;

/** @implements {ContextEngine} */
export class Engine {
  #plugin;
  #ctx;
  #host;
  /** The turn that the instance serves. @type {{ sessionId: string, sessionKey?: string } | undefined} */
  #turn;
  /** The session, which must not close while the turn runs; undefined where Palimpsest is off, or its store was lost in this turn. @type {Current | undefined} */
  #current;
  #addition = "";
  /** The history of the turn as it was before the prompt. @type {readonly HostMessage[]} */
  #history = [];

  /**
   * @param {Plugin} plugin
   * @param {EngineContext} ctx
   * @param {HostFunctions} host
   */
  constructor(plugin, ctx, host) {
    this.#plugin = plugin;
    this.#ctx = ctx;
    this.#host = host;
  }

  /** Read again whenever the host asks: where we are off, its own compaction has to work. */
  get info() {
    const ownsCompaction = this.#turn === undefined || !this.#plugin.sessions.isOff(this.#turn.sessionId);
    return {
      id: engineId,
      name: "Palimpsest",
      version: this.#plugin.version,
      ownsCompaction,
      transcriptSemantics: {
        currentTurnFence: "before-current-turn-entry-v1",
        turnAdvancementIdempotency: "atomic-idempotent-v1",
      },
      hostRequirements,
    };
  }

  /** Nothing to import: the first `assemble` gets the whole history, and the session takes from it what it does not know. */
  async bootstrap() {
    return { bootstrapped: true, importedMessages: 0 };
  }

  /** Only runs without a durable transcript call it; their `assemble` gets every message. */
  async ingest() {
    return { ingested: false };
  }

  /** Nothing to do: we keep no copies of the transcript, and the store is changed by people only. */
  async maintain() {
    return { changed: false, bytesFreed: 0, rewrittenEntries: 0 };
  }

  /** @param {AssembleParams} params @returns {Promise<AssembleResult>} */
  async assemble(params) {
    const { messages } = params;
    const made = await this.#plugin.failures.guarded("a call went out with OpenClaw's own messages", undefined, () =>
      isBeforePrompt(params, this.#turn) ? this.#begin(params) : this.#within(params),
    );
    const answer = made ?? plain(this.#plugin.historyOf(params.sessionId) ?? asSent(messages, []));
    return this.#addition === "" ? answer : { ...answer, systemPromptAddition: this.#addition };
  }

  /**
   * Before the prompt of an attempt. No request goes out with this answer where the host asks again before each call.
   * @param {AssembleParams} params
   */
  async #begin(params) {
    const { sessionId, sessionKey, messages, prompt } = params;
    this.#turn = { sessionId, sessionKey };
    this.#history = messages;
    this.#plugin.begin(sessionId, sessionKey, messages, prompt);
    const cwd = this.#ctx.workspaceDir ?? process.cwd();
    this.#use(await this.#plugin.sessions.of({ sessionId, sessionKey, cwd }));
    await this.#remember(sessionId, messages);
    this.#addition = await this.#additionFor(params);
    return asksAgain(params) ? plain(messages) : this.#within(params);
  }

  /** What the system prompt gets: the rule for our lines, memory, and what the active memory plugin has for it. @param {AssembleParams} params */
  async #additionFor(params) {
    const current = this.#current;
    const { sessionKey, availableTools = new Set(), citationsMode } = params;
    const { failures } = this.#plugin;
    if (current !== undefined) {
      current.room.beforePrompt(params, this.#model(params)?.contextWindow);
    }
    const asked = { tools: [...availableTools].map((name) => ({ name })) };
    const own =
      current === undefined
        ? []
        : [guidance, await current.memory.section({ ...this.#call(current, params, undefined), ...asked })];
    const theirs = await failures.guarded("the prompt of the memory plugin is missing", undefined, async () =>
      this.#host.buildMemorySystemPromptAddition({ availableTools, citationsMode, agentSessionKey: sessionKey }),
    );
    return [...own, theirs].filter((text) => text !== undefined && text !== "").join("\n\n");
  }

  /** Before a call to the model. @param {AssembleParams} params */
  async #within(params) {
    if (this.#current !== (await this.#plugin.sessions.opened(params.sessionId))) {
      // A person turned it off since. On again, it counts from the next turn.
      this.#use(undefined);
    }
    this.#current?.room.within(params);
    await this.#remember(params.sessionId, withImages(this.#history, params.messages));
    return this.#assembled(params, this.#plugin.historyOf(params.sessionId) ?? params.messages);
  }

  /** @param {string} sessionId @param {readonly HostMessage[]} history */
  async #remember(sessionId, history) {
    this.#plugin.remember(sessionId, history, (await this.#current?.sentOf(history)) ?? []);
  }

  /**
   * The history as it goes out.
   * @param {AssembleParams} params
   * @param {readonly HostMessage[]} history
   * @returns {Promise<AssembleResult>}
   */
  async #assembled(params, history) {
    const current = this.#current;
    if (current === undefined) {
      return plain(history);
    }
    const { failures, sessions } = this.#plugin;
    const turn = this.#plugin.heard(params.sessionKey).messages;
    const calls = new Calls();
    const before = toSession(history, calls);
    const running = toSession(turn, calls);
    const messages = [...before, ...running];
    try {
      const squeezeTo = current.squeezeTo;
      const call = { ...this.#call(current, params, this.#addition), keptFrom: before.length, squeezeTo };
      const all = await current.session.transformContext(messages, call);
      const out = all.slice(0, all.length - running.length);
      const answer = toHost(out, messages, calls);
      current.isOurs = true;
      current.failed = undefined;
      // The first request of a turn says how long system prompt and tools are; the others have the same.
      current.sent = turn.length <= 1 ? [...answer, ...turn] : undefined;
      current.spoken = [...history, ...turn].filter(({ role }) => role === "user");
      current.squeezeTo = undefined;
      return { messages: answer, estimatedTokens: current.session.status().windowTokens };
    } catch (error) {
      current.isOurs = false;
      current.failed = describe(error);
      await failures.report("a call went out with OpenClaw's own messages", error);
      await failures.guarded("a failed call could not be recorded", undefined, async () =>
        current.session.recordFailedCall(describe(error)),
      );
      if (await sessions.giveUp(params.sessionId, error)) {
        this.#use(undefined);
      }
      return plain(history);
    }
  }

  /** @param {AssembleParams} params */
  #model({ model, runtimeSettings }) {
    const { resolved, requested, provider } = runtimeSettings?.model ?? {};
    const config = this.#plugin.config ?? this.#ctx.config;
    return modelOf(resolved ?? model ?? requested ?? undefined, provider ?? undefined, config, this.#plugin.rates);
  }

  /**
   * What the session is told of a call. Of the system prompt and the tools the host tells only how long they are; ours stand there.
   * @param {Current} current
   * @param {AssembleParams} params
   * @param {string | undefined} systemPrompt
   * @returns {CallInfo}
   */
  #call({ room }, params, systemPrompt) {
    const model = this.#model(params);
    const known = model && { ...model, contextWindow: room.window ?? model.contextWindow };
    const definitions = tools().map(({ name, description, parameters }) => ({ name, description, parameters }));
    const prompt = systemPrompt === undefined ? {} : { systemPrompt, tools: definitions };
    return { ...prompt, model: known, promptTokens: room.promptTokens };
  }

  /** @param {CompactParams} params @returns {Promise<CompactResult>} */
  async compact(params) {
    const { sessionId, sessionKey, compactionTarget, currentTokenCount } = params;
    const cwd = this.#ctx.workspaceDir ?? process.cwd();
    const current = await this.#plugin.sessions.of({ sessionId, sessionKey, cwd });
    const isHost = current === undefined || current.failed !== undefined || current.isLimited;
    if (isHost) {
      // Off, failing, or a request was refused again: the host's own way, which asks the model for a summary.
      return this.#host.delegateCompactionToRuntime(params);
    }
    const tokens = currentTokenCount ?? current.session.status().requestTokens;
    if (compactionTarget === "budget") {
      current.isLimited = true;
      current.room.limitTo(Math.floor(tokens * afterOverflow));
      return {
        ok: true,
        compacted: true,
        reason: "Palimpsest lets content leave before the next call; all of it stays in its store",
        result: { tokensBefore: tokens },
      };
    }
    current.squeezeTo = Math.max(1, tokens);
    return {
      ok: true,
      compacted: false,
      reason: "Palimpsest needs no summary: before the next call everything leaves that may, and stays in its store",
    };
  }

  /** @param {CommitParams} params @returns {Promise<{ status: "committed" | "duplicate" }>} */
  async commitTurn({ sessionId, sessionKey, advancementKey, messages }) {
    const cwd = this.#ctx.workspaceDir ?? process.cwd();
    const { sessions } = this.#plugin;
    const current = await sessions.of({ sessionId, sessionKey, cwd });
    try {
      return current === undefined
        ? { status: "committed" }
        : { status: await current.session.commitTurn(advancementKey, toSession(messages, new Calls())) };
    } catch (error) {
      await this.#plugin.failures.report("a finished turn was not stored yet", error);
      await sessions.giveUp(sessionId, error);
      // The next `assemble` has it, too. Where this rejects, the host uses its own engine until it does not: what was typed to us would go out.
      return { status: "committed" };
    } finally {
      this.#plugin.heard(sessionKey).forget(messages);
    }
  }

  /** @param {SpawnParams} params */
  async prepareSubagentSpawn({ contextMode, parentSessionKey, parentSessionId, childSessionId, childSessionKey }) {
    const children = [childSessionId, childSessionKey].filter((child) => child !== undefined);
    const { sessions } = this.#plugin;
    sessions.conversations.willSpawn(childSessionKey, parentSessionKey);
    if (contextMode === "fork" && parentSessionId !== undefined) {
      sessions.willFork(children, parentSessionId);
    }
    return {
      async rollback() {
        sessions.forgetFork(children);
        sessions.conversations.forgetChild(childSessionKey);
      },
    };
  }

  /** @param {{ childSessionKey: string }} params */
  async onSubagentEnded({ childSessionKey }) {
    await this.#plugin.endOf(childSessionKey);
  }

  /** The turn is over. Nothing closes: the next one goes on in the same session. */
  async dispose() {
    if (this.#turn !== undefined) {
      this.#plugin.end(this.#turn.sessionId, this.#turn.sessionKey);
      this.#turn = undefined;
    }
    this.#use(undefined);
  }

  /** @param {Current | undefined} current */
  #use(current) {
    if (this.#current !== undefined) {
      this.#current.users--;
    }
    if (current !== undefined) {
      current.users++;
    }
    this.#current = current;
  }
}

/**
 * Whether an `assemble` comes before the prompt of an attempt: the first one of a turn, and those after a failed attempt. Only they know
 * how long an answer may be.
 * @param {AssembleParams} params
 * @param {{ sessionId: string } | undefined} turn
 */
function isBeforePrompt({ sessionId, runtimeSettings }, turn) {
  return turn?.sessionId !== sessionId || typeof runtimeSettings?.limits?.maxOutputTokens === "number";
}

/** Whether the host asks again before each call. Others, such as that of Codex, ask once per turn. @param {AssembleParams} params */
function asksAgain({ runtimeSettings }) {
  return runtimeSettings?.executionHost?.id === "openclaw-embedded";
}

/** A list as the host has it. @param {readonly HostMessage[]} messages @returns {AssembleResult} */
function plain(messages) {
  const lengths = messages.map(({ content }) => JSON.stringify(content ?? "").length);
  const characters = lengths.reduce((sum, length) => sum + length, 0);
  return { messages: [...messages], estimatedTokens: Math.ceil(characters / charactersPerToken) };
}
