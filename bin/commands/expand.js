// `palimpsest expand`: what is reached from objects by their links and references, with contents or values where these are asked for.
import { name } from "../../lib/terminal.js";
import { text, UsageError, wholeNumber } from "../lib/arguments.js";
import { write, writeJson } from "../lib/output.js";
import { forNames, givenName, handleOption, withStore } from "../lib/store.js";
import { shownId, writeTable } from "../lib/table.js";

/** @type {import("../lib/arguments.js").Command} */
export const expand = {
  name: "expand",
  usage:
    "NAME [--session SESSION] [--depth N] [--back] [--kind KINDS] [--place PLACES] [--type TYPES] [--content] [--select PATHS] [--limit N] [--at TX|TIME]",
  summary: "Follow links and references, with contents or values",
  arguments: [1, 1],
  options: {
    session: handleOption,
    depth: { type: "string", value: "N", text: "how many relations to follow from NAME; default: 1" },
    back: { type: "boolean", text: "follow the relations to an object instead" },
    kind: { type: "string", value: "KINDS", text: "only relations of these kinds: wikilink,static" },
    place: { type: "string", value: "PLACES", text: "only relations at these places: file_refs,content#Guide" },
    type: { type: "string", value: "TYPES", text: "list only objects of these types: file,toolcall" },
    content: { type: "boolean", text: "print the contents, or the part that a relation names" },
    select: { type: "string", value: "PATHS", text: "print these values: tool,args.command,toolcall_refs" },
    limit: { type: "string", value: "N", text: "largest number of objects; default: 1,000" },
    at: { type: "string", value: "TX|TIME", text: "as of a transaction (12) or a time (RFC 3339)" },
  },
  notes: [
    "Columns: distance, kind of the relation, its place, state, object. A pinned reference gives its version. The values are those of fields, `content`, `additional.NAME`, `items[*].message.role`, and of a chat `turns` and `toolcall_refs`.",
  ],
  json: "Expanded",
  examples: [
    "palimpsest expand notes/plan.md --depth 2",
    "palimpsest expand call_7 --select tool,args.command --depth 0",
  ],
  async run(given) {
    const select = listed(given, "select");
    const content = given.values.content === true;
    if (content && select !== undefined) {
      throw new UsageError("`--content` and `--select` exclude each other", "`content` may be among the values");
    }
    await withStore(
      given,
      async (store) => {
        const found = await store.expand({
          roots: [await givenName(store, given)],
          depth: wholeNumber(given, "depth"),
          direction: given.values.back === true ? "back" : "forward",
          kinds: /** @type {import("../../index.js").RelationKind[] | undefined} */ (listed(given, "kind")),
          fields: listed(given, "place"),
          types: /** @type {import("../../index.js").ObjectType[] | undefined} */ (listed(given, "type")),
          content,
          values: select,
          limit: wholeNumber(given, "limit"),
          at: text(given, "at"),
        });
        if (given.json) {
          return writeJson(found);
        }
        if (content || select !== undefined) {
          return write(found.nodes.map((node) => `--- ${what(node)}\n${said(node, select)}`).join(""));
        }
        const order = ["OBJECT", "DEPTH", "KIND", "PLACE", "STATE"];
        await writeTable(["DEPTH", "KIND", "PLACE", "STATE", "OBJECT"], found.nodes.map(row), { order });
      },
      { access: "refresh", needed: forNames },
    );
  },
};

/** @param {import("../lib/arguments.js").Given} given @param {string} option */
function listed(given, option) {
  return text(given, option)
    ?.split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "");
}

/** @typedef {import("../../index.js").ExpandedNode} Node */

/** @param {Node} node */
function row(node) {
  const { depth, viaKind, viaPlace, state } = node;
  return [String(depth), viaKind ?? "", viaPlace?.path || (viaPlace?.field ?? ""), state, what(node)];
}

/** @param {Node} node */
function what({ id, part, metadata, viaWritten }) {
  const path = metadata.path;
  const named = typeof path === "string" ? name(path) : id === undefined ? name(viaWritten ?? "") : shownId(id);
  return part === undefined ? named : `${named}#${part}`;
}

/** @param {Node} node @param {string[] | undefined} select */
function said({ content, values, state }, select) {
  if (select === undefined) {
    const text = content ?? (state === "found" ? "" : `(${state})`);
    return text === "" || text.endsWith("\n") ? text : `${text}\n`;
  }
  return Object.entries(values)
    .map(([path, value]) => `${path}: ${typeof value === "string" ? value : JSON.stringify(value)}\n`)
    .join("");
}
