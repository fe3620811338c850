// `palimpsest gc`: drops what nothing refers to. A dry run without --yes.
import { write, writeJson } from "../lib/output.js";
import { withProgress } from "../lib/progress.js";
import { withStore } from "../lib/store.js";
import { pairs } from "../lib/table.js";

/** @type {import("../lib/arguments.js").Command} */
export const gc = {
  name: "gc",
  usage: "[--yes]",
  summary: "Drop what nothing refers to; a dry run without --yes",
  arguments: [0, 0],
  options: { yes: { type: "boolean", text: "do it; without this, only report what would be dropped" } },
  notes: [
    "Every version of every object stays. Rewrites the file to return free space to the file system, which needs about as much space again while it runs.",
  ],
  json: "Garbage & { dryRun: boolean }",
  examples: ["palimpsest gc --yes"],
  async run(given) {
    const dryRun = given.values.yes !== true;
    await withStore(
      given,
      async (store) => {
        const found = await withProgress("collecting", () => store.maintenance.gc({ dryRun }));
        if (given.json) {
          return writeJson({ dryRun, ...found });
        }
        await write(
          pairs({
            [dryRun ? "contents that would go" : "contents gone"]: found.contents,
            "bytes of these": found.contentBytes,
            "bytes of the store before": found.bytesBefore,
            [dryRun ? "bytes after, at most" : "bytes now"]: found.bytesAfter,
          }),
        );
        await write(
          found.waitsForReaders ? "Another process reads an older state: run it again when it is done.\n" : "",
        );
        await write(dryRun ? "Nothing was changed: add --yes to do it.\n" : "");
      },
      { access: dryRun ? "read" : "write" },
    );
  },
};
