// Rows of text: on a terminal aligned under headings, else separated by tabs, complete and without headings, for other tools.
import { line } from "../../lib/terminal.js";
import { isTerminal, styled, write } from "./output.js";

/** Digits of an ID that a terminal shows: enough for a unique prefix. */
const shownDigits = 12;

/** Columns of a terminal of unknown width. */
const defaultColumns = 80;

/**
 * @param {string[]} headings
 * @param {string[][]} rows the last column may be long: it is cut to the terminal's width
 * @param {{ alwaysHeaded?: boolean }} [how] whether the headings stand above the rows for other tools, too
 */
export async function writeTable(headings, rows, { alwaysHeaded = false } = {}) {
  if (!isTerminal()) {
    const all = alwaysHeaded ? [headings, ...rows] : rows;
    await write(all.map((row) => `${row.map(oneLine).join("\t")}\n`).join(""));
    return;
  }
  if (rows.length === 0) {
    return;
  }
  const all = [headings, ...rows.map((row) => row.map(oneLine))];
  const widths = headings.map((_, column) => Math.max(...all.map((row) => row[column].length)));
  const columns = process.stdout.columns || defaultColumns;
  const lines = all.map((row) => row.map((cell, at) => (at === row.length - 1 ? cell : cell.padEnd(widths[at]))));
  const texts = lines.map((row) => row.join("  ").trimEnd()).map((line) => [...line].slice(0, columns).join(""));
  await write(`${[styled("bold", texts[0]), ...texts.slice(1)].join("\n")}\n`);
}

/**
 * Names and values, one pair per line, with the values aligned.
 * @param {Record<string, string | number>} values
 */
export function pairs(values) {
  const width = Math.max(...Object.keys(values).map((name) => name.length));
  return Object.entries(values)
    .map(([name, value]) => `${name.padEnd(width)}  ${oneLine(String(value))}\n`)
    .join("");
}

/**
 * An ID for the table: shortened on a terminal if it is that of a file.
 * @param {string} id
 */
export function shownId(id) {
  return isTerminal() && /^[0-9a-f]{64}$/.test(id) ? id.slice(0, shownDigits) : id;
}

/**
 * A time for the table: without fractions of a second on a terminal.
 * @param {string} time in RFC 3339
 */
export function shownTime(time) {
  return isTerminal() ? time.replace(/\.\d+Z$/, "Z") : time;
}

/**
 * Text in one line that does nothing to a terminal. Names are spelt out before: two of them never read alike.
 * @param {string} text
 */
export function oneLine(text) {
  return line(text.replace(/[\t\r\n]/g, " "));
}
