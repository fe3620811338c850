// `palimpsest links`: the relations from an object to others, or to it.
import { what } from "../../lib/describe.js";
import { name } from "../../lib/terminal.js";
import { text, UsageError } from "../lib/arguments.js";
import { isTerminal, noteNothing, writeJson } from "../lib/output.js";
import { forNames, givenName, handleOption, withStore } from "../lib/store.js";
import { shownId, writeTable } from "../lib/table.js";

/** @type {import("../lib/arguments.js").Command} */
export const links = {
  name: "links",
  usage: "NAME [--session SESSION] [--back] [--part PART] [--at TX|TIME]",
  summary: "List the links, tags and references of an object",
  arguments: [1, 1],
  options: {
    session: handleOption,
    back: { type: "boolean", text: "list the relations to the object instead" },
    part: {
      type: "string",
      value: "PART",
      text: "with --back: only links to this heading (Guide#Install) or block (^id)",
    },
    at: { type: "string", value: "TX|TIME", text: "as of a transaction (12) or a time (RFC 3339)" },
  },
  notes: [
    "Columns: kind, place, line, text, target; with --back, the ID of the object that has the link comes first. A link resolves to a stored file in the vault of the linking file: the nearest folder above it with a .obsidian, else with a .git, else the folder that was given to `palimpsest index`, else the one that the file is in. Other files that an ambiguous link may mean follow in parentheses. A wikilink that leads to no file may name any object: by ID, a unique beginning of it, nickname, or handle, call ID or path of the session that wrote it, with a version (`[[t17@-1]]`) or lines (`[[t17:5-9]]`).",
  ],
  json: "{ id: string, links: ObjectLink[] }",
  examples: ["palimpsest links notes/plan.md", "palimpsest links notes/plan.md --back --json"],
  async run(given) {
    const at = text(given, "at");
    const part = text(given, "part");
    const back = given.values.back === true;
    if (part !== undefined && !back) {
      throw new UsageError("`--part` belongs to `--back`", "give both, or neither");
    }
    await withStore(
      given,
      async (store) => {
        const id = await store.find(await givenName(store, given));
        const found = back ? await store.backlinks(id, { at, part }) : await store.links(id, { at });
        if (given.json) {
          return writeJson({ id, links: found });
        }
        if (found.length === 0) {
          await noteNothing(back ? "nothing links to it" : "it has no links");
        }
        const columns = ["KIND", "PLACE", "LINE", "WRITTEN", "TARGET"];
        if (!back) {
          const order = ["WRITTEN", "KIND", "TARGET", "PLACE", "LINE"];
          return writeTable(columns, found.map(row), { order });
        }
        const names = isTerminal() ? await namesOf(store, found) : undefined;
        const rows = found.map((link) => [shownId(link.from), ...row(link), ...(names?.get(link.from) ?? [])]);
        const order = ["FROM", "KIND", "WRITTEN", "PLACE", "LINE", "ID"];
        await writeTable(["ID", ...columns, "FROM"], rows, { order });
      },
      { access: "refresh", needed: forNames },
    );
  },
};

/**
 * What the objects are that have the links, by their IDs.
 * @param {import("../../index.js").Store} store
 * @param {import("../../index.js").ObjectLink[]} links
 */
async function namesOf(store, links) {
  const ids = [...new Set(links.map(({ from }) => from))];
  return new Map(await Promise.all(ids.map(async (id) => /** @type {const} */ ([id, [what(await store.get(id))]]))));
}

/** @param {import("../../index.js").ObjectLink} link */
function row({ kind, place, embed, written, part, target }) {
  const where = place.path === "" ? place.field : place.field === "content" ? `content#${place.path}` : place.path;
  const line = place.line === undefined ? "" : String(place.line);
  const what = `${embed ? "!" : ""}${shownId(written)}${part === undefined ? "" : `#${part}`}`;
  return [kind, where, line, what, shownTarget(target)];
}

/** @param {import("../../index.js").LinkTarget} target */
function shownTarget({ state, path, id, candidates }) {
  if (state === "none") {
    return "";
  }
  const named = path ?? (id === undefined ? "" : shownId(id));
  const shown = state === "found" ? name(named) : `${state} ${name(named)}`.trim();
  const others = candidates.map(({ id, path }) => (path === "" ? shownId(id) : name(path))).join(", ");
  return others === "" ? shown : `${shown} (${others})`;
}
