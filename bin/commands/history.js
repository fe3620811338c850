// `palimpsest history`: the versions of an object.
import { elsewhere } from "../../lib/describe.js";
import { writeJson } from "../lib/output.js";
import { forNames, givenName, handleOption, withStore } from "../lib/store.js";
import { shownHash, shownSize, shownTime, writeTable } from "../lib/table.js";

/** @type {import("../lib/arguments.js").Command} */
export const history = {
  name: "history",
  usage: "NAME [--session SESSION]",
  summary: "List the versions of an object, newest first",
  arguments: [1, 1],
  options: { session: handleOption },
  notes: [
    "Versions from before a move are listed too, each version once, in the order of writing, which is the same on all machines. Columns: transaction here, time of writing, hash of the version, size; where another store wrote some of them, who and where, or which store; for a file that moved, also its path at the time.",
  ],
  json: "{ id: string, versions: Version[] }",
  examples: ["palimpsest history README.md"],
  async run(given) {
    await withStore(
      given,
      async (store) => {
        const versions = await store.history(await givenName(store, given));
        if (given.json) {
          return writeJson({ id: versions[0].id, versions });
        }
        const isOther = versions.some((version) => elsewhere(version, store) !== null);
        const moved = versions.some((version) => version.id !== versions[0].id);
        const sizes = await Promise.all(versions.map((version) => shownSize(store, version)));
        const rows = versions.map((version, at) => [
          String(version.txId),
          shownTime(version.origin.time),
          shownHash(version.contentHash),
          sizes[at],
          ...(isOther ? [elsewhere(version, store) ?? "-"] : []),
          ...(moved ? [version.source?.path ?? version.id] : []),
        ]);
        const more = [...(isOther ? ["FROM"] : []), ...(moved ? ["PATH"] : [])];
        await writeTable(["TX", "TIME", "HASH", "SIZE", ...more], rows, {
          order: ["TIME", "SIZE", ...more, "TX", "HASH"],
        });
      },
      { needed: forNames },
    );
  },
};
