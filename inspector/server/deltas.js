// Lists and texts told by how they differ from the one before, written and read. For both sides: knows neither Node nor the document.

/** @import { CarriedChange, CarriedList } from "../protocol.js" */

const kinds = /** @type {const} */ (["kept", "removed", "inserted", "changed"]);

/**
 * @template Entry
 * @param {readonly Entry[]} before
 * @param {readonly Entry[]} list
 * @param {(a: Entry, b: Entry) => boolean} isSame
 * @returns {CarriedList<Entry>}
 */
export function listDelta(before, list, isSame) {
  const most = Math.min(before.length, list.length);
  let keep = 0;
  while (keep < most && isSame(before[keep], list[keep])) {
    keep += 1;
  }
  let tail = 0;
  while (tail < most - keep && isSame(before[before.length - 1 - tail], list[list.length - 1 - tail])) {
    tail += 1;
  }
  return { keep, add: list.slice(keep, list.length - tail), tail };
}

/**
 * @template Entry
 * @param {readonly Entry[]} before
 * @param {CarriedList<Entry>} delta
 * @returns {Entry[]}
 */
export function listOf(before, { keep, add, tail }) {
  return [...before.slice(0, keep), ...add, ...before.slice(before.length - tail)];
}

/**
 * @param {string} before
 * @param {string} text
 */
export function textDelta(before, text) {
  const most = Math.min(before.length, text.length);
  let keep = 0;
  while (keep < most && before.charCodeAt(keep) === text.charCodeAt(keep)) {
    keep += 1;
  }
  let tail = 0;
  while (
    tail < most - keep &&
    before.charCodeAt(before.length - 1 - tail) === text.charCodeAt(text.length - 1 - tail)
  ) {
    tail += 1;
  }
  return { keep, add: text.slice(keep, text.length - tail), tail };
}

/**
 * @param {string} before
 * @param {{ keep: number, add: string, tail: number }} delta
 */
export function textAfter(before, { keep, add, tail }) {
  return `${before.slice(0, keep)}${add}${before.slice(before.length - tail)}`;
}

/**
 * Changes with what follows from those before them left out.
 * @param {readonly import("../../index.js").CallChange[]} changes
 * @param {(diff: string) => number} place of a difference
 * @returns {CarriedChange[]}
 */
export function packedChanges(changes, place) {
  return changes.map(({ change, count, diff }) => [
    /** @type {0 | 1 | 2 | 3} */ (kinds.indexOf(change)),
    count,
    diff === null ? -1 : place(diff),
  ]);
}

/**
 * @param {readonly CarriedChange[]} changes
 * @param {readonly string[]} texts
 * @returns {import("../../index.js").CallChange[]}
 */
export function unpackedChanges(changes, texts) {
  let [old, at] = [0, 0];
  return changes.map(([kind, count, diff]) => {
    const change = kinds[kind];
    const places = { old: change === "inserted" ? null : old, new: change === "removed" ? null : at };
    old += change === "inserted" ? 0 : count;
    at += change === "removed" ? 0 : count;
    return { change, ...places, count, diff: diff < 0 ? null : texts[diff] };
  });
}
