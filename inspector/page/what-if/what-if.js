// What if: a session is played again with other prices, another window or other settings, and stands beside what it was. What is asked for
// stands in the address.

import { Panel } from "../charts/panel.js";
import { button, element, failureBox, failureOf, fill, put } from "../elements/dom.js";
import { counted, whole } from "../elements/numbers.js";
import { oneLine } from "../elements/text.js";
import { hashOf } from "../routes.js";
import { answerNotes, answerPanel, answerTable, ledgerText, priceOf, verdictText } from "./what-if-answer.js";
import { WhatIfForm } from "./what-if-form.js";

/** @typedef {import("../../protocol.js").AsSet} AsSet */
/** @typedef {import("../../protocol.js").SessionView} Session */
/** @typedef {import("../../protocol.js").WhatIf} WhatIf */

/** Whether a person pressed Play, and another address is on its way: that of the session as it is set names nothing to play. */
let isAskedFor = false;

/**
 * @param {import("../main.js").Context} context
 * @param {import("../main.js").Route} route
 * @returns {import("../main.js").View}
 */
export function whatIfView(context, route) {
  context.title("What if");
  const view = new WhatIfPage(context, route);
  context.signal.addEventListener("abort", () => view.end());
  const node = element(
    "div",
    { class: "view what-if" },
    element("p", { class: "above" }, view.above),
    element("h1", { tabindex: "-1" }, "What if"),
    view.place,
  );
  return { node, ready: view.load(), refresh: () => view.wasWritten() };
}

class WhatIfPage {
  /**
   * @param {import("../main.js").Context} context
   * @param {import("../main.js").Route} route
   */
  constructor(context, { id = "", options }) {
    this.context = context;
    this.id = id;
    this.asked = options;
    this.above = element("a", { href: hashOf({ view: "session", id }) }, "Session");
    this.place = element("div", { class: "fill" });
    this.said = element("p", { role: "status" });
    this.answer = element("div", { class: "fill" });
    this.timer = 0;
    /** What the session's prices are called. */
    this.prices = "";
    /** @type {Panel | null} */
    this.panel = null;
  }

  load() {
    const { source, signal } = this.context;
    if (!source.live) {
      return source.asSet(this.id).catch((error) => put(this.place, failureBox(error)));
    }
    return fill(
      this.place,
      signal,
      () => Promise.all([source.session(this.id), source.asSet(this.id)]),
      ([session, set]) => this.build(session, set),
    );
  }

  /**
   * @param {Session} session
   * @param {AsSet} set
   */
  build(session, set) {
    const { info, ledger } = session;
    this.prices = ledger.prices === null || ledger.prices.name === set.prices ? set.prices : `like ${set.prices}`;
    put(this.above, oneLine(info.title ?? "untitled session", 80));
    const form = new WhatIfForm(set, this.asked, { prices: this.prices, play: (asked) => this.ask(asked) });
    this.again = () => this.play(form, session, set);
    // What was played at this address is shown again.
    if (isAskedFor || Object.keys(this.asked).length > 0 || this.context.kept.played !== undefined) {
      isAskedFor = false;
      void this.again();
    }
    const words =
      "Plays the session again with other prices, another window or other settings, and shows it beside the session as it is set.";
    return [element("p", { class: "faint" }, words), form.node, this.said, this.answer];
  }

  /** @param {{ [name: string]: string }} asked */
  ask(asked) {
    const hash = hashOf({ view: "what-if", id: this.id, options: asked });
    if (hash === location.hash) {
      void this.again?.();
    } else {
      isAskedFor = true;
      location.hash = hash;
    }
  }

  /**
   * @param {WhatIfForm} form
   * @param {Session} session
   * @param {AsSet} set
   */
  async play(form, session, set) {
    const { source, signal, kept } = this.context;
    form.show(true);
    this.showPlaying(session);
    const ask = async () => {
      if (kept.played?.txId !== session.info.txId) {
        kept.played = { txId: session.info.txId, answer: await source.whatIf(this.id, this.asked) };
      }
      return /** @type {WhatIf} */ (kept.played.answer);
    };
    const refused = (/** @type {unknown} */ error) => {
      put(this.said);
      if (signal.aborted || !form.refuse(failureOf(error))) {
        throw error;
      }
      return null;
    };
    await fill(
      this.answer,
      signal,
      () => ask().catch(refused),
      (played) => (played === null ? [] : this.shown(played, session, set)),
    );
    clearInterval(this.timer);
    form.show(false);
  }

  /** @param {Session} session */
  showPlaying({ timeline }) {
    const seconds = element("span", { "aria-hidden": "true" });
    const start = performance.now();
    clearInterval(this.timer);
    this.timer = setInterval(() => {
      seconds.textContent = ` ${Math.round((performance.now() - start) / 1000)} s`;
    }, 1000);
    const text = `Playing ${counted(timeline.calls.length, "call")} again, twice. You can leave; what is played is kept for a while.`;
    put(this.said, text, seconds);
    put(this.answer, element("progress", { "aria-label": "Playing" }));
  }

  /**
   * @param {WhatIf} played
   * @param {Session} session
   * @param {AsSet} set
   */
  shown(played, { ledger }, set) {
    const price = priceOf(ledger);
    this.context.kept.walk ??= {};
    this.panel?.end();
    this.panel = new Panel(this.context.kept.walk, answerPanel(played, price));
    put(this.said, verdictText(played, price));
    const unit =
      price === null
        ? "tok: what one input token costs that no cache holds."
        : `Dollars at $${price} for a million input tokens, as the session’s model has them; tok: what one of these tokens costs.`;
    return [
      answerTable(played, this.changes(set), price),
      element("p", { class: "faint" }, unit, " ", ledgerText(played.before, ledger, price)),
      answerNotes(played),
      this.panel.node,
    ];
  }

  /**
   * What was asked for, beside what was set.
   * @param {AsSet} set
   * @returns {[string, string, string][]}
   */
  changes({ window, settings }) {
    const tokens = (/** @type {number | null} */ value) => (value === null ? "no limit" : whole(value));
    return Object.entries(this.asked).map(([name, asked]) => {
      if (name === "window") {
        return [name, tokens(window), tokens(Number(asked))];
      }
      return [name, name === "prices" ? this.prices : String(settings[name]), asked];
    });
  }

  /** The session was written: what was played is of what it was before. */
  wasWritten() {
    if (this.panel === null || this.said.querySelector("button") !== null) {
      return;
    }
    const again = button("Play it again", () => void this.load());
    put(this.said, "The session was written since. ", again);
  }

  end() {
    clearInterval(this.timer);
    this.panel?.end();
  }
}
