// A session as it was written down, as a source of data. Asks nobody, and must not touch the document.
import { listOf, textAfter, unpackedChanges } from "../../server/deltas.js";
import { billOf, comparison, messageText, shownCall } from "../../server/shown.js";

/**
 * @typedef {import("../../protocol.js").CarriedCall} CarriedCall
 * @typedef {import("../../protocol.js").CarriedMessage} CarriedMessage
 * @typedef {import("../../protocol.js").CarriedSession} CarriedSession
 * @typedef {import("../../protocol.js").Source} Source
 */

const withMemory =
  "What of it the model saw stands in the calls. `--memory` writes a page with all that is remembered.";

/**
 * A source that answers from a session as it was written down.
 * @param {CarriedSession} data
 * @returns {Source}
 */
export function sourceOf(data) {
  const { about, session, memory } = data;
  const calls = new Calls(data);
  const objects = new Objects(data);
  const notHere = (/** @type {string} */ what) => async () => {
    throw failure("SAVED_PAGE", `a saved page cannot ${what}`, "`palimpsest open` shows the store that it comes from.");
  };
  return {
    live: false,
    about: async () => about,
    sessions: async () => [session.info],
    bills: async (ids) => Object.fromEntries(ids.map((id) => [id, billOf(session.ledger)])),
    search: notHere("search"),
    session: async (id) => {
      if (id !== session.info.id) {
        throw failure("NOT_FOUND", "this page holds another session", null);
      }
      return session;
    },
    call: async (_id, number) => {
      const { call, before, sinceBefore, promptChange } = calls.compared(number);
      return shownCall({ call, other: before, changes: sinceBefore, promptChange });
    },
    plain: async (_id, number) => {
      const { call, plain, againstPlain } = calls.compared(number);
      return comparison(call, plain, againstPlain);
    },
    message: async (_id, call, at, of) => {
      const { call: sent, plain } = calls.compared(call);
      const list = { sent: sent.messages, plain: plain.messages, payload: sent.payload?.messages }[of];
      return list?.[at] ?? Promise.reject(failure("NOT_FOUND", `call ${call} has no such message`, null));
    },
    object: async (name) => objects.named(name).view,
    content: async (name, txId) => objects.content(name, txId),
    diff: async (name, from, to) => objects.diff(name, from, to),
    memory: async () =>
      given(memory ?? { error: failure("NOT_CARRIED", "this page was written without memory", withMemory) }),
    asSet: notHere("play a session again"),
    whatIf: notHere("play a session again"),
    follow: () => () => {},
  };
}

/** The calls, whose lists are told by how they differ from the ones before. */
class Calls {
  /** @param {CarriedSession} data */
  constructor(data) {
    this.data = data;
    this.now = unread();
  }

  /**
   * A call beside others, as the store has it.
   * @param {number} number
   */
  compared(number) {
    const at = number - 1;
    const entry = this.data.calls[at];
    if (entry === undefined) {
      throw failure("NOT_FOUND", `there is no call ${number}`, null);
    }
    const carriedCall = given(entry);
    this.goTo(at);
    const { texts } = this.data;
    const text = (/** @type {number | null} */ place) => (place === null ? null : texts[place]);
    const { systemPrompt, tools, payload, ...rest } = carriedCall.call;
    const { promptChange } = carriedCall;
    return {
      call: {
        ...rest,
        systemPrompt: text(systemPrompt),
        tools: tools === null ? null : JSON.parse(texts[tools]),
        payload: payload && { hash: payload.hash, messages: payload.messages?.map((place) => texts[place]) ?? null },
        ...this.list(this.now.sent),
      },
      before: carriedCall.before === null ? null : this.list(this.now.before),
      sinceBefore: unpackedChanges(carriedCall.before ?? [], texts),
      promptChange: promptChange && { ...promptChange, text: text(promptChange.text) },
      plain: this.list(this.now.plain),
      againstPlain: unpackedChanges(this.now.againstPlain, texts),
    };
  }

  /** @param {number} at index of a call, whose lists `now` has afterwards */
  goTo(at) {
    if (at < this.now.at) {
      this.now = unread();
    }
    while (this.now.at < at) {
      this.now.at += 1;
      const entry = this.data.calls[this.now.at];
      if (!("error" in entry)) {
        const { sent, plain, againstPlain } = this.now;
        this.now.before = sent;
        this.now.sent = listOf(sent, entry.sent);
        this.now.plain = listOf(plain, entry.plain);
        this.now.againstPlain = listOf(againstPlain, entry.againstPlain);
      }
    }
  }

  /** @param {CarriedMessage[]} list */
  list(list) {
    const { texts, abouts } = this.data;
    return { messages: list.map(([text]) => texts[text]), about: list.map(([, about]) => abouts[about]) };
  }
}

/** The lists before the first call. */
function unread() {
  return {
    at: -1,
    before: /** @type {CarriedMessage[]} */ ([]),
    sent: /** @type {CarriedMessage[]} */ ([]),
    plain: /** @type {CarriedMessage[]} */ ([]),
    againstPlain: /** @type {import("../../protocol.js").CarriedChange[]} */ ([]),
  };
}

/** The objects that the session met. */
class Objects {
  /** @param {CarriedSession} data */
  constructor(data) {
    this.data = data;
  }

  /** @param {string} name ID or handle */
  named(name) {
    const { objects, session } = this.data;
    const id = session.timeline.objects.find(({ handle }) => handle === name)?.id ?? name;
    const found = Object.hasOwn(objects, id) ? objects[id] : this.moved(id);
    if (found === undefined) {
      throw failure("NOT_FOUND", "this page does not hold the object", null);
    }
    return given(found);
  }

  /**
   * What a file was before it moved stands with what it became.
   * @param {string} id
   */
  moved(id) {
    return Object.values(this.data.objects).find(
      (object) => !("error" in object) && object.view.versions.some((version) => version.id === id),
    );
  }

  /**
   * @param {string} name
   * @param {number} txId
   */
  content(name, txId) {
    const { view, contents } = this.named(name);
    let text = "";
    for (const [at, version] of view.versions.entries()) {
      const here = contents[at];
      if (here !== null && !("error" in here)) {
        text = "message" in here ? (messageText(this.data.texts[here.message]) ?? "") : textAfter(text, here);
      }
      if (version.txId === txId) {
        if (here === null) {
          throw failure("NOT_FOUND", "the version has no content", null);
        }
        given(here);
        return text;
      }
    }
    throw failure("NOT_FOUND", "this page does not hold the version", null);
  }

  /**
   * @param {string} name
   * @param {number} from
   * @param {number} to
   */
  diff(name, from, to) {
    const { view, diffs } = this.named(name);
    const at = view.versions.findIndex(({ txId }) => txId === to);
    if (at < 0 || view.versions[at + 1]?.txId !== from) {
      throw failure("SAVED_PAGE", "a saved page holds the differences between neighbours only", null);
    }
    return this.data.texts[given(diffs[at])];
  }
}

/**
 * What the page holds in a place; throws what is known of why it does not.
 * @template Held
 * @param {Held | { error: import("../../protocol.js").Failure }} place
 * @returns {Held}
 */
function given(place) {
  if (typeof place === "object" && place !== null && "error" in place) {
    throw place.error;
  }
  return /** @type {Held} */ (place);
}

/**
 * @param {string} code
 * @param {string} message
 * @param {string | null} hint
 * @returns {import("../../protocol.js").Failure}
 */
function failure(code, message, hint) {
  return { code, message, hint };
}
