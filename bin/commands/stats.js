// `palimpsest stats`: counts what the store holds and measures the file.
import { write, writeJson } from "../lib/output.js";
import { withProgress } from "../lib/progress.js";
import { withStore } from "../lib/store.js";
import { pairs, shownBytes } from "../lib/table.js";

/** What the tables and indexes of a file hold. @type {[string, RegExp][]} */
const uses = [
  ["search index", /^search_/],
  ["texts", /^(content|pack)$/],
  ["messages and events", /^item$/],
  ["links", /^(relation|sqlite_autoindex_relation)/],
  ["objects and versions", /^(object|version|tx|sqlite_autoindex_(object|version))/],
];

/**
 * Bytes of a file by what they hold, largest first.
 * @param {import("../../index.js").StorePart[]} parts
 */
function takesSpace(parts) {
  /** @type {Map<string, number>} */
  const sums = new Map();
  for (const { name, bytes } of parts) {
    const what = uses.find(([, names]) => names.test(name))?.[0] ?? "other";
    sums.set(what, (sums.get(what) ?? 0) + bytes);
  }
  return [...sums].sort(([, a], [, b]) => b - a);
}

/** @type {import("../lib/arguments.js").Command} */
export const stats = {
  name: "stats",
  usage: "",
  summary: "Count what the store holds, and show what takes space",
  arguments: [0, 0],
  options: {},
  json: "StoreStats & { path: string, id: string }",
  examples: ["palimpsest stats"],
  async run(given) {
    await withStore(given, async (store) => {
      const found = await withProgress("counting", () => store.maintenance.stats());
      if (given.json) {
        return writeJson({ path: store.path, id: store.id, ...found });
      }
      const types = Object.entries(found.objects).sort(([a], [b]) => (a < b ? -1 : 1));
      await write(
        pairs({
          store: store.path,
          id: store.id,
          ...Object.fromEntries(types.map(([type, count]) => [`${type} objects`, count])),
          forgotten: found.forgotten,
          versions: found.versions,
          items: found.items,
          contents: found.contents,
          text: shownBytes(found.plainBytes),
          file: shownBytes(found.fileBytes),
          ...Object.fromEntries(takesSpace(found.parts).map(([what, bytes]) => [`of it, ${what}`, shownBytes(bytes)])),
          "write-ahead log": shownBytes(found.logBytes),
          "free in the file": shownBytes(found.freeBytes),
          "oldest transaction": found.oldest ? `${found.oldest.txId}, ${found.oldest.time}` : "none",
          "newest transaction": found.newest ? `${found.newest.txId}, ${found.newest.time}` : "none",
        }),
      );
    });
  },
};
