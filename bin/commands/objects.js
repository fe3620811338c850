// `palimpsest objects`: the objects of the store, by their metadata.

import { types, whatAndWhence } from "../../lib/describe.js";
import { text, wholeNumber } from "../lib/arguments.js";
import { isTerminal, noteNothing, write, writeJsonList } from "../lib/output.js";
import { withProgress } from "../lib/progress.js";
import { withStore } from "../lib/store.js";
import { shownId, shownSize, shownTime, writeTable } from "../lib/table.js";

/** Objects that are read at once. */
const pageObjects = 100;

/** Objects that a terminal shows where no number is given. */
const shownObjects = 200;

/** @type {import("../lib/arguments.js").Command} */
export const objects = {
  name: "objects",
  usage: "[--type TYPE] [--query QUERY] [--limit N] [--at TX|TIME]",
  summary: "List objects, and query their metadata",
  arguments: [0, 0],
  options: {
    type: { type: "string", value: "TYPE", text: `only objects of a type: ${types.join(", ")}` },
    query: {
      type: "string",
      value: "QUERY",
      text: "only objects that match, in the order that the query gives; default: the newest first",
    },
    limit: {
      type: "string",
      value: "N",
      text: `largest number of objects; default: ${shownObjects} on a terminal, else all`,
    },
    at: { type: "string", value: "TX|TIME", text: "as of a transaction (12) or a time (RFC 3339)" },
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
    const query = text(given, "query") ?? "";
    const says = given.json || text(given, "limit") !== undefined || /\blimit\b/i.test(query);
    const isCut = isTerminal() && !says;
    const limit = isCut ? shownObjects : wholeNumber(given, "limit");
    const options = { type, limit, at: text(given, "at") };
    await withStore(
      given,
      async (store) => {
        const pages = inPages(store, query, options);
        if (given.json) {
          return writeJsonList("objects", pages);
        }
        const { id } = store;
        let isFirst = true;
        let count = 0;
        for await (const found of pages) {
          const sizes = await Promise.all(found.map((version) => shownSize(store, version)));
          const rows = found.map((version, at) => [
            shownId(version.id),
            version.type,
            String(version.txId),
            shownTime(version.systemTime),
            sizes[at],
            whatAndWhence(version, { id }),
          ]);
          const order = ["WHAT", "TYPE", "SIZE", "TIME", "TX", "ID"];
          await writeTable(["ID", "TYPE", "TX", "TIME", "SIZE", "WHAT"], rows, { order, continued: !isFirst });
          isFirst = false;
          count += found.length;
        }
        if (isCut && count === shownObjects) {
          await write("There may be more: choose by --type or --query, or give a --limit.\n");
        }
        if (isFirst) {
          await noteNothing("nothing found");
        }
      },
      { access: text(given, "query") === undefined ? "read" : "refresh" },
    );
  },
};

/**
 * What a query finds, page by page where it has no order of its own: a store of many objects takes no more memory than one of few. What is
 * written meanwhile is not listed, so that nothing is missing either.
 * @param {import("../../index.js").Store} store
 * @param {string} query
 * @param {import("../../index.js").QueryOptions} options
 * @returns {AsyncGenerator<import("../../index.js").Version[]>}
 */
async function* inPages(store, query, options) {
  const isOrdered = /\b(order|limit|offset)\b/i.test(query);
  let left = options.limit ?? Number.POSITIVE_INFINITY;
  const [newest] = isOrdered ? [] : await store.query("", { limit: 1, at: options.at });
  const at = options.at ?? newest?.txId;
  /** @type {import("../../index.js").Version | undefined} */
  let after;
  do {
    const limit = isOrdered ? options.limit : Math.min(left, pageObjects);
    const page = await withProgress("reading", () => store.query(query, { ...options, at, limit, after }));
    if (page.length > 0) {
      yield page;
    }
    left -= page.length;
    after = page.at(-1);
    if (isOrdered || page.length < pageObjects) {
      return;
    }
  } while (left > 0);
}
