// A session with all that the page asks for, in one value. Reads by the answers that the server gives; must not know HTML.
import { carriedContents, readObject } from "./carried-objects.js";
import { listDelta, packedChanges } from "./deltas.js";
import { failureOf } from "./failures.js";
import { Redaction } from "./redact.js";
import { messageText, startOf } from "./shown.js";

/**
 * @import { ComparedCall, MessageAbout, RecordedCall } from "../../index.js"
 * @import { CarriedCall, CarriedChange, CarriedMessage, CarriedSession, Failure, MemoryView, SessionView } from "../protocol.js"
 * @import { Answers } from "./answers.js"
 * @import { ReadObject } from "./carried-objects.js"
 *
 * @typedef {"json" | "text" | "diff"} Kind of a text
 * @typedef {object} Parts what is read, before it is told by differences
 * @property {SessionView} session
 * @property {MemoryView | null} memory
 * @property {string[]} texts
 * @property {MessageAbout[]} abouts
 * @property {(CarriedCall | { error: Failure })[]} calls
 * @property {{ [id: string]: { view: ReadObject["view"], contents: ReadObject["contents"], diffs: number[] } }} objects
 */

/** Characters of a difference that is carried: most say that a whole text left, which the page has anyway. */
const carriedDiff = 4_000;

/**
 * @param {Answers} answers
 * @param {string} id
 * @param {{ redact: boolean, onProgress?: (done: string) => void }} options
 * @returns {Promise<CarriedSession>}
 */
export async function carry(answers, id, { redact, onProgress = () => {} }) {
  const about = await answers.about();
  const carrier = new Carrier();
  const read = await readAll(answers, id, carrier, onProgress);
  const parts = redact ? await redacted(read, carrier.kinds) : read;
  const objects = Object.entries(parts.objects).map(([name, { contents, ...rest }]) => [
    name,
    { ...rest, contents: carriedContents(contents, outputs(parts.texts)) },
  ]);
  return {
    ...parts,
    about: { ...about, store: null, session: id, redacted: redact },
    texts: parts.texts.map((text, at) => (carrier.kinds[at] === "diff" ? startOf(text, carriedDiff) : text)),
    objects: Object.fromEntries(objects),
  };
}

/**
 * @param {Answers} answers
 * @param {string} id
 * @param {Carrier} carrier
 * @param {(done: string) => void} onProgress
 * @returns {Promise<Parts>}
 */
async function readAll(answers, id, carrier, onProgress) {
  const session = await answers.session(id);
  const memory = await answers.memory(id).catch(() => null);
  const { calls, objects: met } = session.timeline;
  for (const { number } of calls) {
    onProgress(`call ${number} of ${calls.length}`);
    await carrier.call(answers, id, number);
  }
  const since = (await answers.store.history(id)).at(-1)?.txId ?? 0;
  /** @type {Parts["objects"]} */
  const objects = {};
  for (const [at, object] of met.entries()) {
    onProgress(`object ${at + 1} of ${met.length}`);
    const found = await readObject(answers, session, object.id, since);
    if (found !== null) {
      objects[object.id] = { ...found, diffs: found.diffs.map((diff) => carrier.place(diff, "diff")) };
    }
  }
  return { session, memory, texts: [...carrier.texts.keys()], abouts: carrier.abouts, calls: carrier.calls, objects };
}

/**
 * Twice: at first, lines that hold secrets are met; then they are known wherever they stand.
 * @param {Parts} parts
 * @param {Kind[]} kinds of the texts
 */
async function redacted(parts, kinds) {
  const redaction = new Redaction();
  const clean = async (/** @type {Parts} */ given) => {
    const { texts, ...rest } = given;
    const cleaned = texts.map((text, at) => redaction[kinds[at]](text));
    return { ...(await redaction.value(rest)), texts: await Promise.all(cleaned) };
  };
  const once = await clean(parts);
  redaction.settle();
  return clean(once);
}

/**
 * Places of the messages whose text is long, by that text: contents of tool calls need not be carried twice.
 * @param {string[]} texts
 */
function outputs(texts) {
  const found = texts.map((text, at) => /** @type {const} */ ([messageText(text), at]));
  return new Map(found.filter(([text]) => text !== null && text.length > 100).map(([text, at]) => [String(text), at]));
}

/** What is carried, each text and each thing known of a message once. */
class Carrier {
  constructor() {
    /** Their places. @type {Map<string, number>} */
    this.texts = new Map();
    /** @type {Kind[]} */
    this.kinds = [];
    /** @type {Map<string, number>} */
    this.knownAbouts = new Map();
    /** @type {MessageAbout[]} */
    this.abouts = [];
    /** @type {(CarriedCall | { error: Failure })[]} */
    this.calls = [];
    /** The lists of the newest call that could be read. */
    this.last = {
      sent: /** @type {CarriedMessage[]} */ ([]),
      plain: /** @type {CarriedMessage[]} */ ([]),
      againstPlain: /** @type {CarriedChange[]} */ ([]),
    };
  }

  /**
   * @param {string} text
   * @param {Kind} kind
   */
  place(text, kind) {
    const known = this.texts.get(text) ?? this.kinds.push(kind) - 1;
    this.texts.set(text, known);
    return known;
  }

  /**
   * @param {RecordedCall} call
   * @returns {CarriedMessage[]}
   */
  messages({ messages, about }) {
    return messages.map((json, at) => {
      const key = JSON.stringify(about[at]);
      const known = this.knownAbouts.get(key) ?? this.abouts.push(about[at]) - 1;
      this.knownAbouts.set(key, known);
      return [this.place(json, "json"), known];
    });
  }

  /**
   * @param {Answers} answers
   * @param {string} id
   * @param {number} number
   */
  async call(answers, id, number) {
    try {
      const { store } = answers;
      const [since, beside] = await Promise.all([
        store.comparedCall(id, { call: number }),
        store.comparedCall(id, { call: number, against: "plain" }),
      ]);
      this.add(since, beside);
    } catch (error) {
      this.calls.push({ error: failureOf(error) });
    }
  }

  /**
   * @param {ComparedCall} since the call beside the one before
   * @param {ComparedCall} beside the call beside what the plain host would have sent
   */
  add({ call, other: before, changes: sinceBefore }, { other, changes: againstPlain }) {
    const plain = /** @type {RecordedCall} */ (other);
    const { messages: _messages, about: _about, payload, systemPrompt, tools, ...rest } = call;
    const { last } = this;
    const now = {
      sent: this.messages(call),
      plain: this.messages(plain),
      againstPlain: packedChanges(againstPlain, (diff) => this.place(diff, "diff")),
    };
    const previous = this.calls.at(-1);
    const isBeforeHere = before !== null && previous !== undefined && !("error" in previous);
    this.calls.push({
      call: {
        ...rest,
        systemPrompt: systemPrompt === null ? null : this.place(systemPrompt, "text"),
        tools: tools === null ? null : this.place(JSON.stringify(tools), "json"),
        payload: payload && {
          hash: payload.hash,
          messages: payload.messages?.map((json) => this.place(json, "json")) ?? null,
        },
      },
      sent: listDelta(last.sent, now.sent, isSameEntry),
      plain: listDelta(last.plain, now.plain, isSameEntry),
      before: isBeforeHere ? packedChanges(sinceBefore, (diff) => this.place(diff, "diff")) : null,
      againstPlain: listDelta(last.againstPlain, now.againstPlain, isSameEntry),
    });
    this.last = now;
  }
}

/**
 * @param {readonly number[]} a
 * @param {readonly number[]} b
 */
function isSameEntry(a, b) {
  return a.every((part, at) => part === b[at]);
}
