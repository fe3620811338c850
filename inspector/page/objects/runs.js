// Runs of calls in which an object was shown in the same way, in words and in order. Must not touch the document.

/** @typedef {import("../../../index.js").ShownRun} ShownRun */
/** @typedef {import("../../../index.js").TimelineObject} TimelineObject */

/** Each way in which an object is shown. */
export const SHOWN_WAYS = {
  given: "as given",
  current: "as it is now",
  excerpt: "in part",
  reread: "stands elsewhere",
  reference: "one line instead",
};

/** @param {ShownRun} run */
export function runText({ from, to, as }) {
  return `${from === to ? `call ${from}` : `calls ${from} to ${to}`}: ${SHOWN_WAYS[as]}`;
}

/**
 * How an object stands in the newest request.
 * @param {ShownRun[]} shown
 * @param {number} calls
 */
export function shownNow(shown, calls) {
  const last = shown.at(-1);
  if (last === undefined) {
    return "never shown";
  }
  return last.to >= calls ? SHOWN_WAYS[last.as] : `not shown since call ${last.to}`;
}

/** In what order objects can stand. @type {{ [order: string]: (calls: number) => (a: TimelineObject, b: TimelineObject) => number }} */
export const ORDERS = {
  "as they were met": () => () => 0,
  "by name": () => (a, b) => a.name.localeCompare(b.name),
  "shown longest first": () => (a, b) => shownCalls(b.shown) - shownCalls(a.shown),
  "changed most often first": () => (a, b) => b.shown.length - a.shown.length,
};

/**
 * The objects that a person looks for, in order.
 * @param {TimelineObject[]} objects
 * @param {{ words: string, type: string, order: string, calls: number }} wanted `type`: empty for all
 */
export function wantedObjects(objects, { words, type, order, calls }) {
  const parts = words.toLowerCase().split(/\s+/).filter(Boolean);
  return objects
    .filter((object) => type === "" || object.type === type)
    .filter(({ name, handle, id }) => {
      const text = `${handle}\n${name}\n${id}`.toLowerCase();
      return parts.every((part) => text.includes(part));
    })
    .sort((ORDERS[order] ?? ORDERS["as they were met"])(calls));
}

/**
 * In how many calls more than a line was shown.
 * @param {ShownRun[]} shown
 */
export function shownCalls(shown) {
  return shown.reduce((sum, { from, to, as }) => sum + (as === "reference" || as === "reread" ? 0 : to - from + 1), 0);
}
