// `palimpsest backup`: copies the store into a file while sessions go on.
import { plural } from "../../lib/describe.js";
import { write, writeJson } from "../lib/output.js";
import { withProgress } from "../lib/progress.js";
import { withStore } from "../lib/store.js";
import { spokenBytes } from "../lib/table.js";

/** @type {import("../lib/arguments.js").Command} */
export const backup = {
  name: "backup",
  usage: "FILE",
  summary: "Copy the store into a file while sessions go on",
  arguments: [1, 1],
  options: {},
  notes: [
    "The copy is the store as it is at one moment, checked before it is put in its place; an existing FILE is replaced then. To go back to it, end all sessions and put it in the place of the store. Other tools are no help beside a session: a copy of the file alone lacks what is in the log, and `sqlite3 .backup` begins anew with each write.",
  ],
  json: "Backup & { path: string }",
  examples: ["palimpsest backup ~/store-$(date +%F).sqlite"],
  async run(given) {
    const [path] = given.positionals;
    await withStore(given, async (store) => {
      const made = await withProgress("copying", () => store.maintenance.backup(path));
      if (given.json) {
        return writeJson({ path, ...made });
      }
      await write(
        `wrote ${plural(made.versions, "version")} up to transaction ${made.txId}: ${spokenBytes(made.bytes)}\n`,
      );
    });
  },
};
