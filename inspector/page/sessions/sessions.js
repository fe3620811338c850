// The list of sessions: finds them by words as these are typed and by the full text, and leads to each. What is looked for stands in the
// address.

import { element, fill, put } from "../elements/dom.js";
import { virtualList } from "../elements/list.js";
import { ago, clock, counted, whole } from "../elements/numbers.js";
import { oneLine } from "../elements/text.js";
import { hashOf } from "../routes.js";
import { Bills } from "./bills.js";
import { Chosen } from "./chosen.js";
import { hitList, hitsText } from "./hits.js";
import { placeOf } from "./session.js";

/** @typedef {import("../../../index.js").SessionInfo} SessionInfo */
/** @typedef {import("../../protocol.js").Found} Found */

const HEADS = ["session", "when", "calls", "tokens / plain", "saved", "faults", "compare"];

/**
 * @param {import("../main.js").Context} context
 * @param {import("../main.js").Route} route
 * @returns {import("../main.js").View}
 */
export function sessionsView(context, route) {
  context.title("Sessions");
  const page = new SessionsPage(context, route);
  return { node: page.node, ready: page.load(), refresh: () => void page.renew() };
}

class SessionsPage {
  /**
   * @param {import("../main.js").Context} context
   * @param {import("../main.js").Route} route
   */
  constructor(context, { options }) {
    this.context = context;
    /** Words of title, folder and host; and what is searched in all texts. */
    this.find = options.find ?? "";
    this.text = options.search ?? "";
    /** @type {SessionInfo[]} */
    this.sessions = [];
    /** @type {SessionInfo[]} */
    this.shown = [];
    this.bills = new Bills(context);
    this.chosen = new Chosen();
    context.kept.list ??= {};
    this.list = virtualList({
      label: "Sessions",
      heads: HEADS,
      kind: "sessions-list",
      row: (at) => this.row(this.shown[at]),
      insight: (from, to) => this.bills.want(this.shown.slice(from, to)),
      place: context.kept.list,
    });
    this.count = element("p", { class: "faint", role: "status" });
    this.form = this.searchForm();
    this.place = element("div", { class: "fill" });
    this.node = element(
      "div",
      { class: "view sessions" },
      element("div", { class: "headline" }, element("h1", { tabindex: "-1" }, "Sessions"), this.count),
      this.form,
      this.chosen.bar,
      this.place,
    );
  }

  searchForm() {
    const input = element("input", {
      type: "search",
      "aria-label": "Find sessions",
      placeholder: "Title, folder or host",
      autocomplete: "off",
      spellcheck: "false",
      value: this.text || this.find,
      oninput: () => this.findAs(input.value),
    });
    if (this.text !== "") {
      input.dataset.focus = "";
    }
    const onsubmit = (/** @type {Event} */ event) => {
      event.preventDefault();
      this.search(input.value.trim());
    };
    const all = this.context.source.live ? element("button", { type: "submit" }, "Search all texts") : null;
    return element("form", { class: "tools", role: "search", onsubmit }, input, all);
  }

  /** Shows what was known at this address at once, and what there is now when it is there. */
  load() {
    const { source, signal, kept } = this.context;
    if (this.text !== "") {
      return this.showHits();
    }
    if (kept.sessions !== undefined) {
      this.show(kept.sessions);
      void this.renew();
      return Promise.resolve();
    }
    const place = this.place;
    return fill(place, signal, source.sessions, (sessions) => {
      this.show(sessions);
      return [...place.childNodes];
    });
  }

  /** Shows the sessions that there are now, if somebody answers. */
  async renew() {
    const sessions = await this.context.source.sessions().catch(() => null);
    if (sessions !== null && !this.context.signal.aborted && this.text === "" && !areSame(sessions, this.sessions)) {
      this.show(sessions);
    }
  }

  /** @param {SessionInfo[]} sessions */
  know(sessions) {
    this.sessions = sessions;
    this.context.kept.sessions = sessions;
    this.chosen.renew(sessions);
    this.form.hidden = sessions.length < (this.context.source.live ? 1 : 2);
  }

  /** @param {SessionInfo[]} sessions */
  show(sessions) {
    this.know(sessions);
    const words = this.find.toLowerCase().split(/\s+/).filter(Boolean);
    this.shown = words.length === 0 ? sessions : sessions.filter((session) => hasWords(session, words));
    const all = counted(sessions.length, "session");
    this.count.textContent = words.length === 0 ? all : `${whole(this.shown.length)} of ${all}`;
    if (this.shown.length === 0) {
      put(this.place, sessions.length === 0 ? noSessions() : this.nothingFound());
      return;
    }
    // Taken out and put in again, it would lose its place.
    if (this.list.node.parentNode !== this.place) {
      put(this.place, this.list.node);
    }
    this.list.show(this.shown.length);
  }

  nothingFound() {
    const more = this.context.source.live ? " Enter searches all texts." : "";
    return element("p", { class: "empty" }, `No title, folder or host has “${this.find}”.${more}`);
  }

  /** @param {string} words */
  findAs(words) {
    this.find = words;
    this.text = "";
    history.replaceState(null, "", hashOf({ view: "sessions", options: words === "" ? undefined : { find: words } }));
    if (this.sessions.length > 0) {
      this.show(this.sessions);
    } else {
      void this.load();
    }
  }

  /** @param {string} text */
  search(text) {
    if (!this.context.source.live) {
      return;
    }
    if (text !== "" && text === this.text) {
      this.context.kept.found = undefined;
      void this.showHits();
    }
    location.hash = hashOf({ view: "sessions", options: text === "" ? undefined : { search: text } });
  }

  showHits() {
    const { source, signal, kept } = this.context;
    put(this.place, element("p", { class: "faint" }, "Searching …"));
    const ask = async () => {
      kept.found ??= await Promise.all([source.search(this.text), source.sessions()]);
      return /** @type {[Found, SessionInfo[]]} */ (kept.found);
    };
    return fill(this.place, signal, ask, ([found, sessions]) => {
      this.know(sessions);
      this.count.textContent = hitsText(found, this.text);
      const back = element("a", { class: "button", href: hashOf({ view: "sessions" }) }, "All sessions");
      return [element("div", {}, back), hitList(found, sessions)];
    });
  }

  /** @param {SessionInfo} session */
  row(session) {
    const { id, title, updated, calls } = session;
    const name = title === null ? "untitled" : oneLine(title, 200);
    const place = placeOf(session);
    const cell = (/** @type {string} */ kind, /** @type {import("../elements/dom.js").Child[]} */ ...children) =>
      element("div", { class: `cell ${kind}`, role: "cell" }, ...children);
    const figures = ["tokens", "saved", "faults"].map((kind) => cell(kind));
    this.bills.show(session, figures);
    return element(
      "div",
      {},
      cell(
        "title name",
        element("a", { href: hashOf({ view: "session", id }), class: title === null ? "untitled" : "" }, name),
        element("div", { class: "faint place", title: place }, element("bdi", {}, place)),
      ),
      cell("when", element("time", { datetime: updated, title: clock(updated) }, ago(updated))),
      cell("calls", whole(calls)),
      ...figures,
      cell("choose", this.sessions.length < 2 ? null : this.chosen.box(id, name)),
    );
  }
}

function noSessions() {
  return element(
    "div",
    { class: "empty" },
    element("p", {}, "This store holds no session yet."),
    element("p", {}, "Run an agent with Palimpsest, or name another store with ", element("code", {}, "--store"), "."),
  );
}

/**
 * Whether they are the same sessions, and none was written since.
 * @param {SessionInfo[]} some
 * @param {SessionInfo[]} others
 */
function areSame(some, others) {
  return (
    some.length === others.length && some.every(({ id, txId }, at) => id === others[at].id && txId === others[at].txId)
  );
}

/**
 * Whether title, place or ID of a session have all words.
 * @param {SessionInfo} session
 * @param {string[]} words in lower case
 */
function hasWords(session, words) {
  const { id, title, hostSessionId } = session;
  const text = `${title ?? ""}\n${placeOf(session)}\n${hostSessionId}\n${id}`.toLowerCase();
  return words.every((word) => text.includes(word));
}
