// `palimpsest import`: imports what an archive has and the store has not.
import { createWriteStream, existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { plural } from "../../lib/describe.js";
import { wholeNumber } from "../lib/arguments.js";
import { changedLines, leftOutLines } from "../lib/merged.js";
import { write, writeError, writeJson } from "../lib/output.js";
import { progressText, withProgress } from "../lib/progress.js";
import { storePath, withStore } from "../lib/store.js";

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
    "The whole archive is checked first; if a line is wrong, nothing is written. What the store has is not changed, so importing an archive twice does no harm. What is left out is listed with the reason. `-` is stdin.",
    "An archive of somebody else may hold anything under a path of yours: a file that this store saw stays as it saw it, and what the archive says of it is an earlier version. Other objects whose latest version is another afterwards are listed. A nickname that looks like a file, a handle or an option is not taken: `palimpsest name` gives it. A session that went on here in another way stays as it is; the archive's becomes one of its own. Text of files that `exclude` names and what was forgotten here are left out.",
  ],
  json: "ImportedArchive",
  examples: ["palimpsest import backup.jsonl.zst --dry-run", "palimpsest import backup.jsonl.zst"],
  async run(given) {
    const [path] = given.positionals;
    const options = {
      path,
      maxLineBytes: wholeNumber(given, "max-line-bytes"),
      dryRun: given.values["dry-run"] === true,
    };
    const place = await storePath(given);
    const found = existsSync(place) ? await importInto(given, options) : await importIntoNew(given, options);
    if (given.json) {
      return writeJson(found);
    }
    await write(described(found));
    const unknown = Object.entries(found.unknownLines).map(
      ([kind, count]) => `palimpsest: passed over ${plural(count, "line")} of the unknown kind ${kind}\n`,
    );
    await writeError(leftOutLines(found.leftOut) + unknown.join(""));
  },
};

/**
 * @param {import("../lib/arguments.js").Given} given
 * @param {import("../../index.js").ImportArchiveOptions} options
 */
function importInto(given, options) {
  const access = options.dryRun ? "read" : "create";
  const needed = ["exclude", "excludeAlso"];
  return withStore(
    given,
    ({ maintenance }) =>
      withProgress("importing", (report) => maintenance.importArchive(options, progressText(report, "importing"))),
    { access, needed },
  );
}

/**
 * Checks the archive before there is a store, so that one that is refused leaves none.
 * @param {import("../lib/arguments.js").Given} given
 * @param {import("../../index.js").ImportArchiveOptions} options
 */
async function importIntoNew(given, options) {
  const folder = await mkdtemp(join(tmpdir(), "palimpsest-"));
  try {
    const path = options.path === "-" ? join(folder, "archive") : options.path;
    if (options.path === "-") {
      await pipeline(process.stdin, createWriteStream(path, { mode: 0o600 }));
    }
    const checked = await importInto({ ...given, store: ":memory:" }, { ...options, path, dryRun: true });
    return options.dryRun ? checked : await importInto(given, { ...options, path });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** @param {import("../../index.js").ImportedArchive} found */
function described(found) {
  const also = [
    found.putAgain === 0 ? "" : `, ${plural(found.putAgain, "version")} put again`,
    found.restored === 0 ? "" : `, ${plural(found.restored, "version")} made whole`,
  ];
  const took = found.dryRun ? "would take" : "took";
  const parted = found.parted.map(
    ({ id, storedAs }) => `${id} went on here in another way: the archive's is ${storedAs}\n`,
  );
  return [
    `${took} ${plural(found.versions, "version")} of ${plural(found.objects, "object")}, ` +
      `${found.present} were there${also.join("")}\n`,
    changedLines(found.changed),
    ...parted,
  ].join("");
}
