// `palimpsest gc`: drops what nothing refers to, and what a person no longer wants kept. A dry run without --yes.
import { plural } from "../../lib/describe.js";
import { withTyped } from "../../lib/program.js";
import { text, UsageError, wholeNumber } from "../lib/arguments.js";
import { write, writeJson } from "../lib/output.js";
import { withProgress } from "../lib/progress.js";
import { withStore } from "../lib/store.js";
import { pairs, shownBytes, spokenBytes } from "../lib/table.js";

/** What to do where the file keeps free pages. */
export const waiting =
  "Free parts of the file may still hold what was dropped: end all sessions, then run `palimpsest gc --yes`.";

/** @type {import("../lib/arguments.js").Command} */
export const gc = {
  name: "gc",
  usage: "[--unused-days N] [--outputs searched|unsearched] [--yes]",
  summary: "Drop what nothing refers to; a dry run without --yes",
  arguments: [0, 0],
  options: {
    "unused-days": {
      type: "string",
      value: "N",
      text: "also drop the sessions that were last used so many days ago, with what only they know",
    },
    outputs: {
      type: "string",
      value: "searched|unsearched",
      text: "whether `search` finds outputs of tool calls by their text, from now on; without them the store takes less space",
    },
    yes: { type: "boolean", text: "do it; without this, only report what would be dropped" },
  },
  notes: [
    "Every version of every object stays, but for those of sessions that --unused-days names: export or back up these first if you may want them. What has a nickname stays, and what sessions that stay refer to. A session that was dropped begins anew when its host goes on with it. Free space goes back to the file system. Sessions may go on meanwhile. A file of an earlier version is written anew once, which needs about as much space again and that no session is open.",
  ],
  json: "Garbage & { dryRun: boolean }",
  examples: ["palimpsest gc --yes", "palimpsest gc --unused-days 180", "palimpsest gc --outputs unsearched --yes"],
  async run(given) {
    const dryRun = given.values.yes !== true;
    const outputs = text(given, "outputs");
    if (outputs !== undefined && outputs !== "searched" && outputs !== "unsearched") {
      throw new UsageError(`\`--outputs\` cannot be \`${outputs}\``, "write `searched` or `unsearched`");
    }
    const unusedDays = wholeNumber(given, "unused-days");
    if (unusedDays === 0) {
      throw new UsageError("`--unused-days` must be at least 1", "write the days as a number, such as `180`");
    }
    const searchOutputs = outputs && outputs === "searched";
    await withStore(
      given,
      async (store) => {
        const options = { dryRun, unusedDays, searchOutputs };
        const found = await withProgress("collecting", () => store.maintenance.gc(options));
        if (given.json) {
          return writeJson({ dryRun, ...found });
        }
        await write(pairs(dryRun ? whatWouldGo(found, unusedDays, outputs) : whatWent(found, unusedDays)));
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

/** @param {import("../../index.js").Garbage} found @param {number | undefined} days @param {string | undefined} outputs */
function whatWouldGo(found, days, outputs) {
  return {
    "contents that would go": found.contents,
    "their text": shownBytes(found.contentBytes),
    ...aboutSessions(found, "sessions that would go", days),
    ...(outputs !== undefined && { "outputs of tool calls": `${outputs} from now on` }),
    "search index": shownBytes(found.searchBytes ?? 0),
    "store before": shownBytes(found.bytesBefore),
    // How much outputs that are searched again add to the index is not known before.
    ...(outputs !== "searched" && { "store after, at most": shownBytes(found.bytesAfter) }),
  };
}

/** @param {import("../../index.js").Garbage} found @param {number | undefined} days */
function whatWent(found, days) {
  return {
    ...aboutSessions(found, "sessions gone", days),
    "contents gone": found.contents,
    "their text": shownBytes(found.contentBytes),
    "store before": shownBytes(found.bytesBefore),
    "store now": shownBytes(found.bytesAfter),
  };
}

/**
 * @param {import("../../index.js").Garbage} found
 * @param {string} title
 * @param {number | undefined} days
 * @returns {Record<string, string>}
 */
function aboutSessions({ aged }, title, days) {
  if (aged === undefined) {
    return {};
  }
  const kept = aged.kept === 0 ? "" : `; ${aged.kept} as old stay: named, or referred to`;
  return {
    [title]: `${aged.sessions}, unused for ${plural(days ?? 0, "day")}${kept}`,
    "their objects": `${plural(aged.objects, "object")}, ${spokenBytes(aged.textBytes)} of text`,
  };
}
