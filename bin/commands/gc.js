// `palimpsest gc`: drops what nothing refers to. A dry run without --yes.
import { withTyped } from "../../lib/program.js";
import { write, writeJson } from "../lib/output.js";
import { withProgress } from "../lib/progress.js";
import { withStore } from "../lib/store.js";
import { pairs, shownBytes } from "../lib/table.js";

/** What to do where the file of an earlier version keeps its free pages. */
export const waiting =
  "Free parts of the file may still hold what was dropped: end all sessions, then run `palimpsest gc --yes`.";

/** @type {import("../lib/arguments.js").Command} */
export const gc = {
  name: "gc",
  usage: "[--yes]",
  summary: "Drop what nothing refers to; a dry run without --yes",
  arguments: [0, 0],
  options: { yes: { type: "boolean", text: "do it; without this, only report what would be dropped" } },
  notes: [
    "Every version of every object stays. Free space goes back to the file system. Sessions may go on meanwhile. A file of an earlier version is written anew once, which needs about as much space again and that no session is open.",
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
            "their text": shownBytes(found.contentBytes),
            "store before": shownBytes(found.bytesBefore),
            [dryRun ? "store after, at most" : "store now"]: shownBytes(found.bytesAfter),
          }),
        );
        await write(
          found.waitsForReaders ? "Another process reads an older state: run it again when it is done.\n" : "",
        );
        await write(found.waitsToBeAlone ? `${withTyped(waiting, given.store)}\n` : "");
        await write(dryRun ? "Nothing was changed: add --yes to do it.\n" : "");
      },
      { access: dryRun ? "read" : "write" },
    );
  },
};
