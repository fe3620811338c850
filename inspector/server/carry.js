// A session with all that the page asks for, in one value. Reads by the answers that the server gives; must not know HTML.
import { carriedContents, readObject, recordedHashes } from "./carried-objects.js";
import { listDelta, packedChanges } from "./deltas.js";
import { failureOf } from "./failures.js";
import { redacted } from "./redacted-parts.js";
import { messageText, shownDiff } from "./shown.js";

/**
 * @import { CallBesideBoth, CallFailure, MessageAbout, RecordedCall, Store } from "../../index.js"
 * @import { CarriedCall, CarriedChange, CarriedMessage, CarriedSession, Failure, MemoryView, SessionView } from "../protocol.js"
 * @import { Answers } from "./answers.js"
 * @import { ReadObject } from "./carried-objects.js"
 *
 * @typedef {"json" | "text" | "diff" | "fileDiff"} Kind of a text; of messages, a `diff` is carried as far as a call shows it
 * @typedef {object} Parts what is read, before it is told by differences
 * @property {SessionView} session
 * @property {MemoryView | { error: Failure } | null} memory
 * @property {string[]} texts
 * @property {MessageAbout[]} abouts
 * @property {(CarriedCall | { error: Failure })[]} calls
 * @property {{ [id: string]: ReadParts | { error: Failure } }} objects
 *
 * @typedef {Omit<ReadObject, "diffs"> & { diffs: (number | { error: Failure })[] }} ReadParts an object whose differences have their places
 */

/** Calls that are read at once, at most, and about how many characters they may hold together. */
const mostCalls = 25;
const batchCharacters = 16_000_000;

/** Objects whose relations are read at once. */
const mostObjects = 200;

/**
 * @param {Answers} answers
 * @param {string} id
 * @param {{ redact: boolean, memory: boolean, onProgress?: (done: string) => void }} options `memory`: with what the memory view shows
 *   now; what of it the model saw stands in the calls
 * @returns {Promise<CarriedSession>}
 */
export async function carry(answers, id, { redact, memory, onProgress = () => {} }) {
  const about = await answers.about();
  const carrier = new Carrier();
  const read = {
    ...(await readAll(answers, id, carrier, onProgress)),
    memory: memory ? await answers.memory(id).catch(asError) : null,
  };
  const parts = redact ? await redacted(read, carrier.kinds) : read;
  const known = outputs(parts.texts);
  const objects = Object.entries(parts.objects).map(([name, object]) => [
    name,
    "error" in object ? object : { ...object, contents: carriedContents(object.contents, known) },
  ]);
  return {
    ...parts,
    about: { ...about, store: null, session: id, redacted: redact },
    texts: parts.texts.map((text, at) => (carrier.kinds[at] === "diff" ? String(shownDiff(text)) : text)),
    objects: Object.fromEntries(objects),
  };
}

/**
 * @param {Answers} answers
 * @param {string} id
 * @param {Carrier} carrier
 * @param {(done: string) => void} onProgress
 * @returns {Promise<Omit<Parts, "memory">>}
 */
async function readAll(answers, id, carrier, onProgress) {
  const session = await answers.session(id);
  const { calls, objects: met } = session.timeline;
  await readCalls(answers.store, id, calls.length, (read) => {
    carrier.add(read);
    onProgress(`call ${carrier.calls.length} of ${calls.length}`);
  });
  const recorded = await recordedHashes(answers, session);
  /** @type {Parts["objects"]} */
  const objects = {};
  /** @type {Awaited<ReturnType<Answers["related"]>>} */
  let related = new Map();
  for (const [at, object] of met.entries()) {
    if (at % mostObjects === 0) {
      related = await answers.related(met.slice(at, at + mostObjects).map((one) => one.id));
    }
    onProgress(`object ${at + 1} of ${met.length}`);
    const found = await readObject(answers, session, object.id, recorded, related.get(object.id)).catch(asError);
    objects[object.id] =
      "error" in found
        ? found
        : {
            ...found,
            diffs: found.diffs.map((diff) => (typeof diff === "string" ? carrier.place(diff, "fileDiff") : diff)),
          };
  }
  return { session, texts: [...carrier.texts.keys()], abouts: carrier.abouts, calls: carrier.calls, objects };
}

/**
 * The calls in order. The next ones are read while the last ones are told.
 * @param {Store} store
 * @param {string} id
 * @param {number} last
 * @param {(read: CallBesideBoth | CallFailure) => void} tell
 */
async function readCalls(store, id, last, tell) {
  let [from, count] = [1, 1];
  const read = () => (from > last ? null : store.comparedCalls(id, { from, count: Math.min(count, last + 1 - from) }));
  let next = read();
  while (next !== null) {
    const calls = await next;
    from += calls.length;
    const characters = Math.max(1, ...calls.map(charactersOf));
    count = Math.max(1, Math.min(mostCalls, Math.floor(batchCharacters / characters)));
    next = calls.length === 0 ? null : read();
    // Else nobody would hear of its failure while these are told.
    next?.catch(() => {});
    for (const call of calls) {
      tell(call);
    }
  }
}

/** @param {CallBesideBoth | CallFailure} read */
function charactersOf(read) {
  const lists = "code" in read ? [] : [read.call.messages, read.plain.messages];
  return lists.flat().reduce((sum, message) => sum + message.length, 0);
}

/**
 * Places of the messages whose text is long, by that text: contents of tool calls need not be carried twice.
 * @param {string[]} texts
 */
function outputs(texts) {
  const found = texts.map((text, at) => /** @type {const} */ ([messageText(text), at]));
  return new Map(found.filter(([text]) => text !== null && text.length > 100).map(([text, at]) => [String(text), at]));
}

/** @param {unknown} error */
function asError(error) {
  return { error: failureOf(error) };
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

  /** @param {CallBesideBoth | CallFailure} read */
  add(read) {
    if ("code" in read) {
      this.calls.push({ error: read });
      return;
    }
    const { call, sinceBefore, promptChange, plain, againstPlain } = read;
    const { messages: _messages, about: _about, payload, systemPrompt, tools, ...rest } = call;
    const { last } = this;
    const now = {
      sent: this.messages(call),
      plain: this.messages(plain),
      againstPlain: packedChanges(againstPlain, (diff) => this.place(diff, "diff")),
    };
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
      promptChange: promptChange && {
        ...promptChange,
        text: promptChange.text === null ? null : this.place(promptChange.text, "diff"),
      },
      before: sinceBefore && packedChanges(sinceBefore, (diff) => this.place(diff, "diff")),
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
