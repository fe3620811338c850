// What changed in a store by versions of another one, for people.
import { line, name } from "../../lib/terminal.js";

/** Most objects of a kind that are shown. */
const maxShown = 50;

/**
 * Objects whose latest version is another now, a line each.
 * @param {import("../../index.js").ChangedLatest[]} changed
 */
export function changedLines(changed) {
  const lines = changed.slice(0, maxShown).map(({ id, type, path, before, after, storeId }) => {
    const object = path === undefined ? name(id) : `${type} ${name(path)}`;
    return `latest version changed: ${object}: ${day(before)} -> ${day(after)}, written by the store ${name(storeId)}\n`;
  });
  if (changed.length > maxShown) {
    lines.push(`latest version changed: ${changed.length - maxShown} more; --json lists all\n`);
  }
  return lines.join("");
}

/**
 * What was left out and why, a line each, for stderr.
 * @param {import("../../index.js").LeftOutOfImport[]} leftOut
 */
export function leftOutLines(leftOut) {
  const lines = leftOut
    .slice(0, maxShown)
    .map(({ id, path, detail }) => `palimpsest: left out ${name(path ?? id)}: ${line(detail)}\n`);
  if (leftOut.length > maxShown) {
    lines.push(`palimpsest: left out ${leftOut.length - maxShown} more; --json lists all\n`);
  }
  return lines.join("");
}

/** @param {number} time which others may say to be before any clock @returns {string} */
function day(time) {
  return `${new Date(Math.max(0, time)).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}
