// Where the neighbours of an object stand in its graph: what leads to it on the left, what it leads to on the right.
// Must not touch the document.
import { name as spelt } from "../../../lib/terminal.js";

/** @typedef {import("../../../index.js").ObjectLink} ObjectLink */
/** @typedef {{ id: string | null, name: string, words: string, count: number }} Neighbour */

/** The most neighbours of a side that are drawn. */
export const MOST = 10;

/**
 * What an object's relations lead to, or come from, each once, those with most relations first.
 * @param {ObjectLink[]} links
 * @param {"to" | "from"} end
 * @returns {Neighbour[]}
 */
export function neighbours(links, end) {
  /** @type {Map<string, Neighbour & { kinds: Set<string> }>} */
  const found = new Map();
  for (const { from, kind, written, target } of links) {
    const id = end === "from" ? from : (target.id ?? null);
    const name = end === "from" ? from : target.path === undefined ? (target.id ?? written) : spelt(target.path);
    const known = found.get(id ?? `${kind} ${written}`) ?? { id, name, words: "", count: 0, kinds: new Set() };
    known.count += 1;
    known.kinds.add(target.state === "found" || target.state === "none" ? kind : `${kind}, ${target.state}`);
    found.set(id ?? `${kind} ${written}`, known);
  }
  return [...found.values()]
    .map(({ kinds, ...rest }) => ({ ...rest, words: [...kinds].join("; ") }))
    .sort((a, b) => b.count - a.count);
}

/**
 * The heights of the neighbours of one side, evenly around the middle.
 * @param {number} count
 * @param {number} height
 */
export function heights(count, height) {
  const step = height / Math.max(count, 1);
  return Array.from({ length: count }, (_, at) => step * (at + 0.5));
}
