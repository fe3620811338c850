// Memory behind a session: what the system prompt says of it, and what tools write there. Global memory is one for Pi and OpenClaw; what
// others may read, a group or a channel, gets none of it. Decides nothing about what stands in the prompt, and none of it rejects.
import * as addon from "../index.js";
import { afterTool, beforeTool } from "../lib/memory-tools.js";
import { piAgentDir } from "../lib/places.js";

/**
 * @import { CallInfo, Memory, Session, Store } from "../index.js"
 * @import { Guarded } from "../lib/memory-tools.js"
 * @import { Failures } from "./failures.js"
 */

/** Parts of a session key behind which more than one person may read. */
const sharedKinds = new Set(["group", "channel", "room", "guild", "space"]);
/** Sub-agents: what they say goes to whom their parent answers. */
const childKind = "subagent";

/**
 * Whether others than the user may read what is said in a session. A sub-agent's key does not say who reads its parent's chat: it counts
 * as shared where the parent is not known.
 * @param {string | undefined} sessionKey
 */
export function isShared(sessionKey) {
  return (sessionKey ?? "").split(":").some((part) => sharedKinds.has(part) || part === childKind);
}

/** The memory of one session. */
export class SessionMemory {
  /** @type {Memory | undefined} */
  #memory;
  #open;
  #session;
  #failures;
  #cwd;
  /** @type {Guarded} */
  #guarded = (what, work) => this.#failures.guarded(what, undefined, work);
  #settled = false;
  /** What the model has: it stays where it cannot be made anew. @type {string | undefined} */
  #text;
  isOff;

  /**
   * @param {Session} session
   * @param {Store} store
   * @param {{ isShared: boolean, cwd: string, isOff: boolean }} where
   * @param {Failures} failures
   */
  constructor(session, store, { isShared, cwd, isOff }, failures) {
    const places = { agentDir: piAgentDir(), project: cwd, shared: isShared };
    /** Remembers what the owner says of the workspace. @param {boolean | null} trusted */
    this.say = (trusted) => addon.trustProject(places, trusted);
    this.#open = () => addon.openMemory(places, store);
    this.#session = session;
    this.#failures = failures;
    this.#cwd = cwd;
    this.isOff = isOff;
  }

  /** Throws the addon's errors. */
  get opened() {
    this.#memory ??= this.#open();
    return this.#memory;
  }

  /** The section for the system prompt; undefined where memory is off. @param {CallInfo} call */
  async section(call) {
    if (this.isOff) {
      return undefined;
    }
    return this.#failures.guarded("memory in the system prompt stays as it was", this.#text, async () => {
      await this.#settle();
      this.#text = (await this.#session.memorySection(this.opened, call))?.text;
      return this.#text;
    });
  }

  /** Writes what an earlier session left waiting. */
  async #settle() {
    if (this.#settled) {
      return;
    }
    this.#settled = true;
    await this.#flushWaiting();
  }

  async #flushWaiting() {
    const waiting = await this.opened.waiting();
    if (waiting.some(({ interrupted, files }) => interrupted || files.length > 0)) {
      await this.opened.flush();
    }
  }

  /** Why a call must not run: it would put a secret into memory. @param {string} toolName @param {unknown} args */
  async refusal(toolName, args) {
    return this.#guarded("a write was not checked for secrets", () =>
      beforeTool(this.#behind, { toolName, args, cwd: this.#cwd }),
    );
  }

  /**
   * A tool ran. Resolves to what its result shall say besides.
   * @param {{ toolCallId: string, toolName: string, args: unknown, isError: boolean }} call
   */
  async ran(call) {
    return this.#guarded("memory was not told of a tool call", () =>
      afterTool(this.#behind, { ...call, cwd: this.#cwd }),
    );
  }

  /** Throws the addon's errors. */
  get #behind() {
    return { memory: this.opened, session: this.#session, guarded: this.#guarded };
  }

  /** The session ends. */
  async end() {
    if (this.#memory !== undefined) {
      await this.#failures.guarded("memory that waits was not written", undefined, async () => {
        await this.#flushWaiting();
        await this.#memory?.ended();
      });
    }
  }
}
