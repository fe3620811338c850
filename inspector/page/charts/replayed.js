// A session that was played again, in charts: windows by kind of content and bills, ours beside plain, with epochs, faults and compactions.
import { shortCount, shortFigures } from "../../../lib/figures.js";
import { percent, whole } from "../elements/numbers.js";
import { Panel } from "./panel.js";

/** @typedef {import("../../../index.js").ReplayedFile} ReplayedFile */
/** @typedef {import("../../../index.js").ReplayedCall} ReplayedCall */
/** @typedef {import("./shapes.js").Series} Series */
/** @typedef {import("./shapes.js").Lane} Lane */

/** Kinds of content as they are stacked from below, and their colours. @type {[keyof ReplayedCall["contents"], string, string][]} */
const KINDS = [
  ["fixed", "system prompt and tools", "prompt"],
  ["user", "people and host", "person"],
  ["assistant", "the model", "model"],
  ["output", "tool outputs", "outputs"],
  ["reference", "references and folds", "references"],
];

/**
 * The charts of a session that was played again.
 * @param {ReplayedFile} file
 */
export function replayedPanel(file) {
  const { series, epochs } = file;
  const bills = { ours: sums(series, "ours"), plain: sums(series, "plain") };
  const events = eventsOf(file);
  return new Panel(
    {},
    {
      numbers: series.map(({ call }) => call),
      windows: windowSeries(series),
      bills: billSeries(bills),
      billName: "Bill so far, in uncached input tokens",
      billWords: shortCount,
      lanes: lanesOf(series),
      lines: epochs.map(({ call }) => call),
      figures: (at) => figuresOf(series[at], at, bills),
      events: (at) => events.get(series[at].call) ?? [],
      open: () => {},
    },
  );
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
export function sums(series, side) {
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
  const lanes = [
    { name: "faults", colour: "bad", marks: marks(({ ours }) => ours.fault !== null) },
    { name: "compacts", colour: "epoch", marks: marks(({ ours }) => ours.compaction > 0) },
    { name: "plain", colour: "plain", marks: marks(({ compacted }) => compacted) },
  ];
  return lanes.filter((lane) => lane.marks.length > 0);
}

/**
 * What happened at calls, in words.
 * @param {ReplayedFile} file
 */
export function eventsOf({ epochs, series }) {
  /** @type {Map<number, string[]>} */
  const events = new Map();
  const add = (/** @type {number} */ call, /** @type {string} */ text) =>
    events.set(call, [...(events.get(call) ?? []), text]);
  for (const { call, reason, collapsed, freedTokens } of epochs) {
    add(call, `Epoch: ${shortFigures(reason)} (${whole(collapsed)} collapsed, ${whole(freedTokens)} tokens freed)`);
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
