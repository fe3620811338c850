// `palimpsest export`: writes an archive of everything, of a session, or of an object.

import { plural } from "../../lib/describe.js";
import { text, UsageError } from "../lib/arguments.js";
import { leftOutLines } from "../lib/merged.js";
import { write, writeError, writeJson } from "../lib/output.js";
import { progressText, withProgress } from "../lib/progress.js";
import { findObject, forNames, withStore } from "../lib/store.js";

/** @type {import("../lib/arguments.js").Command} */
export const exportArchive = {
  name: "export",
  usage: "FILE [--session NAME | --object NAME] [--redact] [--compress]",
  summary: "Write an archive of everything, a session, or an object",
  arguments: [1, 1],
  options: {
    session: { type: "string", value: "NAME", text: "write a session and all objects that it refers to" },
    object: { type: "string", value: "NAME", text: "write an object with its history" },
    redact: { type: "boolean", text: "replace what looks like a secret, such as keys and tokens" },
    compress: { type: "boolean", text: "compress with zstd; default for a FILE that ends in .zst" },
  },
  notes: [
    "An archive is JSON Lines, described in docs/archive-format.md. `palimpsest import` reads it. An existing FILE is replaced once the archive is complete. `-` is stdout; counts then go to stderr. A version whose stored text is damaged is left out and named; the exit code is 1 then.",
  ],
  json: "ExportedArchive & { path: string }",
  examples: ["palimpsest export backup.jsonl.zst", "palimpsest export - --session latest --redact | less"],
  async run(given) {
    const [path] = given.positionals;
    const session = text(given, "session");
    const object = text(given, "object");
    if (session !== undefined && object !== undefined) {
      throw new UsageError("`--session` and `--object` exclude each other", "export them one by one");
    }
    if (path === "-" && given.json) {
      throw new UsageError("`--json` and the archive cannot both go to stdout", "export to a file");
    }
    let code = 0;
    const done = withStore(
      given,
      async (store) => {
        const found = await withProgress("exporting", async (report) => {
          const options = {
            path,
            session: session && (await store.findSession(session)),
            object: object && (await findObject(store, object)),
            redact: given.values.redact === true,
            compress: given.values.compress === true ? true : undefined,
          };
          return store.maintenance.exportArchive(options, progressText(report, "exporting"));
        });
        code = found.leftOut.length > 0 ? 1 : 0;
        if (given.json) {
          return writeJson({ path, ...found });
        }
        const print = path === "-" ? writeError : write;
        const counts = [
          plural(found.objects, "object"),
          plural(found.versions, "version"),
          plural(found.items, "item"),
        ];
        await print(`wrote ${counts.join(", ")}: ${plural(found.writtenBytes, "byte")}\n`);
        const redactions = Object.entries(found.redactions).sort(([a], [b]) => (a < b ? -1 : 1));
        if (given.values.redact === true) {
          const total = redactions.reduce((sum, [, count]) => sum + count, 0);
          await print(`redacted ${total}${redactions.map(([rule, count]) => `\n  ${count} ${rule}`).join("")}\n`);
        }
        await writeError(leftOutLines(found.leftOut));
      },
      { needed: object === undefined ? [] : forNames },
    );
    await done.catch((error) => {
      if (path !== "-" || !isUnread(error)) {
        throw error;
      }
    });
    return code;
  },
};

/** Whether nobody reads on, as where `| head` has enough: then all commands end quietly. @param {{ code?: string, message?: string }} error */
function isUnread({ code, message }) {
  return code === "FILE" && message?.endsWith(": broken pipe") === true;
}
