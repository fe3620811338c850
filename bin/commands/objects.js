// `palimpsest objects`: the objects of the store, by their metadata.

import { size, types, whatAndWhence } from "../../lib/describe.js";
import { text, wholeNumber } from "../lib/arguments.js";
import { noteNothing, writeJson } from "../lib/output.js";
import { withProgress } from "../lib/progress.js";
import { withStore } from "../lib/store.js";
import { shownId, shownTime, writeTable } from "../lib/table.js";

/** @type {import("../lib/arguments.js").Command} */
export const objects = {
  name: "objects",
  usage: "[--type TYPE] [--query QUERY] [--limit N] [--as-of TX|TIME]",
  summary: "List objects, and query their metadata",
  arguments: [0, 0],
  options: {
    type: { type: "string", value: "TYPE", text: `only objects of a type: ${types.join(", ")}` },
    query: { type: "string", value: "QUERY", text: "only objects that match, in the order that the query gives" },
    limit: { type: "string", value: "N", text: "largest number of objects; default: all" },
    "as-of": { type: "string", value: "TX|TIME", text: "as of a transaction (12) or a time (RFC 3339)" },
  },
  notes: [
    "Columns: ID, type, transaction and time of the version, size, description, with the store that wrote the version if that is another one.",
    "A query tests fields: FIELD, then = != < <= > >= contains starts_with ~ (* ? [a-z]) and a value, or `in (a, b)`, `exists`, `missing`; joined by and, or, not and parentheses; then `order by FIELD [desc]`, `limit N`, `offset N`. Fields: id, type, path, tx_id, system_time, nickname, and those of the type, such as tool, args.command, status, file_type, char_count.",
  ],
  json: "{ objects: Version[] }",
  examples: [
    "palimpsest objects --type file --limit 20",
    "palimpsest objects --query 'tool = bash order by tx_id desc'",
  ],
  async run(given) {
    const type = /** @type {import("../../index.js").ObjectType | undefined} */ (text(given, "type"));
    const options = { type, limit: wholeNumber(given, "limit"), at: text(given, "as-of") };
    await withStore(
      given,
      async (store) => {
        const found = await withProgress("reading", () => store.query(text(given, "query") ?? "", options));
        if (given.json) {
          return writeJson({ objects: found });
        }
        if (found.length === 0) {
          await noteNothing("nothing found");
        }
        const rows = found.map((version) => [
          shownId(version.id),
          version.type,
          String(version.txId),
          shownTime(version.systemTime),
          size(version),
          whatAndWhence(version, store),
        ]);
        const order = ["WHAT", "TYPE", "SIZE", "TIME", "TX", "ID"];
        await writeTable(["ID", "TYPE", "TX", "TIME", "SIZE", "WHAT"], rows, order);
      },
      { access: text(given, "query") === undefined ? "read" : "refresh" },
    );
  },
};
