// `palimpsest search`: full text over contents, paths, arguments of tools and messages.
import { resolve } from "node:path";
import { plural, types, what } from "../../lib/describe.js";
import { withTyped } from "../../lib/program.js";
import { name as spelt } from "../../lib/terminal.js";
import { cut } from "../../lib/words.js";
import { text, wholeNumber } from "../lib/arguments.js";
import { isTerminal, noteNothing, styled, write, writeError, writeJson } from "../lib/output.js";
import { withProgress } from "../lib/progress.js";
import { withStore } from "../lib/store.js";
import { oneLine, shownId, writeTable } from "../lib/table.js";

/** @typedef {import("../../index.js").SearchHit} SearchHit */

/** Seconds that a search brings the index up to date at most, where that was not done as the store was written. */
const patience = 1;

/** Characters of what an object is that a terminal shows, such as a tool call with its arguments. */
const shownTitle = 80;

/** @type {import("../lib/arguments.js").Command} */
export const search = {
  name: "search",
  usage: "TEXT… [--type TYPE] [--session NAME] [--path PATH] [--all-versions] [--limit N]",
  summary: "Search contents, paths, messages and tool arguments",
  arguments: [1, Number.POSITIVE_INFINITY],
  options: {
    type: { type: "string", value: "TYPE", text: `only objects of a type: ${types.join(", ")}` },
    session: { type: "string", value: "NAME", text: "only the chat, tool calls and system prompt of a session" },
    path: { type: "string", value: "PATH", text: "only files whose path starts with this" },
    "all-versions": { type: "boolean", text: "also search earlier versions" },
    limit: { type: "string", value: "N", text: "largest number of hits; default: 10" },
  },
  notes: [
    'Best hits first. TEXT is words, "phrases", -excluded and prefix*; identifiers are found by their parts. If stdout is not a terminal, each quoted line is printed as ID@TX, name, place, line number and text, separated by tabs.',
  ],
  json: "SearchResults",
  examples: [
    "palimpsest search transform context",
    "palimpsest search '\"cargo test\" -nextest' --type toolcall --limit 5",
  ],
  async run(given) {
    const type = /** @type {import("../../index.js").ObjectType | undefined} */ (text(given, "type"));
    const limit = wholeNumber(given, "limit");
    const session = text(given, "session");
    const path = text(given, "path");
    await withStore(
      given,
      async (store) => {
        const options = {
          types: type === undefined ? undefined : [type],
          session: session === undefined ? undefined : await store.findSession(session),
          pathPrefix: path === undefined ? undefined : resolve(path),
          allVersions: given.values["all-versions"] === true,
          limit,
          patienceSeconds: patience,
        };
        const found = await withProgress("searching", () => store.search(given.positionals.join(" "), options));
        if (found.unwritten === "NO_SPACE") {
          // Searched in a copy elsewhere.
          const message = `no space is left for the index: ${plural(found.unindexed, "version")} not searched`;
          throw Object.assign(new Error(message), { code: found.unwritten });
        }
        if (given.json) {
          return writeJson(found);
        }
        await (isTerminal() ? writeHits(store, found.hits) : write(found.hits.map(forTools).join("")));
        const more = found.total - found.hits.length;
        if (isTerminal() && more > 0) {
          await write(`${plural(more, "hit")} more${found.complete ? "" : " at least"}\n`);
        }
        if (found.hits.length === 0) {
          await noteNothing("nothing found");
        }
        if (found.outputs !== "all") {
          const of = found.outputs === "none" ? "outputs are" : "some outputs are";
          await writeError(
            withTyped(`palimpsest: ${of} not searched: \`palimpsest gc --outputs searched --yes\`\n`, given.store),
          );
        }
        if (found.unindexed > 0) {
          await writeError(
            `palimpsest: ${plural(found.unindexed, "version")} not searched yet: each search indexes more, a session all\n`,
          );
        }
      },
      { access: "refresh" },
    );
  },
};

/**
 * A row for each hit, with its lines below.
 * @param {import("../../index.js").Store} store
 * @param {SearchHit[]} hits
 */
async function writeHits(store, hits) {
  const titles = await Promise.all(
    hits.map(async ({ type, id, name, txId }) =>
      type === "file" ? spelt(name ?? id) : cut(what(await store.get(id, { at: txId })), shownTitle),
    ),
  );
  const rows = hits.map(({ type, place, segment, id, latest, txId }, at) => [
    titles[at],
    type,
    segment === null ? place : `${place} in ${segment}`,
    `${shownId(id)}${latest ? "" : `@${txId}`}`,
  ]);
  const below = hits.map(({ lines }) => lines.map((line) => `  ${line.line}: ${marked(line)}`));
  await writeTable(["WHAT", "TYPE", "PLACE", "ID"], rows, { below });
}

/** @param {SearchHit} hit */
function forTools({ id, name, txId, place, lines }) {
  const rows = lines.length === 0 ? [["", ""]] : lines.map(({ line, text }) => [String(line), text]);
  return rows.map((row) => `${[`${id}@${txId}`, spelt(name ?? ""), place, ...row].map(oneLine).join("\t")}\n`).join("");
}

/** @param {import("../../index.js").SnippetLine} line */
function marked({ text, matches }) {
  let shown = "";
  let end = 0;
  for (const [from, to] of matches) {
    shown += oneLine(text.slice(end, from)) + styled("yellow", oneLine(text.slice(from, to)));
    end = to;
  }
  return shown + oneLine(text.slice(end));
}
