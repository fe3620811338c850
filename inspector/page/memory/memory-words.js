// What the page says of memory, in words and in order. Must not touch the document.
import { counted } from "../elements/numbers.js";

/** @typedef {import("../../protocol.js").MemoryView["pages"][number]} Page */

/** How much of a page stands in the system prompt. @type {{ [fidelity: string]: string }} */
export const FIDELITIES = {
  pointer: "named only",
  structured: "in outline",
  compressed: "shortened",
  full: "in full",
};

/**
 * Why a person may want to look at a page.
 * @param {import("../../../index.js").MemoryDoubt} doubt
 */
export function doubtText(doubt) {
  switch (doubt.reason) {
    case "cited_contradicted":
      return "The place that it cites no longer says this:";
    case "cited_touched":
      return "A place that it cites changed; what it names is still there:";
    case "cited_moved":
      return "What it cites is elsewhere now:";
    case "cited_gone":
      return "What it cites is gone:";
    case "old":
      return `Neither confirmed nor used for ${counted(doubt.days, "day")}`;
    case "never_used":
      return `Never used in ${counted(doubt.days, "day")}`;
  }
}

const unshown = "How it changed cannot be shown: no store holds what it said then, or it may not be shown.";

/** What is said of a cited file whose difference is not there. */
export const UNSHOWN = {
  contradicted: unshown,
  touched: unshown,
  moved: "It says the same in another file.",
  gone: "It is not there any more.",
};

/**
 * The cited files that are meant by a doubt.
 * @param {import("../../../index.js").MemoryDoubt} doubt
 * @param {import("../../../index.js").CitedFile[]} cited
 */
export function citedFor({ reason }, cited) {
  return cited.filter(({ change }) => reason === `cited_${change}`);
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
