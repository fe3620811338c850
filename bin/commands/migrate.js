// `palimpsest migrate`: brings all that one store holds into another, a file or a shared one.
import { plural } from "../../lib/describe.js";
import { text, UsageError } from "../lib/arguments.js";
import { leftOutLines } from "../lib/merged.js";
import { write, writeError, writeJson } from "../lib/output.js";
import { progressText, withProgress } from "../lib/progress.js";
import { settingsFor } from "../lib/store.js";
import { serverOptions } from "./sync.js";

/** @type {import("../lib/arguments.js").Command} */
export const migrate = {
  name: "migrate",
  usage: "FROM TO [--token-file FILE] [--ca-file FILE]",
  summary: "Bring all of a store into another, of XTDB too",
  arguments: [2, 2],
  options: { "token-file": serverOptions["token-file"], "ca-file": serverOptions["ca-file"] },
  notes: [
    "FROM and TO are each the path of a store's file or the address of XTDB's HTTP server, `http://…` or `https://…`. Everything goes along: files, sessions, tool calls, with their histories, nothing redacted. What TO has stays as it is, so that a migration that broke off is done again. A file that is not there is made; FROM is not changed.",
    "Afterwards every version of FROM is read from both stores and compared by its hashes. `--store` has no meaning here.",
  ],
  json: "MigrationReport",
  examples: [
    "palimpsest migrate ~/.pi/agent/palimpsest/store.sqlite http://127.0.0.1:3000",
    "palimpsest migrate http://127.0.0.1:3000 copy.sqlite",
  ],
  async run(given) {
    if (given.store !== undefined) {
      throw new UsageError("`--store` does not belong to `migrate`", "give both stores as FROM and TO");
    }
    const { migrate: move } = await import("../../index.js");
    const [from, to] = await Promise.all(given.positionals.map((place) => placeOf(place, given)));
    const done = await withProgress("migrating", (report) => move(from, to, progressText(report)));
    if (given.json) {
      return writeJson(done);
    }
    const nicknames = done.nicknames === 0 ? "" : `, ${plural(done.nicknames, "nickname")}`;
    await write(
      `${plural(done.versions, "version")} brought along, ${done.present} were there${nicknames}\n` +
        `verified by their hashes: ${plural(done.verified, "version")} of ${plural(done.objects, "object")}\n`,
    );
    await writeError(leftOutLines(done.leftOut));
  },
};

/**
 * A store by its path or address. The token of the settings is for the server of the settings alone.
 * @param {string} place
 * @param {import("../lib/arguments.js").Given} given
 * @returns {Promise<import("../../index.js").MigrationPlace>}
 */
async function placeOf(place, given) {
  if (!/^https?:\/\//i.test(place)) {
    return { path: place };
  }
  const { xtdbUrl, xtdbTokenFile, xtdbCaFile } = await settingsFor(["xtdbUrl", "xtdbTokenFile", "xtdbCaFile"]);
  const own = place === xtdbUrl;
  return {
    url: place,
    tokenFile: text(given, "token-file") ?? (own ? (xtdbTokenFile ?? undefined) : undefined),
    caFile: text(given, "ca-file") ?? (own ? (xtdbCaFile ?? undefined) : undefined),
  };
}
