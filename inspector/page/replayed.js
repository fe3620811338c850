// A session that was played again, in charts: windows by kind of content and bills, ours beside plain, with epochs, faults and compactions.
import { amountsChart, lanesChart } from "./charts.js";
import { drawn, element, put } from "./dom.js";
import { percent, short, whole } from "./numbers.js";
import { themes } from "./theme.js";
import { Walk } from "./walk.js";

/** @typedef {import("../../index.js").ReplayedFile} ReplayedFile */
/** @typedef {import("../../index.js").ReplayedCall} ReplayedCall */
/** @typedef {import("./charts.js").Series} Series */
/** @typedef {import("./charts.js").Lane} Lane */

/** Kinds of content as they are stacked from below, and their colours. @type {[keyof ReplayedCall["contents"], string, string][]} */
const KINDS = [
  ["fixed", "system prompt and tools", "prompt"],
  ["user", "people and host", "person"],
  ["assistant", "the model", "model"],
  ["output", "tool outputs", "outputs"],
  ["reference", "references and folds", "references"],
];

/**
 * The charts, and what they say of the call that is stood on. `end`: when another session takes their place.
 * @param {ReplayedFile} file
 * @returns {{ node: HTMLElement, end: () => void }}
 */
export function replayedCharts(file) {
  const { series } = file;
  const walk = new Walk(
    series.map(({ call }) => call),
    {},
  );
  const bills = { ours: sums(series, "ours"), plain: sums(series, "plain") };
  const events = eventsOf(file);
  const said = () => [
    ...figuresOf(series[walk.at], walk.at, bills).map((pair) => pair.join(" ")),
    ...(events.get(series[walk.at].call) ?? []),
  ];
  const acts = {
    open: () => {},
    said: () => said().join(", "),
    marked: () => series.flatMap(({ call }, at) => (events.has(call) ? [at] : [])),
  };
  const [windows, marks, costs] = [amountsChart(walk, acts), lanesChart(walk, acts), amountsChart(walk, acts)];
  const readout = element("div", { class: "replay-readout" });
  const tell = () => put(readout, ...told(series[walk.at], walk.at, bills, events));
  walk.addEventListener("cursor", tell);
  const draw = () => {
    for (const chart of [windows, marks, costs]) {
      chart.redraw();
    }
  };
  themes.addEventListener("theme", draw);
  const lines = file.epochs.map(({ call }) => call);
  const areas = windowSeries(series);
  windows.show({ label: "Window", height: 300, words: short, series: areas, lines });
  marks.show({ label: "Faults and compactions", lanes: lanesOf(series) });
  costs.show({ label: "Bill so far", height: 180, words: short, series: billSeries(bills), lines });
  tell();
  const node = element(
    "div",
    { class: "view" },
    element("h3", {}, "Window, in tokens"),
    legend([...areas, { name: "epoch", colour: "epoch", draw: "dashes" }]),
    windows.node,
    marks.node,
    element("h3", {}, "Bill so far, in prices of an input token"),
    legend(billSeries(bills)),
    costs.node,
    element(
      "p",
      { class: "faint" },
      "The marks between the charts: faults, and where the host compacts our request or plain’s. Point at a call, or go with the arrow keys; with Shift to the next event. Drag to zoom.",
    ),
    readout,
  );
  return {
    node,
    end: () => {
      themes.removeEventListener("theme", draw);
      for (const chart of [windows, marks, costs]) {
        chart.end();
      }
    },
  };
}

/**
 * @param {ReplayedCall[]} series
 * @returns {Series[]}
 */
function windowSeries(series) {
  /** @type {Series[]} */
  const areas = KINDS.map(([kind, name, colour]) => ({
    name,
    colour,
    draw: "area",
    values: series.map(({ contents }) => contents[kind]),
  }));
  return [...areas, { name: "plain", colour: "plain", draw: "line", values: series.map(({ plain }) => plain.tokens) }];
}

/**
 * @param {{ ours: number[], plain: number[] }} bills
 * @returns {Series[]}
 */
function billSeries({ ours, plain }) {
  return [
    { name: "ours", colour: "ours", draw: "line", values: ours },
    { name: "plain", colour: "plain", draw: "line", values: plain },
  ];
}

/**
 * What one side has cost up to each call, faults included.
 * @param {ReplayedCall[]} series
 * @param {"ours" | "plain"} side
 */
function sums(series, side) {
  let sum = 0;
  return series.map((call) => {
    sum += call[side].cost + (call[side].fault?.cost ?? 0);
    return sum;
  });
}

/**
 * @param {ReplayedCall[]} series
 * @returns {Lane[]}
 */
function lanesOf(series) {
  const marks = (/** @type {(call: ReplayedCall) => boolean} */ has) =>
    series.filter(has).map(({ call }) => ({ call, faint: false }));
  return [
    { name: "faults", colour: "bad", marks: marks(({ ours }) => ours.fault !== null) },
    { name: "compacts", colour: "epoch", marks: marks(({ ours }) => ours.compaction > 0) },
    { name: "plain", colour: "plain", marks: marks(({ compacted }) => compacted) },
  ];
}

/**
 * What happened at calls, in words.
 * @param {ReplayedFile} file
 */
function eventsOf({ epochs, series }) {
  /** @type {Map<number, string[]>} */
  const events = new Map();
  const add = (/** @type {number} */ call, /** @type {string} */ text) =>
    events.set(call, [...(events.get(call) ?? []), text]);
  for (const { call, reason, collapsed, freedTokens } of epochs) {
    add(call, `Epoch: ${reason} (${whole(collapsed)} collapsed, ${whole(freedTokens)} tokens freed)`);
  }
  for (const { call, ours, compacted } of series) {
    if (ours.fault !== null) {
      add(call, `Fault: ${faultName(ours.fault)}, ${whole(ours.fault.cost)}`);
    }
    if (ours.compaction > 0) {
      add(call, "The host compacts our request");
    }
    if (compacted) {
      add(call, "The plain host compacts");
    }
  }
  return events;
}

/** @param {{ strict: boolean, ownWords: boolean }} fault */
function faultName({ strict, ownWords }) {
  if (strict) {
    return "a line of an output";
  }
  return ownWords ? "the model’s own words" : "a line that is also found elsewhere";
}

/**
 * @param {ReplayedCall} call
 * @param {number} at
 * @param {{ ours: number[], plain: number[] }} bills
 * @returns {[string, string][]}
 */
function figuresOf({ call, contents, ours, plain }, at, bills) {
  return [
    ["call", String(call)],
    ["window, ours", whole(ours.tokens)],
    ["plain", whole(plain.tokens)],
    ...KINDS.map(([kind, name]) => /** @type {[string, string]} */ ([name, whole(contents[kind])])),
    ["bill so far, ours", whole(bills.ours[at])],
    ["plain", whole(bills.plain[at])],
    ["of plain’s", percent(bills.ours[at] / bills.plain[at], 1)],
  ];
}

/**
 * @param {ReplayedCall} call
 * @param {number} at
 * @param {{ ours: number[], plain: number[] }} bills
 * @param {Map<number, string[]>} events
 */
function told(call, at, bills, events) {
  return [
    element(
      "dl",
      {},
      ...figuresOf(call, at, bills).map(([name, figure]) =>
        element("div", {}, element("dt", {}, name), element("dd", {}, figure)),
      ),
    ),
    ...(events.get(call.call) ?? []).map((event) => element("p", {}, event)),
  ];
}

/** @param {Pick<Series, "name" | "colour" | "draw">[]} entries */
function legend(entries) {
  const items = entries.map(({ name, colour, draw }) => {
    const line = { d: "M0 6H18", "stroke-dasharray": draw === "dashes" ? "3 3" : null, "stroke-width": 2 };
    const sample =
      draw === "area" ? drawn("rect", { width: 18, height: 12, rx: 2 }) : drawn("path", { ...line, fill: "none" });
    sample.style[draw === "area" ? "fill" : "stroke"] = `var(--${colour})`;
    return element(
      "li",
      {},
      drawn("svg", { viewBox: "0 0 18 12", width: 18, height: 12, "aria-hidden": "true" }, sample),
      name,
    );
  });
  return element("ul", { class: "replay-legend" }, ...items);
}
