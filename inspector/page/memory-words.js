// What the page says of memory, in words and in order. Must not touch the document.
import { counted } from "./numbers.js";

/** @typedef {import("../protocol.js").MemoryView["pages"][number]} Page */

/** How much of a page stands in the system prompt. @type {{ [fidelity: string]: string }} */
export const FIDELITIES = {
  pointer: "named only",
  structured: "in outline",
  compressed: "shortened",
  full: "in full",
};

/**
 * Why a person may want to look at a page.
 * @param {import("../../index.js").MemoryDoubt} doubt
 */
export function doubtText(doubt) {
  switch (doubt.reason) {
    case "cited_changed":
      return "It cites what has changed:";
    case "cited_gone":
      return "It cites what is gone:";
    case "old":
      return `Neither confirmed nor used for ${counted(doubt.days, "day")}`;
    case "never_used":
      return `Never used in ${counted(doubt.days, "day")}`;
  }
}

/**
 * The pages, file by file, in the order in which the model reads them.
 * @param {Page[]} pages
 */
export function pagesByFile(pages) {
  /** @type {Map<string, { scope: string, file: string, pages: Page[] }>} */
  const files = new Map();
  for (const page of pages) {
    const key = JSON.stringify([page.scope, page.file]);
    const file = files.get(key) ?? { scope: page.scope, file: page.file, pages: [] };
    file.pages.push(page);
    files.set(key, file);
  }
  return [...files.values()];
}

/**
 * The last version of a file on a day, or the first that the store has; null if that is the newest one, so that nothing can be compared.
 * @param {import("../../index.js").Version[]} versions newest first
 * @param {string} day `2030-01-31`
 */
export function versionThen(versions, day) {
  const then = versions.find(({ systemTime }) => systemTime.slice(0, 10) <= day) ?? versions.at(-1);
  return then === undefined || then === versions[0] ? null : then;
}
