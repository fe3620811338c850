// The conversations of a process: of which one a session is, who wrote in it, and whether its tools run on this machine. Whom the host
// takes for an owner is in authority.js; what follows from it in lib/authority.js.

/**
 * @import { Conversation } from "../lib/authority.js"
 * @import { Authority } from "./authority.js"
 * @import { Choices } from "./choices.js"
 * @import { Failures } from "./failures.js"
 * @import { ToolContext } from "./host.d.ts"
 *
 * @typedef {object} Standing of a session
 * @property {Conversation} conversation whose it is
 * @property {string} name of the conversation
 * @property {boolean} isElsewhere whether its tools run where paths mean other files than on this machine
 */

/** Strangers that are kept of a conversation: as long as one of them is none of the owner's, it makes no difference how many there are. */
const maxStrangers = 8;

/** Who is in which conversation. */
export class Conversations {
  #authority;
  #choices;
  #failures;
  /** Keys of the conversations that sub-agents work for, by the sub-agent's. @type {Map<string, string>} */
  #roots = new Map();
  /** Strangers who are not written down yet, by the name of the conversation: its sub-agents, and sessions after a reset, are of it. @type {Map<string, Set<string>>} */
  #strangers = new Map();
  /** Whether an owner wrote in a conversation since the process began, where the host told of runs. @type {Map<string, boolean>} */
  #isOwnerHeard = new Map();
  /** IDs and keys of sessions whose tools are in a sandbox by the host's word. @type {Set<string>} */
  #sandboxed = new Set();

  /**
   * @param {Pick<Authority, "conversationOf" | "strangerIn" | "isOwnerNow" | "runsElsewhere">} authority
   * @param {Choices} choices
   * @param {Failures} failures
   */
  constructor(authority, choices, failures) {
    this.#authority = authority;
    this.#choices = choices;
    this.#failures = failures;
  }

  /**
   * Whose a session is, and the name of its conversation: of a sub-agent, that of the one it works for.
   * @param {string} sessionId
   * @param {string | undefined} sessionKey
   * @returns {Promise<{ conversation: Conversation, name: string }>}
   */
  async whose(sessionId, sessionKey) {
    const name = this.nameOf(sessionId, sessionKey);
    const conversation = await this.#authority.conversationOf(name);
    if (conversation !== "owner") {
      return { conversation, name };
    }
    if (this.#isOwnerHeard.get(name) === false) {
      return { conversation: "mixed", name };
    }
    // Earlier builds kept them by session ID.
    const kept = await Promise.all([name, sessionId].map((one) => this.#choices.of(one)));
    const all = [...kept.flatMap(({ strangers = [] }) => strangers), ...(this.#strangers.get(name) ?? [])];
    return { conversation: all.every((one) => this.#authority.isOwnerNow(one)) ? "owner" : "mixed", name };
  }

  /** @param {{ sessionId: string, sessionKey?: string }} who @returns {Promise<Standing>} */
  async standingOf({ sessionId, sessionKey }) {
    const { conversation, name } = await this.whose(sessionId, sessionKey);
    const isSandboxed = [sessionId, sessionKey ?? sessionId].some((known) => this.#sandboxed.has(known));
    const isElsewhere = isSandboxed || (this.#authority.runsElsewhere(sessionKey) ?? conversation !== "owner");
    return { conversation, name, isElsewhere };
  }

  /** The name of a session's conversation. @param {string} sessionId @param {string | undefined} sessionKey */
  nameOf(sessionId, sessionKey) {
    return this.#roots.get(sessionKey ?? "") ?? sessionKey ?? sessionId;
  }

  /** The host has a run of the model at hand, on somebody's word. @param {ToolContext} ctx */
  heard(ctx) {
    for (const known of [ctx.sessionId, ctx.sessionKey].filter((known) => known !== undefined)) {
      if (ctx.sandboxed === true) {
        this.#sandboxed.add(known);
      } else if (ctx.sandboxed === false) {
        this.#sandboxed.delete(known);
      }
    }
    if (ctx.sessionId === undefined) {
      return;
    }
    const name = this.nameOf(ctx.sessionId, ctx.sessionKey);
    const stranger = this.#authority.strangerIn(ctx);
    if (ctx.senderIsOwner !== undefined && stranger === undefined) {
      // Without an owner it is an operator who is none, or a run of the host's own that follows up an owner's.
      this.#isOwnerHeard.set(name, ctx.senderIsOwner || this.#isOwnerHeard.get(name) === true);
    }
    if (stranger === undefined || this.#strangers.get(name)?.has(stranger)) {
      return;
    }
    this.#strangers.set(name, new Set([...(this.#strangers.get(name) ?? []), stranger].slice(-maxStrangers)));
    void this.#failures.guarded("who writes in a session was not kept", undefined, () => this.#keep(name, stranger));
  }

  /** @param {string} name of a conversation @param {string} stranger */
  async #keep(name, stranger) {
    if ((await this.#authority.conversationOf(name)) !== "owner") {
      // It is not the owner's whoever writes there.
      this.#strangers.delete(name);
      return;
    }
    const { strangers = [] } = await this.#choices.of(name);
    const all = [...new Set([...strangers, stranger])].slice(-maxStrangers);
    const problem = await this.#choices.take(name, { strangers: all });
    if (problem !== undefined) {
      throw new Error(problem);
    }
  }

  /** A sub-agent is about to start. @param {string} childKey @param {string} parentKey */
  willSpawn(childKey, parentKey) {
    this.#roots.set(childKey, this.#roots.get(parentKey) ?? parentKey);
  }

  /** A sub-agent ended. @param {string} childKey */
  forgetChild(childKey) {
    this.#roots.delete(childKey);
  }
}
