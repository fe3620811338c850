// The newest request of a session: which of the host's messages it was made of, and how. Finds what is new in the next list, so
// that only that crosses to the native side, and applies the answer. Decides nothing.
import { reading, toJson } from "./arguments.js";
import { copyOf, equalsCopy, shareStrings } from "./json.js";
import { messageJson, messageOf } from "./long-texts.js";

/** @import { CallInfo, SessionEvent } from "../index.js" */

/**
 * A message of a request: the host's at index `host`, with its own content or another one, or a message of ours.
 * @typedef {{ host: number, content?: unknown, message?: undefined } | { message: object }} Slot
 */

/**
 * The answer to a list. The edits apply in order, each to the slots as the one before left them.
 * @typedef {object} Answer
 * @property {number} call number of the call
 * @property {{ at: number, remove: number, insert: Slot[] }[]} edits
 * @property {SessionEvent[]} events
 */

/**
 * What crosses of a list.
 * @typedef {object} Crossing
 * @property {number | null} since the call whose request this side holds; null if it holds none
 * @property {number} skip messages at the front that are the same as in that call
 * @property {(string | string[])[]} messages the others, each as `messageJson` gives it: as one text a long list would be copied again and again
 * @property {string} call what the call is made with, as JSON; system prompt and tools only if they changed
 * @property {string} prompt system prompt and tools, as JSON
 */

/** The newest request of a session. */
export class Request {
  /** @type {number | null} */
  #call = null;
  /** The host's list, as it crossed. @type {unknown[]} */
  #list = [];
  /** @type {Slot[]} */
  #slots = [];
  #prompt = "";

  /**
   * Finds what has to cross of the host's next list. Changes nothing: a list that cannot be read does no harm to the next one.
   *
   * @param {unknown[]} messages
   * @param {CallInfo | undefined} call
   * @returns {Crossing}
   */
  crossing(messages, call) {
    const skip = reading("messages", () => this.#unchanged(messages));
    const rest = reading("messages", () => Array.from(messages.slice(skip), messageJson));
    const info = reading("call", () => callInfo(call));
    const known = info.prompt === this.#prompt ? info.model : { ...info.model, ...info.fixed };
    return {
      since: this.#call,
      skip,
      messages: rest,
      call: /** @type {string} */ (reading("call", () => toJson(known))),
      prompt: info.prompt,
    };
  }

  /**
   * Applies the answer to what crossed.
   * @param {Crossing} crossing
   * @param {unknown[]} others what `crossing.messages` says, see {@link crossed}
   * @param {Answer} answer
   */
  apply(crossing, others, answer) {
    this.#call = answer.call;
    this.#prompt = crossing.prompt;
    this.#list.length = crossing.skip;
    for (const message of others) {
      this.#list.push(message);
    }
    for (const { at, remove, insert } of answer.edits) {
      // Many arguments of one call would exceed the stack.
      const behind = this.#slots.splice(at).slice(remove);
      for (const slot of [...insert, ...behind]) {
        this.#slots.push(slot);
      }
    }
  }

  /**
   * The messages that go out: the host's own objects where nothing changes, else copies that belong to the caller.
   * @param {unknown[]} messages the host's list
   * @returns {unknown[]}
   */
  build(messages) {
    return this.#slots.map((slot) => {
      if (slot.message !== undefined) {
        return copyOf(slot.message);
      }
      const message = messages[slot.host];
      return slot.content === undefined ? message : withContent(/** @type {object} */ (message), copyOf(slot.content));
    });
  }

  /** Gives the request up: the whole next list crosses. */
  clear() {
    this.#call = null;
    this.#list = [];
    this.#slots = [];
    this.#prompt = "";
  }

  /**
   * Counts the messages at the front that are the same as in the list before.
   * @param {unknown[]} messages
   */
  #unchanged(messages) {
    const list = this.#list;
    let count = 0;
    while (count < list.length && count < messages.length && equalsCopy(messages[count], list[count])) {
      count++;
    }
    return count;
  }
}

/**
 * A message with another content: that of a command which a person ran is its output.
 * @param {{ role?: unknown }} message
 * @param {unknown} content
 */
function withContent(message, content) {
  return message.role === "bashExecution" ? { ...message, output: content } : { ...message, content };
}

/**
 * What crosses of a list that is not compared with another one.
 * @param {unknown[]} messages
 * @param {CallInfo | undefined} call
 */
export function wholeCrossing(messages, call) {
  const { model, fixed } = reading("call", () => callInfo(call));
  return {
    messages: reading("messages", () => Array.from(messages, messageJson)),
    call: /** @type {string} */ (reading("call", () => toJson({ ...model, ...fixed }))),
  };
}

/**
 * The messages that crossed, as they were then; their strings are the host's own where these are the same.
 * @param {Crossing} crossing
 * @param {unknown[]} messages the host's list
 * @returns {unknown[]}
 */
export function crossed(crossing, messages) {
  const others = crossing.messages.map(messageOf);
  try {
    shareStrings(messages.slice(crossing.skip), others);
  } catch {
    // A getter that threw this time only. Nothing but memory is lost.
  }
  return others;
}

/**
 * What crosses of a call: the model, and what is mostly the same at every call. The host may have given anything.
 * @param {CallInfo | null | undefined} call
 */
function callInfo(call) {
  const { systemPrompt, tools, model, promptTokens, keptFrom, squeezeTo } = call ?? {};
  const { provider, id, contextWindow, api, baseUrl } = model ?? {};
  const { cost, promptCache, cacheRetention, cacheControlFormat } = model ?? {};
  const data = { api, baseUrl, cost, promptCache, cacheRetention, cacheControlFormat };
  const modelData = api === undefined && baseUrl === undefined ? undefined : data;
  const fixed = { systemPrompt, tools };
  return {
    model: { model: model && `${provider}/${id}`, contextWindow, modelData, promptTokens, keptFrom, squeezeTo },
    fixed,
    prompt: /** @type {string} */ (toJson(fixed)),
  };
}
