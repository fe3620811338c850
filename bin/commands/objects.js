// `palimpsest objects`: the objects of the store, by their metadata.

import { text, wholeNumber } from "../lib/arguments.js";
import { size, what } from "../lib/describe.js";
import { writeJson } from "../lib/output.js";
import { withStore } from "../lib/store.js";
import { shownId, shownTime, writeTable } from "../lib/table.js";

/** @typedef {import("../../index.js").ObjectType} ObjectType */

/** @type {ObjectType[]} */
const types = ["file", "toolcall", "chat_segment", "chat", "system_prompt", "session"];

/** @type {import("../lib/arguments.js").Command} */
export const objects = {
  name: "objects",
  usage: "[--type TYPE] [--limit N]",
  summary: "List objects by their metadata",
  arguments: [0, 0],
  options: {
    type: { type: "string", value: "TYPE", text: `only those of a type: ${types.join(", ")}` },
    limit: { type: "string", value: "N", text: "at most so many; all by default" },
  },
  notes: ["Columns: ID, type, transaction and time of the latest version, size, what it is."],
  json: "{ objects: Version[] }",
  examples: ["palimpsest objects --type file --limit 20"],
  async run(given) {
    const type = /** @type {ObjectType | undefined} */ (text(given, "type"));
    const limit = wholeNumber(given, "limit");
    await withStore(given, async (store) => {
      const found = await listed(store, type === undefined ? types : [type], limit);
      if (given.json) {
        return writeJson({ objects: found });
      }
      const rows = found.map((version) => [
        shownId(version.id),
        version.type,
        String(version.txId),
        shownTime(version.systemTime),
        size(version),
        what(version),
      ]);
      await writeTable(["ID", "TYPE", "TX", "TIME", "SIZE", "WHAT"], rows);
    });
  },
};

/**
 * @param {import("../../index.js").Store} store
 * @param {ObjectType[]} wanted
 * @param {number} [limit]
 */
async function listed(store, wanted, limit = Number.POSITIVE_INFINITY) {
  const pageSize = 1_000;
  /** @type {import("../../index.js").Version[]} */
  const found = [];
  for (const type of wanted) {
    /** @type {string | undefined} */
    let after;
    while (found.length < limit) {
      const page = await store.list(type, { after, limit: Math.min(pageSize, limit - found.length) });
      if (page.length === 0) {
        break;
      }
      found.push(...page);
      after = page[page.length - 1].id;
    }
  }
  return found;
}
