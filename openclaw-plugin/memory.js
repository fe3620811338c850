// Memory behind a session: what the system prompt says of it, and what tools write there. Global memory is one for Pi and OpenClaw. A
// conversation that is not the owner's has one of its own, and nothing of theirs is read or written there. Decides nothing about what
// stands in the prompt, and none of it rejects.
import { join } from "node:path";
import * as addon from "../index.js";
import { afterTool, beforeTool } from "../lib/memory-tools.js";
import { piAgentDir } from "../lib/places.js";

/**
 * @import { CallInfo, Memory, Session, Store } from "../index.js"
 * @import { Guarded } from "../lib/memory-tools.js"
 * @import { Failures } from "./failures.js"
 */

/** The memory of one session. */
export class SessionMemory {
  /** @type {Memory | undefined} */
  #memory;
  #open;
  /** The owner's, where the conversation is somebody else's too. @type {Memory | undefined} */
  #owners;
  /** Files and folders that such a conversation must not write, but for its own memory. @type {string[]} */
  #kept = [];
  #session;
  #failures;
  #cwd;
  /** @type {Guarded} */
  #guarded = (what, work) => this.#failures.guarded(what, undefined, work);
  #settled = false;
  /** What the model has: it stays where it cannot be made anew. @type {string | undefined} */
  #text;
  /** Whether a person turned it off by now. */
  isOff;

  /**
   * @param {Session} session
   * @param {Store} store
   * @param {{ conversation: string | undefined, cwd: string, kept: string[], isOff: () => Promise<boolean> }} where `conversation`: its
   *   name, where it is not the owner's; `kept`: what nobody writes there, beside what is in Pi's agent folder
   * @param {Failures} failures
   */
  constructor(session, store, { conversation, cwd, kept, isOff }, failures) {
    const owners = { agentDir: piAgentDir(), project: cwd };
    /** Remembers what the owner says of the workspace. @param {boolean | null} trusted */
    this.say = (trusted) => addon.trustProject(owners, trusted);
    if (conversation === undefined) {
      this.#open = () => addon.openMemory(owners, store);
    } else {
      this.#open = () => addon.openMemory({ agentDir: owners.agentDir, conversation }, store);
      // Not to be written from here, whether the owner trusts the workspace or not.
      this.#owners = addon.openMemory({ ...owners, trusted: true });
      this.#kept = [...["palimpsest", "palimpsest.json"].map((name) => join(owners.agentDir, name)), ...kept];
    }
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
    if (await this.isOff()) {
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

  /**
   * Why a call must not run: it would put a secret into memory, or what others say into the owner's.
   * @param {string} toolName
   * @param {unknown} args
   */
  async refusal(toolName, args) {
    if (await this.#isOwners(toolName, args)) {
      return "This is memory of the owner's own, and nothing is written there from a conversation with others.";
    }
    return this.#guarded("a write was not checked for secrets", () =>
      beforeTool(this.#behind, { toolName, args, cwd: this.#cwd }),
    );
  }

  /** Whether a call in a conversation with others writes what is the owner's. @param {string} toolName @param {unknown} args */
  async #isOwners(toolName, args) {
    return (
      this.#owners !== undefined &&
      ((await this.#owners.isWrittenBy(toolName, args, this.#cwd)) ||
        (await this.opened.isWrittenBeside(toolName, args, this.#cwd, this.#kept)))
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
