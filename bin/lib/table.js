// Rows of text: on a terminal aligned under headings, else separated by tabs, complete and without headings, for other tools.

import { plural, size } from "../../lib/describe.js";
import { shortCount } from "../../lib/figures.js";
import { beginning, columnsOf, line } from "../../lib/terminal.js";
import { age, byteSize } from "../../lib/words.js";
import { isTerminal, styled, write } from "./output.js";

/** Digits of a hash that a terminal shows: enough for a unique prefix. */
const shownDigits = 12;

/** Columns of a terminal of unknown width. */
const defaultColumns = 80;

/**
 * @param {string[]} headings
 * @param {string[][]} rows
 * @param {object} [options]
 * @param {string[]} [options.order] the headings as a person wants them on a terminal, the name first and hashes last; columns that say
 *   nothing are left out there. A row that is too wide loses of its first column down to half of the width, then its end
 * @param {boolean} [options.continued] these are further rows of a table, without its headings
 * @param {boolean} [options.alwaysHeaded] the headings stand above the rows for other tools, too
 * @param {string[][]} [options.below] for each row, what stands below it on a terminal, lines that are ready to be written
 * @param {string} [options.units] what the figures are, which stands below the table on a terminal
 */
export async function writeTable(headings, rows, options = {}) {
  const { order = headings, continued = false, alwaysHeaded = false, below = [], units } = options;
  if (!isTerminal()) {
    const all = alwaysHeaded ? [headings, ...rows] : rows;
    await write(all.map((row) => `${row.map(oneLine).join("\t")}\n`).join(""));
    return;
  }
  if (rows.length === 0) {
    return;
  }
  const columns = order
    .map((heading) => [heading, ...rows.map((row) => oneLine(row[headings.indexOf(heading)]))])
    .filter(([, ...cells]) => cells.some((cell) => cell !== "-" && cell !== ""));
  const widths = columns.map((cells) => Math.max(...cells.map(columnsOf)));
  const rest = widths.slice(1).reduce((sum, width) => sum + 2 + width, 0);
  const width = process.stdout.columns || defaultColumns;
  widths[0] = Math.min(widths[0], Math.max(Math.floor(width / 2), width - rest));
  const shown = columns.map((cells, at) =>
    cells.map((cell) => padded(shortened(cell, widths[at]), widths[at], isFigures(cells))),
  );
  const lines = shown[0].map((_, row) => shown.map((cells) => cells[row]).join("  "));
  const [head, ...texts] = lines.map((line) => withoutEnd(line.trimEnd(), width));
  const said = texts.flatMap((text, at) => [text, ...(below[at] ?? [])]);
  const all = [...(continued ? [] : [styled("bold", head)]), ...said, ...(units === undefined ? [] : [units])];
  await write(all.map((line) => `${line}\n`).join(""));
}

/** Whether all cells under a heading are figures, which stand at the right. @param {string[]} cells */
function isFigures([, ...cells]) {
  return cells.every((cell) => /^(-?\d[\d.,]*[kM]?|-)$/.test(cell));
}

/** @param {string} cell @param {number} width @param {boolean} right */
function padded(cell, width, right) {
  const blanks = " ".repeat(width - columnsOf(cell));
  return right ? blanks + cell : cell + blanks;
}

/** @param {string} cell @param {number} width */
function shortened(cell, width) {
  return columnsOf(cell) > width ? `${beginning(cell, width - 1).trimEnd()}…` : cell;
}

/** What has room of a row. A figure without its end would be another one: of such a one nothing is shown. @param {string} row @param {number} width */
function withoutEnd(row, width) {
  const shown = beginning(row, width);
  const [begun] = /\S*$/.exec(shown) ?? [""];
  const [rest] = /^\S*/.exec(row.slice(shown.length)) ?? [""];
  const isTorn = rest !== "" && /^[-$]?\d[\d.,kM/]*$/.test(begun + rest);
  return isTorn ? shown.slice(0, shown.length - begun.length).trimEnd() : shown;
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

/** A hash for the table: shortened on a terminal. @param {string} hash */
export function shownHash(hash) {
  return isTerminal() ? hash.slice(0, shownDigits) : hash;
}

/**
 * An ID for the table: shortened on a terminal if it is that of a file.
 * @param {string} id
 */
export function shownId(id) {
  return /^[0-9a-f]{64}$/.test(id) ? shownHash(id) : id;
}

/**
 * A time for the table: on a terminal how long ago, `2 h ago`.
 * @param {string} time in RFC 3339
 */
export function shownTime(time) {
  return isTerminal() ? `${age(Date.now() - Date.parse(time))} ago` : time;
}

/**
 * A figure for the table: on a terminal short, `39k`.
 * @param {number} figure
 */
export function shownFigure(figure) {
  return isTerminal() && figure >= 0 ? shortCount(figure) : String(Math.round(figure));
}

/**
 * A size: on a terminal `152 kB`, of 1,000 bytes; else bytes alone.
 * @param {number} bytes
 */
export function shownBytes(bytes) {
  return isTerminal() ? byteSize(bytes) : String(bytes);
}

/** A size in a sentence: on a terminal short, else all of its bytes. @param {number} bytes */
export function spokenBytes(bytes) {
  return isTerminal() ? byteSize(bytes) : plural(bytes, "byte");
}

/**
 * How large a version is. On a terminal the text of a tool call, which does not say so itself, is measured.
 * @param {import("../../index.js").Store} store
 * @param {import("../../index.js").Version} version
 */
export async function shownSize(store, version) {
  const measured = isTerminal() && version.type === "toolcall" && version.content !== null;
  const text = measured ? await store.content(version.id, { at: version.txId }) : null;
  return size(version, shownFigure, text?.length);
}

/**
 * What a person typed for an object, on a terminal; else the object's ID.
 * @param {string} id
 * @param {string} given
 */
export function shownAsTyped(id, given) {
  return isTerminal() ? oneLine(given) : id;
}

/**
 * Text in one line that does nothing to a terminal. Names are spelt out before: two of them never read alike.
 * @param {string} text
 */
export function oneLine(text) {
  return line(text.replace(/[\t\r\n]/g, " "));
}
