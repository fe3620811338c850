// `palimpsest forget`: removes an object or a session for good. A dry run without --yes.
import { plural, what } from "../../lib/describe.js";
import { withTyped } from "../../lib/program.js";
import { line } from "../../lib/terminal.js";
import { write, writeJson } from "../lib/output.js";
import { withProgress } from "../lib/progress.js";
import { findObject, forNames, withStore } from "../lib/store.js";
import { pairs, shownBytes, shownId, writeTable } from "../lib/table.js";
import { waiting } from "./gc.js";

/** Other objects that are listed for people; `--json` has all. */
const shownHolders = 20;

/** @type {import("../lib/arguments.js").Command} */
export const forget = {
  name: "forget",
  usage: "NAME [--everywhere] [--yes]",
  summary: "Remove an object or a session; a dry run without --yes",
  arguments: [1, 1],
  options: {
    everywhere: {
      type: "boolean",
      text: "also remove its text from objects and sessions that have nothing to do with it",
    },
    yes: { type: "boolean", text: "do it; without this, only report what would happen" },
  },
  notes: [
    "Removes contents, fields, items and nicknames, and the text in the search index and in call records, from the file on disk too. Hashes stay, so that the text is not stored again. Forgetting a session includes its chat, system prompt and tool calls, and the text of files that no other session knows; reading such a file stores it again. Sessions may go on meanwhile; broken off, it is finished by running it again. It does not reach the host's own session file, backups, and archives that you exported: remove these yourself. A shared store follows with the next `palimpsest sync push`.",
  ],
  json: "ForgetReport",
  examples: ["palimpsest forget 0189ab12-5c01", "palimpsest forget .env --everywhere --yes"],
  async run(given) {
    const options = { dryRun: given.values.yes !== true, everywhere: given.values.everywhere === true };
    await withStore(
      given,
      async (store) => {
        const target = await findObject(store, given.positionals[0]);
        const report = await withProgress("forgetting", () => store.maintenance.forget(target, options));
        return given.json ? writeJson(report) : print(store, report, options.everywhere, given.store);
      },
      { access: options.dryRun ? "refresh" : "write", needed: forNames },
    );
  },
};

/**
 * @param {import("../../index.js").Store} store
 * @param {import("../../index.js").ForgetReport} report
 * @param {boolean} everywhere
 * @param {string | undefined} typedStore
 */
async function print(store, report, everywhere, typedStore) {
  const { dryRun, holders, hosts, collected } = report;
  await write(
    pairs({
      [dryRun ? "would go" : "gone"]: plural(report.objects.length, "object"),
      versions: report.versions,
      items: report.items,
      contents: report.contents,
      text: shownBytes(report.textBytes),
      "lines replaced in": plural(report.rewritten.length, "other object"),
      ...(report.emptied.length > 0 && { "text of": plural(report.emptied.length, "file") }),
      ...(report.kept.length > 0 && { "kept, known elsewhere": plural(report.kept.length, "object") }),
      ...(collected && {
        store: `${shownBytes(collected.bytesBefore)} before, ${shownBytes(collected.bytesAfter)} now`,
      }),
    }),
  );
  if (everywhere && report.lines + report.commonLines === 0) {
    await write("\nIt has no lines to look for in others: what was forgotten before has none left.\n");
  }
  if (holders.length > 0) {
    await write(
      dryRun
        ? "\nSome of its lines also stand in these; --everywhere removes them there too:\n"
        : "\nSome of its lines still stand in these. Nobody knows the lines now, so forget these one by one, by name:\n",
    );
    const rows = await Promise.all(
      holders.slice(0, shownHolders).map(async ({ object, type, lines }) => {
        const said = await store.get(object).then(what, () => "-");
        return [shownId(object), type, plural(lines, "line"), said];
      }),
    );
    await writeTable(["OBJECT", "TYPE", "LINES", "WHAT"], rows, { order: ["WHAT", "TYPE", "LINES", "OBJECT"] });
    const more = holders.length - shownHolders;
    const least = report.moreHolders ? "at least " : "";
    await write(more > 0 ? `and ${least}${plural(more, "object")} more\n` : "");
  }
  for (const { harness, hostSession } of hosts) {
    await write(`\nThe session file that ${line(harness)} keeps of ${line(hostSession)} still holds the text.\n`);
  }
  if (collected?.waitsForReaders) {
    await write(
      withTyped("\nAnother process reads an older state: run `palimpsest gc --yes` when it is done.\n", typedStore),
    );
  }
  await write(collected?.waitsToBeAlone ? `\n${withTyped(waiting, typedStore)}\n` : "");
  await write(dryRun ? "\nNothing was changed: add --yes to do it.\n" : "");
}
