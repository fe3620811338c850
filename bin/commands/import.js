// `palimpsest import`: imports what an archive has and the store has not.
import { wholeNumber } from "../lib/arguments.js";
import { plural } from "../lib/describe.js";
import { write, writeError, writeJson } from "../lib/output.js";
import { withProgress } from "../lib/progress.js";
import { withStore } from "../lib/store.js";

/** @type {import("../lib/arguments.js").Command} */
export const importArchive = {
  name: "import",
  usage: "FILE [--max-line-bytes N]",
  summary: "Import what an archive has and the store lacks",
  arguments: [1, 1],
  options: {
    "max-line-bytes": { type: "string", value: "N", text: "longest line to accept; default: 268435456" },
  },
  notes: [
    "The whole archive is checked first; if a line is wrong, nothing is written. What the store has is not changed, so\nimporting an archive twice does no harm. What is left out is listed with the reason. `-` is stdin.",
  ],
  json: "ImportedArchive",
  examples: ["palimpsest import backup.jsonl.zst"],
  async run(given) {
    const [path] = given.positionals;
    const maxLineBytes = wholeNumber(given, "max-line-bytes");
    await withStore(
      given,
      async (store) => {
        const found = await withProgress("importing", () => store.maintenance.importArchive({ path, maxLineBytes }));
        if (given.json) {
          return writeJson(found);
        }
        const again = found.putAgain === 0 ? "" : `, ${plural(found.putAgain, "version")} put again`;
        await write(
          `took ${plural(found.versions, "version")} of ${plural(found.objects, "object")}, ` +
            `${found.present} were there${again}\n`,
        );
        const unknown = Object.entries(found.unknownLines).map(
          ([kind, count]) => `palimpsest: passed over ${plural(count, "line")} of the unknown kind ${kind}\n`,
        );
        const left = found.leftOut.map(({ id, detail }) => `palimpsest: left out ${id}: ${detail}\n`);
        await writeError([...left, ...unknown].join(""));
      },
      { create: true },
    );
  },
};
