// `palimpsest import`: imports what an archive has and the store has not.
import { wholeNumber } from "../lib/arguments.js";
import { plural } from "../lib/describe.js";
import { write, writeError, writeJson } from "../lib/output.js";
import { withProgress } from "../lib/progress.js";
import { withStore } from "../lib/store.js";

/** Most changed objects that are shown. */
const maxShown = 50;

/** @type {import("../lib/arguments.js").Command} */
export const importArchive = {
  name: "import",
  usage: "FILE [--dry-run] [--max-line-bytes N]",
  summary: "Import what an archive has and the store lacks",
  arguments: [1, 1],
  options: {
    "dry-run": { type: "boolean", text: "only say what would happen" },
    "max-line-bytes": { type: "string", value: "N", text: "longest line to accept; default: 268435456" },
  },
  notes: [
    "The whole archive is checked first; if a line is wrong, nothing is written. What the store has is not changed, so\nimporting an archive twice does no harm. What is left out is listed with the reason. `-` is stdin.",
    "Objects whose latest version is another afterwards are listed: an archive of somebody else may hold anything under a\npath of yours. A session that went on here in another way stays as it is; the archive's becomes one of its own. Text\nof files that `exclude` names and what was forgotten here are left out.",
  ],
  json: "ImportedArchive",
  examples: ["palimpsest import backup.jsonl.zst --dry-run", "palimpsest import backup.jsonl.zst"],
  async run(given) {
    const [path] = given.positionals;
    const maxLineBytes = wholeNumber(given, "max-line-bytes");
    await withStore(
      given,
      async (store) => {
        const options = { path, maxLineBytes, dryRun: given.values["dry-run"] === true };
        const found = await withProgress("importing", () => store.maintenance.importArchive(options));
        if (given.json) {
          return writeJson(found);
        }
        await write(described(found));
        const unknown = Object.entries(found.unknownLines).map(
          ([kind, count]) => `palimpsest: passed over ${plural(count, "line")} of the unknown kind ${kind}\n`,
        );
        const left = found.leftOut.map(({ id, detail }) => `palimpsest: left out ${id}: ${detail}\n`);
        await writeError([...left, ...unknown].join(""));
      },
      { create: given.values["dry-run"] !== true },
    );
  },
};

/** @param {import("../../index.js").ImportedArchive} found */
function described(found) {
  const also = [
    found.putAgain === 0 ? "" : `, ${plural(found.putAgain, "version")} put again`,
    found.restored === 0 ? "" : `, ${plural(found.restored, "version")} made whole`,
  ];
  const took = found.dryRun ? "would take" : "took";
  const changed = found.changed.slice(0, maxShown).map(({ id, type, path, before, after, storeId }) => {
    const name = path === null ? id : `${type} ${path}`;
    return `latest version changed: ${name}: ${day(before)} -> ${day(after)}, written by the store ${storeId}\n`;
  });
  if (found.changed.length > maxShown) {
    changed.push(`latest version changed: ${found.changed.length - maxShown} more; --json lists all\n`);
  }
  const parted = found.parted.map(
    ({ id, storedAs }) => `${id} went on here in another way: the archive's is ${storedAs}\n`,
  );
  return [
    `${took} ${plural(found.versions, "version")} of ${plural(found.objects, "object")}, ` +
      `${found.present} were there${also.join("")}\n`,
    ...changed,
    ...parted,
  ].join("");
}

/** @param {number} time */
function day(time) {
  return new Date(time).toISOString().slice(0, 19).replace("T", " ");
}
