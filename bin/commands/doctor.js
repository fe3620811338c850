// `palimpsest doctor`: checks a store; with --set-aside, renames a damaged one.
import { UsageError } from "../lib/arguments.js";
import { write, writeJson } from "../lib/output.js";
import { withProgress } from "../lib/progress.js";
import { storePath } from "../lib/store.js";
import { pairs } from "../lib/table.js";

/** @type {import("../lib/arguments.js").Command} */
export const doctor = {
  name: "doctor",
  usage: "[--set-aside [--force]]",
  summary: "Check every hash and reference of the store",
  arguments: [0, 0],
  options: {
    "set-aside": {
      type: "boolean",
      text: "rename a damaged store to NAME.corrupt-N, so that the next session creates a new one",
    },
    force: { type: "boolean", text: "with --set-aside: rename the file even if it is not damaged, or no store" },
  },
  notes: ["Only reads, unless --set-aside is given. Exit code 1 if something is wrong."],
  json: "DoctorReport; with --set-aside { path: string, setAside: string }",
  examples: ["palimpsest doctor", "palimpsest doctor --json"],
  async run(given) {
    const force = given.values.force === true;
    if (force && given.values["set-aside"] !== true) {
      throw new UsageError("`--force` belongs to `--set-aside`", "leave it out");
    }
    const addon = await import("../../index.js");
    const path = await storePath(given);
    if (given.values["set-aside"] === true) {
      const place = await withProgress("checking", () => addon.setAside(path, force));
      await (given.json ? writeJson({ path, setAside: place }) : write(`moved to ${place}\n`));
      return 0;
    }
    const report = await withProgress("checking", () => addon.doctor(path));
    await (given.json ? writeJson(report) : print(report));
    return report.healthy ? 0 : 1;
  },
};

/** @param {import("../../index.js").DoctorReport} report */
async function print({ path, storeId, healthy, asOf, checked, findings, moreFindings }) {
  await write(
    pairs({
      store: path,
      id: storeId ?? "-",
      "as of transaction": asOf,
      objects: checked.objects,
      versions: checked.versions,
      contents: checked.contents,
      items: checked.items,
      references: checked.references,
    }),
  );
  for (const { kind, object, txId, problem, advice } of findings) {
    const where = [object, txId === undefined ? undefined : `@${txId}`].filter(Boolean).join("");
    await write(`\n${kind}${where === "" ? "" : ` ${where}`}: ${problem}\n  ${advice}\n`);
  }
  await write(moreFindings > 0 ? `\nand ${moreFindings} more\n` : "");
  await write(healthy ? "\nnothing is wrong\n" : "");
}
