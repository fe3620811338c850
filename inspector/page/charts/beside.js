// Courses of calls beside each other: a table of their figures, and their windows and bills in charts. Knows not what is compared.

import { shortCount } from "../../../lib/figures.js";
import { element } from "../elements/dom.js";
import { cost } from "../elements/numbers.js";

/** @typedef {import("../elements/dom.js").Child} Child */
/** @typedef {import("./shapes.js").Series} Series */

/** Colours of the two, for what went out and for what plain would have sent. */
export const COLOURS = ["ours", "person"];

/**
 * @param {Child[]} heads of the columns
 * @param {[string, ...Child[]][]} rows each with its name
 */
export function besideTable(heads, rows) {
  const head = heads.map((child) => element("th", { scope: "col" }, child));
  const body = rows.map(([name, ...cells]) =>
    element("tr", {}, element("th", { scope: "row" }, name), ...cells.map((cell) => element("td", {}, cell))),
  );
  return element(
    "table",
    { class: "beside" },
    element("thead", {}, element("tr", {}, element("td", {}), ...head)),
    element("tbody", {}, ...body),
  );
}

/**
 * What a panel shows of them. `events`: what happened at the call with that index.
 * @param {{
 *   numbers: number[], windows: Series[], bills: Series[], isDollars: boolean,
 *   lanes: import("./shapes.js").Lane[], events: (at: number) => Child[],
 * }} courses
 * @returns {import("./panel.js").PanelData}
 */
export function besideData({ numbers, windows, bills, isDollars, lanes, events }) {
  const price = (/** @type {number} */ value) => (isDollars ? cost(value, true) : shortCount(value));
  return {
    numbers,
    windows,
    bills,
    billName: isDollars ? "Bill so far, in US dollars" : "Bill so far, in uncached input tokens",
    billWords: price,
    lanes,
    lines: [],
    figures: (at) => [
      ["call", String(numbers[at])],
      ...windows.map(({ name, values }) => pair(`window, ${name}`, values[at], shortCount)),
      ...bills.map(({ name, values }) => pair(`bill, ${name}`, values[at], price)),
    ],
    events,
    open: () => {},
  };
}

/**
 * @param {string} name
 * @param {number | null} value
 * @param {(value: number) => string} text
 * @returns {[string, string]}
 */
function pair(name, value, text) {
  return [name, value === null ? "–" : text(value)];
}
