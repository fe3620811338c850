// A session that was played again twice, as it was set and as a person asked: its figures, and its windows and bills beside each other.

import { shortCount } from "../../../lib/figures.js";
import { besideData, besideTable, COLOURS } from "../charts/beside.js";
import { eventsOf, sums } from "../charts/replayed.js";
import { element } from "../elements/dom.js";
import { cost, counted, percent, savedShare, whole } from "../elements/numbers.js";

/** @typedef {import("../../../index.js").Ledger} Ledger */
/** @typedef {import("../../../index.js").ReplayedFile} ReplayedFile */
/** @typedef {import("../../protocol.js").WhatIf} WhatIf */
/** @typedef {import("../charts/shapes.js").Series} Series */

/**
 * A figure: its name, its value, the value in words, and the difference in words.
 * @typedef {[string, (file: ReplayedFile) => number, (value: number) => string, (difference: number) => string]} Figure
 */

/** What a replay is called. */
const NAMES = ["as set", "changed"];

/**
 * The price of a million input tokens, where all calls have the same; else costs have no dollars.
 * @param {Ledger} ledger
 */
export function priceOf({ perCall }) {
  const prices = new Set(perCall.map(({ usdPerMillion }) => usdPerMillion));
  const [price] = prices;
  return prices.size === 1 ? (price ?? null) : null;
}

/**
 * What comes of it, in short.
 * @param {WhatIf} played
 * @param {number | null} price
 */
export function verdictText({ before, after }, price) {
  const money = (/** @type {number} */ value) => cost(price === null ? value : (value * price) / 1e6, price !== null);
  const more = after.bill.ours / before.bill.ours - 1;
  const much = Math.abs(more) < 0.0005 ? "the same" : `${percent(Math.abs(more), 1)} ${more < 0 ? "less" : "more"}`;
  const [bill, share] = [
    [after, before].map((file) => money(file.bill.ours)),
    [after, before].map((file) => percent(savedShare(file.bill.ours, file.bill.plain), 1)),
  ].map(([now, set]) => (now === set ? now : `${now} instead of ${set}`));
  return `With the change, the session costs ${bill} (${much}); it saves ${share} of plain’s bill.`;
}

/**
 * The figures of both, and how they differ.
 * @param {WhatIf} played
 * @param {[name: string, set: string, asked: string][]} asked what was asked for
 * @param {number | null} price of a million input tokens
 */
export function answerTable({ before, after }, asked, price) {
  const rows = figures(price).map(([name, value, text, more]) => {
    const [set, now] = [value(before), value(after)];
    return row(name, text(set), text(now), more(now - set));
  });
  const changes = asked.map(([name, set, now]) => row(name, set, now, ""));
  return besideTable([...NAMES, "difference"], [...changes, ...rows]);
}

/** @param {[string, string, string, string]} cells */
function row(...cells) {
  return cells;
}

/**
 * @param {number | null} price
 * @returns {Figure[]}
 */
function figures(price) {
  const factor = price === null ? 1 : price / 1e6;
  const money = (/** @type {number} */ value) => cost(value * factor, price !== null);
  const tokens = (/** @type {number} */ value) => cost(value, false);
  /** @type {(text: (value: number) => string, least?: number) => (difference: number) => string} */
  const differs =
    (text, least = 0) =>
    (difference) =>
      signed(difference, text, least);
  const points = (/** @type {number} */ share) => signed(share * 100, (value) => `${value.toFixed(1)} points`, 0.05);
  const words = (/** @type {number} */ value) => `${shortCount(value)} tokens`;
  return [
    ["bill", ({ bill }) => bill.ours, money, differs(money, 0.5)],
    .../** @type {Figure[]} */ (
      price === null ? [] : [["bill, in uncached input tokens", ({ bill }) => bill.ours, tokens, differs(tokens, 0.5)]]
    ),
    ["plain’s bill", ({ bill }) => bill.plain, money, differs(money, 0.5)],
    ["saved", ({ bill }) => bill.plain - bill.ours, money, differs(money, 0.5)],
    ["saved, as a share", ({ bill }) => savedShare(bill.ours, bill.plain) ?? 0, (share) => percent(share, 1), points],
    ["longest request", ({ peakWindow }) => peakWindow.ours, words, differs(words, 0.5)],
    ["longest of plain", ({ peakWindow }) => peakWindow.plain, words, differs(words, 0.5)],
    ["epochs", ({ epochs }) => epochs.length, whole, differs(whole)],
    ["faults", ({ faults }) => faults.raw, whole, differs(whole)],
    ["compactions", ({ compactions }) => compactions, whole, differs(whole)],
    ["plain’s compactions", ({ plainCompactions }) => plainCompactions, whole, differs(whole)],
  ];
}

/**
 * @param {number} difference
 * @param {(value: number) => string} text
 * @param {number} least below it there is none
 */
function signed(difference, text, least) {
  if (Math.abs(difference) <= least) {
    return "the same";
  }
  return `${difference < 0 ? "−" : "+"}${text(Math.abs(difference))}`;
}

/**
 * Why the session as it was set does not cost what its ledger says, and how much that is.
 * @param {ReplayedFile} before
 * @param {Ledger} ledger
 * @param {number | null} price
 */
export function ledgerText(before, ledger, price) {
  const money = (/** @type {number} */ value) => cost(price === null ? value : (value * price) / 1e6, price !== null);
  const off = before.bill.ours / ledger.bill - 1;
  const beside =
    Math.abs(off) < 0.005
      ? "as much as in its ledger"
      : `${percent(Math.abs(off))} ${off < 0 ? "less" : "more"} than the ${money(ledger.bill)} of its ledger`;
  const calls =
    before.calls === ledger.calls ? "" : ` It has ${counted(before.calls, "call")}, the ledger ${whole(ledger.calls)}.`;
  const fixed = whole(before.series[0]?.contents.fixed);
  return `Played again as set, the session costs ${money(before.bill.ours)}, ${beside}: a re-play counts tokens by our own count, takes ${fixed} for system prompt and tools (the average of its calls), prices from a table, and settings as they are now.${calls}`;
}

/**
 * What the panel of both shows.
 * @param {WhatIf} played
 * @param {number | null} price
 */
export function answerPanel({ before, after }, price) {
  const both = [before, after];
  const [longest] = both.toSorted((a, b) => b.series.length - a.series.length);
  const factor = price === null ? 1 : price / 1e6;
  /** @param {(file: ReplayedFile) => number[]} values @param {"ours" | "plain"} side @returns {Series[]} */
  const lines = (values, side) => {
    const given = both.map(values);
    const isOne = side === "plain" && given[0].every((value, at) => value === given[1][at]);
    return given.slice(isOne ? 1 : 0).map((column, of) => ({
      name: side === "ours" ? NAMES[of] : isOne ? "plain" : `plain ${NAMES[of]}`,
      colour: side === "ours" || !isOne ? COLOURS[of] : "plain",
      draw: side === "ours" ? "line" : "dashes",
      values: longest.series.map((_, at) => column[at] ?? null),
    }));
  };
  const window = (/** @type {"ours" | "plain"} */ side) =>
    lines(({ series }) => series.map((call) => call[side].tokens), side);
  const bill = (/** @type {"ours" | "plain"} */ side) =>
    lines(({ series }) => sums(series, side).map((sum) => sum * factor), side);
  const events = both.map(eventsOf);
  return besideData({
    // A re-play counts calls from 0.
    numbers: longest.series.map(({ call }) => call + 1),
    windows: [...window("ours"), ...window("plain")],
    bills: [...bill("ours"), ...bill("plain")],
    isDollars: price !== null,
    lanes: events.map((known, of) => ({
      name: NAMES[of],
      colour: COLOURS[of],
      marks: [...known.keys()].toSorted((a, b) => a - b).map((call) => ({ call: call + 1, faint: false })),
    })),
    events: (at) =>
      events.flatMap((known, of) => (known.get(longest.series[at].call) ?? []).map((text) => `${NAMES[of]}: ${text}`)),
  });
}

/**
 * What was left out or repaired.
 * @param {WhatIf} played
 */
export function answerNotes({ before, after }) {
  const notes = [...new Set([...before.notes, ...after.notes])];
  return notes.length === 0 ? null : element("ul", { class: "faint" }, ...notes.map((note) => element("li", {}, note)));
}
