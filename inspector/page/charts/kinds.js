// The kinds of content of a request, as charts and bars name them.

/** @typedef {import("../../../index.js").TokensByKind} TokensByKind */
/** @typedef {keyof TokensByKind} Kind */

/** Kinds of content as they are stacked from below. @type {[Kind, string][]} */
export const KINDS = [
  ["prompt", "system and tools"],
  ["person", "person"],
  ["model", "model’s words"],
  ["outputs", "outputs"],
  ["files", "files"],
  ["notes", "notes"],
  ["references", "references"],
];

/**
 * The kinds of a request with so many tokens by another count, such as the provider's.
 * @param {TokensByKind} kinds by our count
 * @param {number | undefined} sent undefined where that is not known
 * @returns {TokensByKind}
 */
export function recounted(kinds, sent) {
  const ours = totalOf(kinds);
  const factor = sent === undefined || ours === 0 ? 1 : sent / ours;
  const entries = Object.entries(kinds).map(([kind, tokens]) => [kind, tokens * factor]);
  return /** @type {TokensByKind} */ (Object.fromEntries(entries));
}

/** @param {TokensByKind} kinds */
export function totalOf(kinds) {
  return Object.values(kinds).reduce((sum, tokens) => sum + tokens, 0);
}
