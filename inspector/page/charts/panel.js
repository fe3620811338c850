// Charts over the calls of a session that move together: the window, what happened, the bill; with what they say of the call that is stood
// on. Knows how these look, not where they come from.

import { shortCount } from "../../../lib/figures.js";
import { button, drawn, element, put } from "../elements/dom.js";
import { themes } from "../elements/theme.js";
import { amountsChart, lanesChart } from "./charts.js";
import { Walk } from "./walk.js";

/** @typedef {import("./shapes.js").Series} Series */
/** @typedef {import("./shapes.js").Lane} Lane */
/** @typedef {import("../elements/dom.js").Child} Child */
/**
 * What a panel shows. `numbers`: those of the calls; all lists have a value for each. `lines`: calls at which an epoch began. `figures` and
 * `events`: what is said of the call with that index; `open`: what a click on it does.
 * @typedef {{
 *   numbers: number[],
 *   windows: Series[],
 *   bills: Series[],
 *   billWords: (value: number) => string,
 *   billName: string,
 *   lanes: Lane[],
 *   lines: number[],
 *   figures: (at: number) => [string, Child][],
 *   events: (at: number) => Child[],
 *   open: (at: number) => void,
 * }} PanelData
 */

const WINDOW_HEIGHT = 280;
const BILL_HEIGHT = 170;

export class Panel {
  /**
   * @param {import("./walk.js").Kept} kept
   * @param {PanelData} data
   */
  constructor(kept, data) {
    this.data = data;
    this.walk = new Walk(data.numbers, kept);
    this.readout = element("div", { class: "readout" });
    // Before the charts, which repeat what it says.
    this.walk.addEventListener("cursor", () => this.tell());
    const acts = {
      open: () => this.data.open(this.walk.at),
      said: () => this.said(),
      marked: () => this.data.numbers.flatMap((_, at) => (this.data.events(at).length > 0 ? [at] : [])),
    };
    this.windows = amountsChart(this.walk, acts);
    this.marks = lanesChart(this.walk, acts);
    this.bills = amountsChart(this.walk, acts);
    this.charts = [this.windows, this.marks, this.bills];
    this.legends = [element("div"), element("div")];
    this.billHead = element("h2", {});
    this.redraw = () => {
      for (const chart of this.charts) {
        chart.redraw();
      }
    };
    themes.addEventListener("theme", this.redraw);
    this.node = this.build();
    this.show(data);
  }

  build() {
    const { walk } = this;
    return element(
      "section",
      { class: "panel", "aria-label": "Charts over the calls" },
      element(
        "div",
        { class: "tools" },
        element("h2", {}, "Window, in tokens"),
        button("−", () => walk.zoom(2), { "aria-label": "Show more calls" }),
        button("+", () => walk.zoom(0.5), { "aria-label": "Show fewer calls" }),
        button("All", () => walk.reset(), { "aria-label": "All: show every call" }),
      ),
      this.legends[0],
      this.windows.node,
      this.marks.node,
      this.billHead,
      this.legends[1],
      this.bills.node,
      this.readout,
      element(
        "p",
        { class: "faint" },
        "Point at a call, or go with the arrow keys, with Shift to the next event; + and − zoom, or drag.",
      ),
    );
  }

  /** @param {PanelData} data */
  show(data) {
    this.data = data;
    const { windows, bills, lanes, lines } = data;
    this.walk.renew(data.numbers);
    this.tell();
    /** @type {Pick<Series, "name" | "colour" | "draw">[]} */
    const epoch = lines.length > 0 ? [{ name: "epoch", colour: "epoch", draw: "dashes" }] : [];
    put(this.legends[0], legend([...windows, ...epoch]));
    put(this.legends[1], legend(bills));
    put(this.billHead, data.billName);
    this.windows.show({
      label: "Window over the calls",
      height: WINDOW_HEIGHT,
      words: shortCount,
      series: windows,
      lines,
    });
    this.marks.node.hidden = lanes.length === 0;
    this.marks.show({ label: "What happened at the calls", lanes });
    this.bills.show({ label: "Bill over the calls", height: BILL_HEIGHT, words: data.billWords, series: bills, lines });
  }

  tell() {
    const { at } = this.walk;
    if (at < 0) {
      put(this.readout);
      return;
    }
    const figures = this.data
      .figures(at)
      .map(([name, figure]) => element("div", {}, element("dt", {}, name), element("dd", {}, figure)));
    const events = this.data.events(at).map((event) => element("p", {}, event));
    put(this.readout, element("dl", {}, ...figures), ...events);
  }

  /** What the readout says, for those who hear it. */
  said() {
    const parts = [...this.readout.querySelectorAll("dl > div, p")];
    return parts.map(({ childNodes }) => [...childNodes].map((node) => node.textContent).join(" ")).join(", ");
  }

  end() {
    themes.removeEventListener("theme", this.redraw);
    for (const chart of this.charts) {
      chart.end();
    }
  }
}

/** @param {Pick<Series, "name" | "colour" | "draw">[]} entries */
function legend(entries) {
  const items = entries.map(({ name, colour, draw }) => {
    const line = {
      d: "M0 6H18",
      "stroke-dasharray": draw === "dashes" ? "3 3" : null,
      "stroke-width": 2,
      fill: "none",
    };
    const sample = draw === "area" ? drawn("rect", { width: 18, height: 12, rx: 2 }) : drawn("path", line);
    sample.style[draw === "area" ? "fill" : "stroke"] = `var(--${colour})`;
    const picture = drawn("svg", { viewBox: "0 0 18 12", width: 18, height: 12, "aria-hidden": "true" }, sample);
    return element("li", {}, picture, name);
  });
  return element("ul", { class: "legend" }, ...items);
}
