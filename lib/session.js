// The class `Session`: reads what the host gives, keeps the order of its calls, and crosses to the native side once per method.
// Decides nothing about contexts. What the methods promise is documented in `index.d.ts`.
import { binding } from "./addon.js";
import { listSnapshot, snapshot } from "./arguments.js";
import { Listeners, watchFileCheck } from "./events.js";
import { patched, payloadJson } from "./payload.js";
import { Queue } from "./queue.js";
import { crossed, Request, wholeCrossing } from "./request.js";
import { sendLeft } from "./sending.js";
import { contextTools } from "./tools.js";

/**
 * @import * as api from "../index.js"
 * @import { Session as NativeSession } from "../binding.js"
 * @import { Answer } from "./request.js"
 */

/** Opens a session. @type {typeof api.openSession} */
export async function openSession(store, options) {
  const native = await binding.openSession(store, options);
  return new Session(native, () => sendLeft(store.path, options.settings));
}

/**
 * The native side of a session; undefined for what is not a session.
 * @type {(session: unknown) => NativeSession | undefined}
 */
export let nativeSession;

/** @implements {api.Session} */
export class Session {
  #native;
  #request = new Request();
  #queue = new Queue();
  #listeners = new Listeners();
  #sendLeft;

  static {
    nativeSession = (session) =>
      typeof session === "object" && session !== null && #native in session ? session.#native : undefined;
  }

  /** @param {NativeSession} native @param {() => void} sendLeft sends what waits when it is closed */
  constructor(native, sendLeft) {
    if (!(native instanceof binding.Session)) {
      throw new TypeError("`Session` has no public constructor: call `openSession`");
    }
    this.#native = native;
    this.#sendLeft = sendLeft;
    watchFileCheck(
      () => native.filesChecked(),
      (event) => this.#listeners.emit(event),
    );
  }

  get id() {
    return this.#native.id;
  }

  /** @type {api.Session["transformContext"]} */
  async transformContext(messages, call) {
    const list = listSnapshot(messages);
    return /** @type {any} */ (await this.#queue.run(() => this.#transform(list, call)));
  }

  /**
   * @param {unknown[]} messages
   * @param {api.CallInfo | undefined} call
   * @returns {Promise<unknown[]>}
   */
  async #transform(messages, call) {
    const crossing = this.#request.crossing(messages, call);
    const { since, skip, messages: rest, call: info } = crossing;
    const [json, others] = await Promise.all([
      this.#native.transform(since, skip, rest, info),
      // Meanwhile the core works on another thread.
      Promise.resolve().then(() => crossed(crossing, messages)),
    ]);
    const answer = /** @type {Answer | { resend: true }} */ (JSON.parse(json));
    if ("resend" in answer) {
      this.#request.clear();
      return this.#transform(messages, call);
    }
    this.#request.apply(crossing, others, answer);
    for (const event of answer.events) {
      this.#listeners.emit(event);
    }
    return this.#request.build(messages);
  }

  /** @type {api.Session["answerCompaction"]} */
  async answerCompaction(messages, call, compaction) {
    const list = listSnapshot(messages);
    const { messages: json, call: info } = wholeCrossing(list, call);
    const asked = snapshot("compaction", compaction);
    return this.#queue.run(() => this.#native.answerCompaction(json, info, asked));
  }

  /** @type {api.Session["preparePayload"]} */
  async preparePayload(payload) {
    const json = payloadJson(payload);
    const patches = await this.#queue.run(() => this.#native.preparePayload(json));
    return patched(payload, JSON.parse(patches));
  }

  /** @type {api.Session["recordToolCall"]} */
  async recordToolCall(call) {
    const given = snapshot("call", call);
    await this.#queue.run(() => this.#native.recordToolCall(given));
  }

  /** @type {api.Session["showResult"]} */
  async showResult(result, messages) {
    const given = snapshot("result", result);
    const list = listSnapshot(messages);
    return this.#queue.run(() => this.#show(given, list));
  }

  /**
   * @param {any} result
   * @param {unknown[]} list
   * @returns {Promise<any>}
   */
  async #show(result, list) {
    const { since, skip, messages } = this.#request.crossing(list, undefined);
    const answer = JSON.parse(await this.#native.showResult(since, skip, messages, result));
    if ("resend" in answer) {
      this.#request.clear();
      return this.#show(result, list);
    }
    return answer.content;
  }

  /** @type {api.Session["commitTurn"]} */
  async commitTurn(key, messages) {
    const { messages: json } = wholeCrossing(listSnapshot(messages), undefined);
    return this.#queue.run(() => this.#native.commitTurn(key, json));
  }

  /** @type {api.Session["continueFrom"]} */
  async continueFrom(session) {
    return this.#queue.run(async () => {
      const done = await this.#native.continueFrom(session);
      this.#request.clear();
      return done;
    });
  }

  /** @type {api.Session["recordUsage"]} */
  async recordUsage(report) {
    const given = snapshot("report", report);
    await this.#queue.run(() => this.#native.recordUsage(given));
  }

  /** @type {api.Session["recordFailedCall"]} */
  recordFailedCall(reason) {
    this.#native.recordFailedCall(reason);
  }

  /** @type {api.Session["checkWrite"]} */
  async checkWrite(toolName, args) {
    return this.#native.checkWrite(toolName, args);
  }

  /** @type {api.Session["explainFailedEdit"]} */
  async explainFailedEdit(args) {
    const given = snapshot("args", args);
    return this.#queue.run(() => this.#native.explainFailedEdit(given));
  }

  /** @type {api.Session["memorySection"]} */
  async memorySection(memory, call) {
    const { call: info } = wholeCrossing([], call);
    return this.#queue.run(() => this.#native.memorySection(memory, info));
  }

  /** @type {api.Session["memoryChanged"]} */
  async memoryChanged(memory, toolCallId) {
    await this.#queue.run(() => this.#native.memoryChanged(memory, toolCallId));
  }

  /** @type {api.Session["find"]} */
  async find(name) {
    return this.#queue.run(() => this.#native.find(name));
  }

  /** @type {api.Session["met"]} */
  async met(name) {
    return this.#queue.run(() => this.#native.met(name));
  }

  /** @type {api.Session["tools"]} */
  async tools(taken) {
    const given = snapshot("taken", taken ?? []);
    const prefixed = await this.#queue.run(() => this.#native.prefixTools(given));
    return contextTools(prefixed).filter(({ name }) => name !== "read");
  }

  /** @type {api.Session["leavePool"]} */
  async leavePool(name) {
    return this.#queue.run(() => this.#native.leavePool(name));
  }

  /** @type {api.Session["enterPool"]} */
  async enterPool(name) {
    return this.#queue.run(() => this.#native.enterPool(name));
  }

  /** @type {api.Session["onEvent"]} */
  onEvent(listener) {
    return this.#listeners.add(listener);
  }

  status() {
    return this.#native.status();
  }

  async sets() {
    return this.#native.sets();
  }

  async ledger() {
    return this.#native.ledger();
  }

  async sharing() {
    return this.#native.sharing();
  }

  async mountNotices() {
    return this.#native.mountNotices();
  }

  async close() {
    await this.#queue.run(() => this.#native.close());
    // It is closed; where this fails, the next session sends it.
    if (await this.#native.leaves().catch(() => false)) {
      this.#sendLeft();
    }
  }
}
