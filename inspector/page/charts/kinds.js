// The kinds of content of a request, as charts and bars name them.

/** @typedef {keyof import("../../../index.js").TokensByKind} Kind */

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
