// The list of sessions: finds them by words as they are typed and by the full text, shows what each saved, and chooses two to compare.
import { button, element, fill, put } from "./dom.js";
import { virtualList } from "./list.js";
import { ago, clock, cost, counted, percent, savedShare, short, whole } from "./numbers.js";
import { hashOf } from "./routes.js";
import { oneLine } from "./text.js";

/** @typedef {import("../../index.js").SessionInfo} SessionInfo */
/** @typedef {import("../protocol.js").SessionBill} SessionBill */
/** @typedef {import("../protocol.js").Found} Found */

/** Most bills that are asked for at once, and the wait until scrolling stands still, in milliseconds. */
const BILLS = 50;
const BILLS_WAIT_MS = 60;
const HEADS = ["session", "when", "calls", "window", "saved", "faults", "compare"];

/**
 * @param {import("./main.js").Context} context
 * @param {import("./main.js").Route} route
 * @returns {import("./main.js").View}
 */
export function sessionsView(context, route) {
  context.title("Sessions");
  const place = element("div", { class: "fill" });
  const view = new SessionsView(context, route);
  const node = element(
    "div",
    { class: "view sessions" },
    element("div", { class: "headline" }, element("h1", { tabindex: "-1" }, "Sessions"), view.count),
    view.form(),
    view.chosenBar,
    place,
  );
  const ready = fill(place, context.signal, context.source.sessions, (sessions) => view.build(sessions));
  return { node, ready };
}

class SessionsView {
  /**
   * @param {import("./main.js").Context} context
   * @param {import("./main.js").Route} route
   */
  constructor(context, route) {
    this.context = context;
    /** @type {SessionInfo[]} */
    this.sessions = [];
    /** @type {SessionInfo[]} */
    this.shown = [];
    this.find = route.options.find ?? "";
    this.bills = new Bills(context);
    /** @type {string[]} */
    this.chosen = context.kept.chosen ??= [];
    this.count = element("p", { class: "faint", role: "status" });
    this.chosenBar = element("div", { class: "chosen-bar" });
    this.area = element("div", { class: "fill" });
    context.kept.list ??= {};
    this.list = virtualList({
      label: "Sessions",
      heads: HEADS,
      kind: "sessions-list",
      row: (at) => this.row(this.shown[at]),
      insight: (from, to) => this.bills.want(this.shown.slice(from, to).map(({ id }) => id)),
      place: context.kept.list,
    });
  }

  /** The words to look for. */
  form() {
    const input = element("input", {
      type: "search",
      id: "find",
      "aria-label": "Find sessions",
      placeholder: "Title, folder or host",
      autocomplete: "off",
      spellcheck: "false",
      value: this.find,
      oninput: () => {
        this.find = input.value;
        const options = /** @type {{ [key: string]: string }} */ (this.find === "" ? {} : { find: this.find });
        history.replaceState(null, "", hashOf({ view: "sessions", options }));
        this.filter();
      },
    });
    const search = this.context.source.live
      ? element("button", { type: "submit" }, "Search all texts")
      : element("span", {});
    const onsubmit = (/** @type {Event} */ event) => {
      event.preventDefault();
      this.search(input.value.trim());
    };
    return element("form", { class: "tools", role: "search", onsubmit }, input, search);
  }

  /** @param {SessionInfo[]} sessions */
  build(sessions) {
    this.sessions = sessions;
    this.showChosen();
    if (sessions.length === 0) {
      return element(
        "div",
        { class: "empty" },
        element("p", {}, "This store holds no session yet."),
        element(
          "p",
          {},
          "Run an agent with Palimpsest, or name another store with ",
          element("code", {}, "--store"),
          ".",
        ),
      );
    }
    this.filter();
    return this.area;
  }

  /** Shows the sessions in which all words occur. */
  filter() {
    const words = this.find.toLowerCase().split(/\s+/).filter(Boolean);
    this.shown = words.length === 0 ? this.sessions : this.sessions.filter((session) => hasWords(session, words));
    const all = counted(this.sessions.length, "session");
    this.count.textContent = words.length === 0 ? all : `${whole(this.shown.length)} of ${all}`;
    if (this.shown.length === 0) {
      put(
        this.area,
        element("p", { class: "empty" }, `No title, folder or host has “${this.find}”. Enter searches all texts.`),
      );
      return;
    }
    if (this.list.node.parentNode !== this.area) {
      put(this.area, this.list.node);
    }
    this.list.show(this.shown.length);
  }

  /** @param {SessionInfo} session */
  row(session) {
    const { id, title, harness, cwd, updated, calls } = session;
    const name = title === null ? "untitled" : oneLine(title, 200);
    const link = element("a", { href: hashOf({ view: "session", id }), class: title === null ? "untitled" : "" }, name);
    const place = `${harness} · ${cwd}`;
    const cells = [
      element(
        "div",
        { class: "name" },
        link,
        element("div", { class: "faint place", title: place }, element("bdi", {}, place)),
      ),
      element("time", { datetime: updated, title: clock(updated) }, ago(updated)),
      element("span", {}, whole(calls)),
    ];
    const figures = ["window", "saved", "faults"].map((kind) =>
      element("div", { class: `cell ${kind}`, role: "cell" }),
    );
    this.bills.show(id, figures);
    return element(
      "div",
      {},
      ...cells.map((cell, at) =>
        element("div", { class: `cell ${["title", "when", "calls"][at]}`, role: "cell" }, cell),
      ),
      ...figures,
      element("div", { class: "cell choose", role: "cell" }, this.choice(id, name)),
    );
  }

  /**
   * @param {string} id
   * @param {string} name
   */
  choice(id, name) {
    const box = element("input", {
      type: "checkbox",
      "aria-label": `Compare ${name}`,
      onchange: () => {
        const others = this.chosen.filter((other) => other !== id);
        // A third one takes the place of the first.
        this.chosen.splice(0, this.chosen.length, ...(box.checked ? [...others, id].slice(-2) : others));
        this.showChosen();
      },
    });
    box.dataset.id = id;
    box.checked = this.chosen.includes(id);
    return box;
  }

  showChosen() {
    for (const box of this.list.node.querySelectorAll("input")) {
      box.checked = this.chosen.includes(box.dataset.id ?? "");
    }
    const [a, b] = this.chosen;
    const name = (/** @type {string} */ id) =>
      oneLine(this.sessions.find((session) => session.id === id)?.title ?? "untitled", 40);
    if (a === undefined) {
      put(this.chosenBar, element("span", { class: "faint" }, "Choose two sessions to compare them."));
      return;
    }
    put(
      this.chosenBar,
      element("span", {}, b === undefined ? `${name(a)} beside …` : `${name(a)} beside ${name(b)}`),
      b === undefined
        ? null
        : element("a", { class: "button", href: hashOf({ view: "compare", id: a, other: b }) }, "Compare"),
      button("Clear", () => {
        this.chosen.length = 0;
        this.showChosen();
      }),
    );
  }

  /** @param {string} text */
  search(text) {
    if (text === "") {
      this.filter();
      return;
    }
    this.count.textContent = "";
    const { source, signal } = this.context;
    const back = () => button("Back to the list", () => this.filter());
    const found = element(
      "div",
      { class: "fill", "aria-live": "polite" },
      element("p", { class: "faint" }, "Searching …"),
    );
    put(this.area, found);
    void fill(
      found,
      signal,
      () => source.search(text),
      (answer) => [
        element("div", { class: "headline" }, element("h2", {}, foundText(answer, text)), back()),
        element("ol", { class: "hits" }, ...answer.hits.map((hit, at) => this.hit(hit, answer.sessions[at]))),
      ],
    );
  }

  /**
   * @param {import("../../index.js").SearchHit} hit
   * @param {string | null} id
   */
  hit(hit, id) {
    const session = this.sessions.find((other) => other.id === id);
    const where = session === undefined ? (hit.name ?? hit.id) : (session.title ?? "untitled");
    const href = id === null ? hashOf({ view: "object", id: hit.id }) : hashOf({ view: "session", id });
    return element(
      "li",
      {},
      element("a", { href }, oneLine(where, 120)),
      element("span", { class: "faint" }, ` ${hit.type.replace("_", " ")}, ${hit.place}`),
      ...hit.lines.map(({ text, matches }) =>
        element("p", { class: "snippet", dir: "auto" }, ...marked(text, matches)),
      ),
    );
  }
}

/** The bills of rows in sight: asked for in groups, kept for the page. */
class Bills {
  /** @param {import("./main.js").Context} context */
  constructor({ source, signal, kept }) {
    this.source = source;
    this.signal = signal;
    /** @type {Map<string, SessionBill | { error: import("../protocol.js").Failure } | "asked">} */
    this.known = kept.bills ??= new Map();
    /** @type {Map<string, HTMLElement[]>} */
    this.cells = new Map();
    /** @type {string[]} */
    this.wanted = [];
    this.timer = 0;
  }

  /** @param {string[]} ids those in sight now; others need not be asked for any more */
  want(ids) {
    this.wanted = ids.filter((id) => !this.known.has(id));
    clearTimeout(this.timer);
    if (this.wanted.length > 0) {
      this.timer = setTimeout(() => void this.ask(), BILLS_WAIT_MS);
    }
  }

  async ask() {
    const ids = this.wanted.slice(0, BILLS);
    this.wanted = this.wanted.slice(BILLS);
    for (const id of ids) {
      this.known.set(id, "asked");
    }
    try {
      const bills = await this.source.bills(ids);
      for (const id of ids) {
        this.known.set(id, bills[id] ?? { error: { code: "NO_BILL", message: "no bill was answered", hint: null } });
      }
    } catch (error) {
      for (const id of ids) {
        this.known.set(id, { error: /** @type {import("../protocol.js").Failure} */ (error) });
      }
    }
    if (this.signal.aborted) {
      return;
    }
    for (const id of ids) {
      this.fill(id);
    }
    if (this.wanted.length > 0) {
      await this.ask();
    }
  }

  /**
   * Fills cells with the bill of a session, now or when it is there.
   * @param {string} id
   * @param {HTMLElement[]} cells
   */
  show(id, cells) {
    this.cells.set(id, cells);
    this.fill(id);
  }

  /** @param {string} id */
  fill(id) {
    const cells = this.cells.get(id);
    const bill = this.known.get(id);
    if (cells === undefined || bill === undefined || bill === "asked") {
      return;
    }
    const texts = "error" in bill ? ["", "not readable", ""] : billTexts(bill);
    cells.forEach((cell, at) => {
      put(cell, texts[at]);
    });
    cells[1].classList.toggle("over", !("error" in bill) && bill.bill > bill.plainBill);
    cells[1].title = "error" in bill ? `${bill.error.message} (${bill.error.code})` : billTitle(bill);
  }
}

/**
 * Window, saving and faults of a session, in short.
 * @param {SessionBill} bill
 */
export function billTexts({ bill, plainBill, dollars, faults, window }) {
  const share = savedShare(bill, plainBill);
  const saved = dollars === null ? cost(plainBill - bill, false) : cost(dollars.plainBill - dollars.bill, true);
  return [
    window === null ? "–" : `${short(window.ours)} / ${short(window.plain)}`,
    share === null ? "–" : `${saved} · ${percent(share)}`,
    whole(faults),
  ];
}

/** @param {SessionBill} bill */
function billTitle({ bill, plainBill, dollars }) {
  const [ours, plain] = dollars === null ? [bill, plainBill] : [dollars.bill, dollars.plainBill];
  const isDollars = dollars !== null;
  return `${cost(ours, isDollars)} instead of ${cost(plain, isDollars)}`;
}

/**
 * Whether title, folder, host or ID of a session have all words.
 * @param {SessionInfo} session
 * @param {string[]} words in lower case
 */
export function hasWords({ id, title, cwd, harness, hostSessionId }, words) {
  const text = `${title ?? ""}\n${cwd}\n${harness}\n${hostSessionId}\n${id}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

/**
 * @param {Found} found
 * @param {string} text
 */
function foundText({ hits, total }, text) {
  if (total === 0) {
    return `No text has “${text}”`;
  }
  return hits.length < total ? `The best ${hits.length} of ${counted(total, "hit")}` : counted(total, "hit");
}

/**
 * A line with its matches marked.
 * @param {string} text
 * @param {[number, number][]} matches
 */
export function marked(text, matches) {
  /** @type {(HTMLElement | string)[]} */
  const parts = [];
  let at = 0;
  for (const [start, end] of matches) {
    parts.push(text.slice(at, start), element("mark", {}, text.slice(start, end)));
    at = end;
  }
  return [...parts, text.slice(at)];
}
