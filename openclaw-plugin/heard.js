// The messages of the running turn, which OpenClaw sends itself and which only its hook `before_message_write` shows. Decides nothing.
import { blocksOf } from "../lib/content.js";
import { hasKeyOf, isCall, isCommand, textsOf } from "./turn.js";

/** @import { HostMessage } from "./host.d.ts" */

/** Messages that a key's list has at most: a turn has far fewer. */
const maxHeard = 10_000;
/** The same while no turn runs. */
const maxWaiting = 16;

/** The messages that OpenClaw wrote for one session key since its last turn ended. */
export class Heard {
  /** @type {HostMessage[]} */
  #messages = [];
  /** Whether a turn runs that we are asked in. */
  #isRunning = false;
  /** What persons had said when it was tried again. @type {string[]} */
  #tried = [];
  /** What persons wrote before it began, and wait for turns of their own. @type {HostMessage[]} */
  #waiting = [];

  /** @param {HostMessage} message */
  add(message) {
    // What a person wrote may come before the turn begins.
    const isOfTurn = this.#isRunning || message.role === "user";
    // What failed is not sent again.
    const isSent = message.role !== "assistant" || (message.stopReason !== "error" && message.stopReason !== "aborted");
    // The person's words once more, with the time of this try, which no later history has.
    const isRepeated =
      message.role === "user" && message.idempotencyKey === undefined && this.#tried.includes(wordsOf(message));
    if (!isOfTurn || !isSent || isRepeated) {
      return;
    }
    // OpenClaw writes a person's message when it comes, and some again when the turn begins.
    const place = this.#messages.findLastIndex((known) => isSame(known, message));
    // What a person says while tools run goes out behind their results.
    const end = message.role === "toolResult" ? this.#answered : this.#messages.length;
    this.#messages.splice(place < 0 ? end : place, place < 0 ? 0 : 1, message);
    if (this.#messages.length > (this.#isRunning ? maxHeard : maxWaiting)) {
      this.#messages.shift();
    }
  }

  /**
   * A turn begins, behind this history.
   * @param {readonly HostMessage[]} history
   * @param {string} [prompt] what it answers
   */
  begin(history, prompt = "") {
    if (this.#isRunning) {
      this.#tried.push(...this.#messages.filter(({ role }) => role === "user").map(wordsOf));
    } else {
      this.#tried = [];
      // What came before a message of the history stands there too, if only as a part of one.
      const last = this.#messages.findLastIndex((message) => stands(message, history));
      const since = this.#messages.slice(last + 1);
      const all = [...this.#waiting.filter((message) => !isPassed(message, history)), ...since];
      const answered = answeredBy(prompt, all);
      // OpenClaw may ask in other words than those that it wrote.
      this.#messages = answered.length === 0 ? since : answered;
      this.#waiting = all.filter((message) => !this.#messages.includes(message)).slice(-maxWaiting);
    }
    this.#isRunning = true;
    this.forget(history);
  }

  /** Forgets what stands in a list: an earlier turn wrote it. @param {readonly HostMessage[]} messages */
  forget(messages) {
    this.#messages = this.#messages.filter((message) => !stands(message, messages));
  }

  /** The turn is over: what stands up to its last answer is not a part of the next one. */
  end() {
    this.#isRunning = false;
    this.#messages = this.#messages.slice(this.#answered);
  }

  /** The messages of the running turn, without those that go out behind a result to come. */
  get messages() {
    const end = this.#awaitsResult ? this.#answered : this.#messages.length;
    return this.#messages.slice(0, end).filter((message) => !isCommand(message));
  }

  /** Number of messages up to the newest answer or result. */
  get #answered() {
    return this.#messages.findLastIndex(({ role }) => role !== "user") + 1;
  }

  get #awaitsResult() {
    const at = this.#messages.findLastIndex(({ role }) => role === "assistant");
    const calls = blocksOf(this.#messages[at]?.content).filter(isCall);
    return calls.length > this.#messages.slice(at + 1).filter(({ role }) => role === "toolResult").length;
  }
}

/** Whether the host wrote the same message twice, the second time perhaps with an image. @param {HostMessage} one @param {HostMessage} other */
function isSame(one, other) {
  const isIt = one.role === other.role && one.timestamp === other.timestamp && one.toolCallId === other.toolCallId;
  return (
    isIt && (hasKeyOf(one, other) || JSON.stringify(blocksOf(one.content)) === JSON.stringify(blocksOf(other.content)))
  );
}

/** @param {HostMessage} message */
function wordsOf({ content }) {
  return textsOf(content).join("\n").trim();
}

/** Whether a message stands in a history, by itself or joined to a later one. @param {HostMessage} message @param {readonly HostMessage[]} history */
function isPassed(message, history) {
  const words = wordsOf(message);
  const isLater = (/** @type {HostMessage} */ { role, timestamp = 0 }) =>
    role === "user" && timestamp >= (message.timestamp ?? 0);
  return (
    stands(message, history) ||
    history.some((later) => words !== "" && isLater(later) && endsLines(wordsOf(later), words) !== undefined)
  );
}

/** Where words stand in others up to the end of a line, since a short word may stand within another; undefined if they do not. @param {string} text @param {string} words */
function endsLines(text, words) {
  const places = [" ", "\n"].map((before) => `\n${text}\n`.indexOf(`${before}${words}\n`));
  return places.find((place) => place >= 0);
}

/** The messages whose words a prompt has, each word for one of them. @param {string} prompt @param {readonly HostMessage[]} messages */
function answeredBy(prompt, messages) {
  let asked = prompt.trim();
  const answered = new Set();
  for (const message of [...messages].sort((a, b) => wordsOf(b).length - wordsOf(a).length)) {
    const words = wordsOf(message);
    const place = words === "" ? undefined : endsLines(asked, words);
    if (place !== undefined) {
      answered.add(message);
      asked = `${asked.slice(0, place)}\n${asked.slice(place + words.length)}`;
    }
  }
  return messages.filter((message) => answered.has(message));
}

/** Whether a message stands in a list. @param {HostMessage} message @param {readonly HostMessage[]} list */
function stands({ role, timestamp, content }, list) {
  const isIt = (/** @type {HostMessage} */ known) => known.role === role && known.timestamp === timestamp;
  // Channels that tell whole seconds give several messages of persons the same time.
  const isVague = role === "user" && Number(timestamp) % 1000 === 0;
  const [text] = textsOf(content);
  return list.some((known) => isIt(known) && (!isVague || text === undefined || textsOf(known.content).includes(text)));
}
