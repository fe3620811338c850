// What `palimpsest replay --html` found: the figures in sum, a table of the sessions that sorts, and the chosen session in charts.

import { shortCount, shortFigures } from "../../../lib/figures.js";
import { replayedPanel } from "../charts/replayed.js";
import { button, element, put } from "../elements/dom.js";
import { counted, percent, whole } from "../elements/numbers.js";

/** @typedef {import("../../../index.js").ReplayReport} ReplayReport */
/** @typedef {import("../../../index.js").ReplayedFile} ReplayedFile */
/** @typedef {import("../../../index.js").ReplayFaults} ReplayFaults */
/**
 * A column of the table: its heading, the text of a cell, and what it is sorted by.
 * @typedef {{ head: string, text: (file: ReplayedFile) => string, key: (file: ReplayedFile) => string | number, hasBar?: boolean }} Column
 */

/** @type {Column[]} */
const COLUMNS = [
  { head: "session", text: (file) => file.name, key: (file) => file.name },
  { head: "calls", text: (file) => whole(file.calls), key: (file) => file.calls },
  { head: "bill, of plain’s", text: ({ bill }) => percent(bill.ratio, 1), key: ({ bill }) => bill.ratio, hasBar: true },
  pair("tokens", "tokens", shortCount),
  pair("peak window", "peakWindow", shortCount),
  pair("cached", "cachedShare", percent),
  { head: "epochs", text: ({ epochs }) => whole(epochs.length), key: ({ epochs }) => epochs.length },
  { head: "faults, strict / own / all", text: ({ faults }) => faultText(faults), key: ({ faults }) => faults.raw },
  {
    head: "faults of plain",
    text: ({ plainFaults }) => faultText(plainFaults),
    key: ({ plainFaults }) => plainFaults.raw,
  },
];

/**
 * @param {ReplayReport} report
 * @returns {HTMLElement}
 */
export function replaysView(report) {
  const chosen = element("section", { class: "view", "aria-label": "Chosen session" });
  /** @type {import("../charts/panel.js").Panel | null} */
  let panel = null;
  const show = (/** @type {ReplayedFile} */ file) => {
    panel?.end();
    panel = file.series.length > 0 ? replayedPanel(file) : null;
    put(chosen, ...replayedSession(file, panel?.node ?? null));
  };
  return element(
    "div",
    { class: "view replays" },
    element("h1", { tabindex: "-1" }, "Replay"),
    element("p", { class: "faint" }, termsOf(report)),
    ...(report.files.length === 0
      ? [element("p", { class: "empty" }, "No session was replayed.")]
      : [...sumOf(report), sessionsTable(report.files, show), chosen]),
  );
}

/**
 * How the figures were taken.
 * @param {ReplayReport} report
 */
function termsOf({ layout, prices, window, files }) {
  const isVaried = window === null && files.some(({ recorded }) => recorded.window !== null);
  const alike = window === null ? "no limit to the window" : `a window of ${shortCount(window)} tokens`;
  const limit = isVaried ? "windows as recorded" : alike;
  return `Layout ${layout}, prices ${prices === "recorded" ? "as recorded" : prices}, ${limit}. Plain is the same session as the host alone would have sent it. Costs are in uncached input tokens, faults included.`;
}

/** @param {ReplayReport} report */
function sumOf({ sum }) {
  const isSummed = sum.calls > 0;
  const ofCalls = (/** @type {number} */ count) => percent(isSummed ? count / sum.calls : null, 2);
  const tiles = [
    ["bill, of plain’s", percent(isSummed ? sum.bill.ratio : null)],
    ["median / worst session", isSummed ? `${percent(sum.median)} / ${percent(sum.worst)}` : "–"],
    ["input tokens, of plain’s", percent(isSummed ? sum.tokens.ours / sum.tokens.plain : null)],
    ["peak window, ours / plain", `${shortCount(sum.peakWindow.ours)} / ${shortCount(sum.peakWindow.plain)}`],
    ["calls that missed a line of an output", ofCalls(sum.faults.strict)],
    ["calls that missed own words", ofCalls(sum.faults.ownWords)],
    ...(sum.oracle ? [["bill with perfect foresight", percent(sum.oracle.bill.ratio)]] : []),
  ];
  const counts = [counted(sum.files, "session"), counted(sum.calls, "call"), counted(sum.epochs, "epoch")];
  const left = sum.leftOut > 0 ? `. Of fewer than 15 calls, and only in the table: ${whole(sum.leftOut)}` : "";
  return [
    element(
      "dl",
      { class: "tiles" },
      ...tiles.map(([name, figure]) => element("div", {}, element("dt", {}, name), element("dd", {}, figure))),
    ),
    element("p", { class: "faint" }, `${counts.join(", ")}${left}.`),
  ];
}

/**
 * The table; a heading sorts it, a name shows its session.
 * @param {ReplayedFile[]} files
 * @param {(file: ReplayedFile) => void} show
 */
function sessionsTable(files, show) {
  const rows = files.map((file) => ({ file, row: rowOf(file, () => choose(file)) }));
  const body = element("tbody", {}, ...rows.map(({ row }) => row));
  const heads = COLUMNS.map((column) =>
    element(
      "th",
      { scope: "col" },
      button(column.head, () => sort(column), { class: "plain" }),
    ),
  );
  const choose = (/** @type {ReplayedFile} */ file) => {
    for (const { file: other, row } of rows) {
      row.classList.toggle("chosen", other === file);
    }
    show(file);
  };
  /** @type {{ column: Column, down: boolean } | null} */
  let order = null;
  const sort = (/** @type {Column} */ column) => {
    order = { column, down: order?.column === column ? !order.down : column !== COLUMNS[0] };
    const turn = order.down ? -1 : 1;
    rows.sort((a, b) => turn * compared(column.key(a.file), column.key(b.file)));
    heads.forEach((head, at) => {
      const direction = turn < 0 ? "descending" : "ascending";
      head.setAttribute("aria-sort", COLUMNS[at] === column ? direction : "none");
    });
    body.append(...rows.map(({ row }) => row));
  };
  choose(files[0]);
  const table = element("table", {}, element("thead", {}, element("tr", {}, ...heads)), body);
  return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Sessions" }, table);
}

/**
 * @param {ReplayedFile} file
 * @param {() => void} show
 */
function rowOf(file, show) {
  const cells = COLUMNS.map((column, at) => {
    const text = column.text(file);
    return at === 0
      ? element("th", { scope: "row", class: "name", title: text }, button(text, show, { class: "plain" }))
      : element("td", {}, text, column.hasBar ? barOf(Number(column.key(file))) : null);
  });
  return element("tr", {}, ...cells);
}

/** @param {number} share */
function barOf(share) {
  const part = element("i", { class: share > 1 ? "over" : "" });
  part.style.width = `${Math.min(Math.max(share || 0, 0), 1) * 100}%`;
  return element("span", { class: "share-bar", "aria-hidden": "true" }, part);
}

/**
 * A session: its charts, and its epochs with their reasons.
 * @param {ReplayedFile} file
 * @param {HTMLElement | null} charts
 */
function replayedSession(file, charts) {
  return [
    element("h2", {}, file.name),
    ...file.notes.map((note) => element("p", { class: "faint" }, `Of the file: ${note}.`)),
    charts,
    epochsTable(file),
  ];
}

/** @param {ReplayedFile} file */
function epochsTable({ epochs }) {
  if (epochs.length === 0) {
    return element("p", { class: "faint" }, "No epoch started.");
  }
  const heads = ["call", "reason", "collapsed", "tokens freed"];
  const rows = epochs.map(({ call, reason, collapsed, freedTokens }) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, String(call)),
      element("td", { class: "text" }, shortFigures(reason)),
      element("td", {}, whole(collapsed)),
      element("td", {}, whole(freedTokens)),
    ),
  );
  const head = element("tr", {}, ...heads.map((name) => element("th", { scope: "col" }, name)));
  return element(
    "details",
    {},
    element("summary", {}, counted(epochs.length, "epoch")),
    element(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Epochs" },
      element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows)),
    ),
  );
}

/**
 * A column of ours beside plain's.
 * @param {string} head
 * @param {"tokens" | "peakWindow" | "cachedShare"} figure
 * @param {(value: number) => string} text
 * @returns {Column}
 */
function pair(head, figure, text) {
  return {
    head: `${head}, ours / plain`,
    text: (file) => `${text(file[figure].ours)} / ${text(file[figure].plain)}`,
    key: (file) => file[figure].ours,
  };
}

/** @param {ReplayFaults} faults */
function faultText({ strict, ownWords, raw }) {
  return `${strict} / ${ownWords} / ${raw}`;
}

/**
 * @param {string | number} a
 * @param {string | number} b
 */
function compared(a, b) {
  return typeof a === "string" ? a.localeCompare(String(b)) : a - Number(b);
}
