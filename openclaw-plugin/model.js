// What OpenClaw says of the model of a call, as the session takes it: window, prices, how requests are sent. Decides nothing.

/**
 * @import { ModelInfo, ModelRates } from "../index.js"
 * @import { AssembleParams, HostConfig, HostMessage } from "./host.d.ts"
 */

/** Bytes of a request that stand for a token. */
const bytesPerToken = 4;

/** What is known of the room for requests of a session. The host tells it in pieces. */
export class Room {
  /** Of the model, in tokens. @type {number | undefined} */
  #window;
  /** The host's estimate of the system prompt, without tools. */
  #estimated = 0;
  /** System prompt and tools, by the size of a request that went out. @type {number | undefined} */
  #measured;
  /** What the first request was taken for, by that size. @type {number | undefined} */
  #first;
  #isReported = false;
  /** A limit that counts beside the window: what the provider refused was longer. @type {number | undefined} */
  #limit;

  /** Of the model; undefined if it is not known. */
  get whole() {
    return this.#window;
  }

  /** The window as the session is to take it; it keeps room for the answer free by itself. */
  get window() {
    return this.#window === undefined ? undefined : Math.min(this.#window, this.#limit ?? this.#window);
  }

  /** Tokens of system prompt and tools. What the session knows by reports is of a first figure, so the next ones are in the same measure. */
  get promptTokens() {
    const measured = this.#measured ?? this.#estimated;
    return this.#isReported && this.#first !== undefined ? Math.round(measured * this.#first) : measured;
  }

  /** An answer said what its request had. */
  reported() {
    this.#isReported = true;
  }

  /**
   * Takes what an `assemble` before the prompt says. Its budget is what the window has beside the answer and the system prompt.
   * @param {AssembleParams} params
   * @param {number | undefined} window by the configuration
   */
  beforePrompt({ tokenBudget, runtimeSettings }, window) {
    const answer = runtimeSettings?.limits?.maxOutputTokens ?? 0;
    this.#window = window ?? this.#window ?? tokenBudget;
    if (this.#window !== undefined && tokenBudget !== undefined) {
      this.#estimated = Math.max(0, this.#window - answer - tokenBudget);
    }
  }

  /**
   * Takes what an `assemble` within the turn says: its limit is the window itself.
   * @param {AssembleParams} params
   */
  within({ runtimeSettings }) {
    const window = runtimeSettings?.limits?.promptTokenBudget;
    if (typeof window === "number" && window > 0) {
      this.#window = window;
    }
  }

  /**
   * Takes the size of a request that went out.
   * @param {number} bytes
   * @param {readonly HostMessage[]} messages that stood in it
   */
  sent(bytes, messages) {
    const tokens = Math.round((bytes - sizeOf(messages)) / bytesPerToken);
    const known = this.#measured;
    if (tokens > 0) {
      const first = this.#estimated / tokens;
      // Of a request that was taken for much less or more, as where the host tells nothing of many tools, the session believes no report.
      this.#first ??= first > 2 / 3 && first < 4 / 3 ? first : 1;
    }
    // A figure that moves with each request would say nothing.
    if (tokens > 0 && (known === undefined || Math.abs(tokens - known) > known / 20)) {
      this.#measured = tokens;
    }
  }

  /** Less fits than was known. @param {number} tokens */
  limitTo(tokens) {
    this.#limit = tokens;
  }
}

/** Bytes of messages as a provider gets them, about. @param {readonly HostMessage[]} messages */
function sizeOf(messages) {
  const texts = messages.map(({ role, content, toolCallId }) => JSON.stringify({ role, content, toolCallId }));
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
}

/**
 * The model of a call.
 * @param {string | undefined} id
 * @param {string | undefined} provider
 * @param {HostConfig | undefined} config
 * @param {Rates} rates learned from answers
 * @returns {ModelInfo | undefined}
 */
export function modelOf(id, provider, config, rates) {
  if (id === undefined || provider === undefined) {
    return undefined;
  }
  const served = config?.models?.providers?.[provider];
  const model = served?.models?.find((known) => known.id === id);
  const { input = 0, cacheRead = 0, cacheWrite = 0 } = model?.cost ?? {};
  const cost = input > 0 ? { input, cacheRead, cacheWrite } : rates.of(`${provider}/${id}`);
  return {
    provider,
    id,
    contextWindow: model?.contextWindow,
    api: model?.api ?? served?.api ?? rates.api(`${provider}/${id}`),
    baseUrl: model?.baseUrl ?? served?.baseUrl,
    cost,
    cacheRetention: retentionOf(config?.agents?.defaults?.models?.[`${provider}/${id}`]?.params?.cacheRetention),
  };
}

/** @param {unknown} value @returns {ModelInfo["cacheRetention"]} */
function retentionOf(value) {
  return value === "none" || value === "short" || value === "long" ? value : undefined;
}

/** What tokens cost by the answers: models of the host's own catalogue are not in its configuration. */
export class Rates {
  /** @type {Map<string, Partial<ModelRates>>} */
  #models = new Map();
  /** @type {Map<string, string>} */
  #apis = new Map();

  /** Takes what an answer cost. @param {HostMessage} message */
  learn({ provider, model, api, usage }) {
    const { cost, ...tokens } = /** @type {Usage} */ (usage ?? {});
    const name = `${provider}/${model}`;
    if (typeof api === "string") {
      this.#apis.set(name, api);
    }
    const known = this.#models.get(name) ?? {};
    for (const kind of /** @type {const} */ (["input", "cacheRead", "cacheWrite"])) {
      const [sum, count] = [cost?.[kind] ?? 0, tokens[kind] ?? 0];
      if (sum > 0 && count > 0) {
        known[kind] ??= Number(((sum / count) * 1_000_000).toPrecision(4));
      }
    }
    this.#models.set(name, known);
  }

  /** Nothing before the price of cached tokens is known: that decides. @param {string} name @returns {ModelRates | undefined} */
  of(name) {
    const { input, cacheRead, cacheWrite } = this.#models.get(name) ?? {};
    return input === undefined || cacheRead === undefined
      ? undefined
      : { input, cacheRead, cacheWrite: cacheWrite ?? input };
  }

  /** The wire format. @param {string} name */
  api(name) {
    return this.#apis.get(name);
  }
}

/**
 * @typedef {{ input?: number, cacheRead?: number, cacheWrite?: number, output?: number,
 *   cost?: { input?: number, cacheRead?: number, cacheWrite?: number } }} Usage
 */
