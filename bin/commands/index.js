// `palimpsest index`: stores the files of folders.
import { name } from "../../lib/terminal.js";
import { write, writeError, writeJson } from "../lib/output.js";
import { withProgress } from "../lib/progress.js";
import { forFiles, withStore } from "../lib/store.js";

const outcomes = /** @type {const} */ (["created", "updated", "unchanged", "deleted"]);

/** @type {import("../lib/arguments.js").Command} */
export const index = {
  name: "index",
  usage: "PATH… [--all] [--verbose]",
  summary: "Store the files at and under the paths, as they are now",
  arguments: [1, Number.POSITIVE_INFINITY],
  options: {
    all: { type: "boolean", text: "also index hidden and ignored files, but not .git" },
    verbose: { type: "boolean", text: "also list unchanged files and what was skipped" },
  },
  notes: [
    "Stores text files with their content. Of binary files, files larger than the setting `maxTextBytes` and files that `exclude` names, only metadata is stored. Symbolic links are not followed; FIFOs and devices are not opened. A file under a PATH that is gone gets a version without content. Links in notes resolve within the folder PATH, unless a .obsidian or a .git above them marks another. Exit code 1 if something could not be read; the rest is stored.",
  ],
  json: "{ summary: Record<string, number>, files: IndexedFile[], failed: PathProblem[], skipped: PathProblem[] }",
  examples: ["palimpsest index notes/", "palimpsest index . --all --json"],
  async run(given) {
    const all = given.values.all === true;
    const report = await withStore(
      given,
      (store) =>
        withProgress("indexing", (say) => store.index(given.positionals, { all }, (files) => say(`${files} files`))),
      { access: "create", needed: forFiles },
    );
    const counts = Object.fromEntries(
      outcomes.map((outcome) => [outcome, report.files.filter((file) => file.outcome === outcome).length]),
    );
    const summary = { ...counts, failed: report.failed.length, skipped: report.skipped.length };
    if (given.json) {
      await writeJson({ summary, ...report });
    } else {
      await print(report, summary, given.values.verbose === true);
    }
    return report.failed.length === 0 ? 0 : 1;
  },
};

/**
 * @param {import("../../index.js").IndexReport} report
 * @param {Record<string, number>} summary
 * @param {boolean} verbose
 */
async function print({ files, failed, skipped }, summary, verbose) {
  const shown = files.filter(({ outcome }) => verbose || outcome !== "unchanged");
  const lines = shown.map(({ outcome, path, noContent }) => {
    const reason = noContent === null || outcome === "deleted" ? "" : ` (${noContent.replaceAll("_", " ")})`;
    return `${outcome.padEnd(9)}  ${name(path)}${reason}\n`;
  });
  await write(lines.join(""));
  const problems = [...failed, ...(verbose ? skipped : [])];
  await writeError(problems.map(({ path, problem }) => `palimpsest: ${name(path)}: ${problem}\n`).join(""));
  const counts = Object.entries(summary).filter(([, count]) => count > 0);
  await write(`${counts.map(([what, count]) => `${count} ${what}`).join(", ") || "nothing to index"}\n`);
}
