// A call: the request as the model saw it, message by message, and how it differs from the one before and from plain's.

import { element, fill, put } from "../elements/dom.js";
import { counted } from "../elements/numbers.js";
import { tabbed } from "../elements/tabs.js";
import { oneLine } from "../elements/text.js";
import { hashOf } from "../routes.js";
import { billTexts, callFacts, callFigures, windowBars } from "./call-head.js";
import { comparisonPanel, payloadPanel, promptChangeNode, promptPanel, sentPanel } from "./call-panels.js";
import { changesAgainstPlain, changesSince } from "./changes.js";
import { priceTexts } from "./message.js";
import { pieceCosts } from "./why.js";

/** @typedef {import("../../protocol.js").CallView} CallView */
/** @typedef {import("../../protocol.js").SessionView} SessionView */

/**
 * @param {import("../main.js").Context} context
 * @param {import("../main.js").Route} route
 * @returns {import("../main.js").View}
 */
export function callView(context, route) {
  const page = new CallPage(
    context,
    /** @type {string} */ (route.id),
    /** @type {number} */ (route.call),
    route.options,
  );
  context.title(`Call ${route.call}`);
  const { source, signal } = context;
  const ready = fill(
    page.body,
    signal,
    () => source.call(page.session, page.number),
    (view) => page.build(view),
  );
  page.showSession();
  addEventListener("keydown", (event) => page.walk(event), { signal });
  return { node: page.node, ready, refresh: () => page.showSession() };
}

class CallPage {
  /**
   * @param {import("../main.js").Context} context
   * @param {string} session
   * @param {number} number
   * @param {{ [key: string]: string }} options
   */
  constructor(context, session, number, options) {
    this.context = context;
    this.session = session;
    this.number = number;
    /** What addresses of other calls go on with. @type {{ [key: string]: string }} */
    this.options = options.tab === undefined ? {} : { tab: options.tab };
    /** Handle of the object whose message is to be in sight. */
    this.object = options.object ?? null;
    /** @type {CallView | null} */
    this.view = null;
    /** @type {SessionView | null} */
    this.known = null;
    /** @type {import("./why.js").PieceCost[] | null} */
    this.costs = null;
    /** The places of prices by message; they are filled when the ledger is there. @type {Map<number, HTMLElement>} */
    this.prices = new Map();
    this.above = element("a", { href: hashOf({ view: "session", id: session }) }, "Session");
    this.count = element("span", { class: "faint" });
    this.neighbours = element("nav", { class: "tools", "aria-label": "Calls" });
    /** How many calls the session has, once that is known. */
    this.last = Number.POSITIVE_INFINITY;
    this.body = element("div", { class: "fill" });
    this.node = element(
      "div",
      { class: "view call" },
      element("p", { class: "above" }, this.above),
      element(
        "div",
        { class: "headline" },
        element("h1", { tabindex: "-1" }, `Call ${number}`),
        this.count,
        this.neighbours,
      ),
      this.body,
    );
  }

  /** @param {-1 | 1} step */
  neighbour(step) {
    const call = this.number + step;
    const name = step < 0 ? "← Call before" : "Next call →";
    return call < 1 || call > this.last
      ? element("span", { class: "button", role: "link", "aria-disabled": "true" }, name)
      : element(
          "a",
          {
            class: "button",
            rel: step < 0 ? "prev" : "next",
            href: this.address(call),
            title: `Key ${name.match(/[←→]/)}`,
          },
          name,
        );
  }

  /** What the session knows of the call: its neighbours, and what it costs. */
  showSession() {
    this.showNeighbours();
    this.context.source.session(this.session).then(
      (known) => {
        if (!this.context.signal.aborted) {
          this.known = known;
          put(this.above, oneLine(known.info.title ?? "untitled session", 80));
          this.count.textContent = `of ${known.timeline.calls.length}`;
          this.last = known.timeline.calls.length;
          this.showNeighbours();
          this.showPrices();
        }
      },
      () => {
        // The call stands without it; the session's own view says what is wrong.
      },
    );
  }

  /** Keeps the focus of a person who goes from call to call. */
  showNeighbours() {
    const focused = document.activeElement?.closest("[rel]")?.getAttribute("rel");
    const hadFocus = this.neighbours.contains(document.activeElement);
    put(this.neighbours, this.neighbour(-1), this.neighbour(1));
    if (hadFocus) {
      /** @type {HTMLElement | null} */ (this.neighbours.querySelector(`[rel="${focused}"]`))?.focus();
    }
  }

  /** @param {number} call */
  address(call) {
    return hashOf({ view: "call", id: this.session, call, options: this.options });
  }

  /** The arrow keys go to the call before and the next one. @param {KeyboardEvent} event */
  walk(event) {
    const rel = event.key === "ArrowLeft" ? "prev" : event.key === "ArrowRight" ? "next" : null;
    const link = /** @type {HTMLAnchorElement | null} */ (this.neighbours.querySelector(`a[rel="${rel}"]`));
    const isElsewhere =
      event.target instanceof Element &&
      event.target.closest("input, textarea, select, [role=tablist], .diff, pre") !== null;
    if (link !== null && !isElsewhere && !event.altKey && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
      event.preventDefault();
      location.hash = link.hash;
    }
  }

  /** @param {CallView} view */
  build(view) {
    this.view = view;
    const { call } = view;
    if (call.failedOpen !== null) {
      return element(
        "div",
        { class: "notice" },
        element(
          "p",
          {},
          element("strong", {}, "This call went out with the host’s own messages."),
          " ",
          element("code", {}, call.failedOpen),
        ),
        element("p", {}, "Palimpsest could not make a request of its own, so that none was recorded."),
      );
    }
    const made = [
      element("p", { class: "faint facts" }, callFacts(call)),
      callFigures(view),
      windowBars(view),
      tabbed({
        label: "The request",
        tabs: this.tabs(view),
        chosen: this.options.tab,
        onchoose: (tab) => this.keepTab(tab),
      }),
    ];
    queueMicrotask(() => this.showPrices());
    return made;
  }

  /** @param {CallView["before"]} before */
  noneBefore(before) {
    if (this.number === 1) {
      return "This is the first call.";
    }
    return before === null
      ? "The call before cannot be read, so what changed is not known."
      : "No request was recorded for the call before.";
  }

  /**
   * @param {CallView} view
   * @returns {import("../elements/tabs.js").Tab[]}
   */
  tabs(view) {
    const { call, before, messages } = view;
    const since = before === null || before.count === 0 ? null : changesSince(messages, before, this.number);
    const changed = (since?.filter(({ fate }) => fate !== "kept").length ?? 0) + (view.promptChange === null ? 0 : 1);
    const given = {
      context: this.context,
      session: this.session,
      call: this.number,
      view,
      price: this.price,
      object: this.object,
    };
    return [
      { id: "sent", name: `As sent · ${counted(messages.length, "message")}`, build: () => sentPanel(given, since) },
      {
        id: "before",
        name:
          since === null ? "Since the call before" : `Since call ${this.number - 1} · ${counted(changed, "change")}`,
        build: () =>
          since === null || before === null
            ? element("p", { class: "empty" }, this.noneBefore(before))
            : element(
                "div",
                { class: "fill" },
                promptChangeNode(view.promptChange),
                comparisonPanel(given, before, since, "before"),
              ),
      },
      { id: "plain", name: "Against plain", build: () => this.plainPanel(given) },
      { id: "prompt", name: "System prompt and tools", build: () => promptPanel(call) },
      { id: "payload", name: "Payload", build: () => payloadPanel(given) },
    ];
  }

  /** @param {import("./call-panels.js").Given} given */
  plainPanel(given) {
    const place = element("div", { class: "fill" });
    const { source, signal } = this.context;
    const ask = () => source.plain(this.session, this.number);
    void fill(place, signal, ask, (plain) =>
      comparisonPanel(
        given,
        plain,
        changesAgainstPlain(given.view.messages, plain, given.view.call.size?.plainFrom ?? null),
        "plain",
      ),
    );
    return place;
  }

  /** @param {string} tab */
  keepTab(tab) {
    this.options = { ...this.options, tab };
    if (location.hash !== this.address(this.number) && this.view !== null) {
      history.replaceState(null, "", this.address(this.number));
    }
    this.showNeighbours();
  }

  /** The place of a message's price. */
  price = (/** @type {number} */ at) => {
    const place = element("span", { class: "figure price" });
    this.prices.set(at, place);
    this.showPrice(at, place);
    return place;
  };

  showPrices() {
    const { view, known } = this;
    const call = known?.ledger.perCall.find(({ number }) => number === this.number);
    if (view === null || call === undefined) {
      return;
    }
    const tokens = view.messages.map(({ about }) => about.tokens);
    this.costs = pieceCosts(tokens, call, known?.ledger.prices?.prices);
    this.usdPerMillion = call.usdPerMillion;
    const { figure, more, title } = billTexts(call);
    const tile = this.body.querySelector(".figures .bill");
    tile?.setAttribute("title", title);
    const texts = tile?.querySelectorAll("strong, .faint") ?? [];
    [figure, more].forEach((text, at) => {
      put(texts[at], text);
    });
    for (const [at, place] of this.prices) {
      this.showPrice(at, place);
    }
  }

  /**
   * @param {number} at
   * @param {HTMLElement} place
   */
  showPrice(at, place) {
    const piece = this.costs?.[at + 1];
    if (piece !== undefined) {
      const { text, title, isCached } = priceTexts(piece, this.usdPerMillion ?? null);
      put(place, text);
      place.title = title;
      place.classList.toggle("uncached", !isCached);
    }
  }
}
