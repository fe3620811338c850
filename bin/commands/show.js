// `palimpsest show`: prints the content of an object, byte for byte, or its metadata.

import { chatText } from "../../lib/chat-text.js";
import { elsewhere, size, whatAndWhence, wholeOutput, whose, whyNoText } from "../../lib/describe.js";
import { harmless, name as spelt } from "../../lib/terminal.js";
import { text, UsageError } from "../lib/arguments.js";
import { isTerminal, write, writeError, writeJson } from "../lib/output.js";
import { forNames, givenName, handleOption, withStore } from "../lib/store.js";
import { pairs, shownFigure, shownId, writeTable } from "../lib/table.js";

/** Items printed at a time: a chat can be larger than memory should hold. */
const pageSize = 500;

/** What `--field` says for the content itself, where a fuller one is stored beside it. */
const shownField = "content";

/** @type {import("../lib/arguments.js").Command} */
export const show = {
  name: "show",
  usage: "NAME [--session SESSION] [--at TX|TIME] [--lines A-B] [--field NAME] [--metadata]",
  summary: "Print the content of an object, unchanged",
  arguments: [1, 1],
  options: {
    session: handleOption,
    at: {
      type: "string",
      value: "TX|TIME",
      text: "as of a transaction (12), a step back (-1) or a time (RFC 3339)",
    },
    lines: { type: "string", value: "A-B", text: "only these lines: 40-80, 7, 1-3,9" },
    field: { type: "string", value: "NAME", text: "print an additional content instead; content: as the tool cut it" },
    metadata: { type: "boolean", text: "print the metadata of the version instead" },
  },
  notes: [
    "Of a chat, prints what was said as a text: each message behind a line such as `--- user, turn 3`, `--- assistant` or `--- tool call`; outputs are named. `--field turns` and `--field toolcall_refs` print these as JSON. Of a session, prints the events, each as a line of JSON. Fails for an object without content (binary, too large, deleted). Of a tool call that read a file, prints which lines it read: their text is in the file. Of one whose tool cut its output, prints all of it where it is stored. Where another store wrote it, stderr says who and where, or which store.",
    "With `--metadata`, of a session also what it knew: its tool calls, and a table of the objects that it met with their handles and the sets that they were in.",
  ],
  json: "Version & { text: string }, or Version & { items: unknown[] }; with --metadata Version & { document?: SessionDocument }",
  examples: ["palimpsest show src/main.rs@-1 --lines 1-40", "palimpsest show t17 --session latest | less"],
  async run(given) {
    const at = text(given, "at");
    const lines = text(given, "lines");
    const field = text(given, "field");
    if (given.values.metadata === true && (lines !== undefined || field !== undefined)) {
      throw new UsageError(
        "`--metadata` shows no content, and so no lines and no field of it",
        "leave one of them out",
      );
    }
    await withStore(
      given,
      async (store) => {
        const name = await givenName(store, given);
        const version = await store.get(name, { at });
        if (given.values.metadata === true) {
          return showMetadata(given, store, version);
        }
        const whence = elsewhere(version, store);
        if (whence !== null && !given.json) {
          await writeError(`palimpsest: written by ${whence}\n`);
        }
        if (version.type === "chat" && (field === "turns" || field === "toolcall_refs")) {
          const { nodes } = await store.expand({ roots: [version.id], depth: 0, values: [field], at: version.txId });
          return writeJson(nodes[0].values[field]);
        }
        if (version.itemCount > 0 && field === undefined) {
          return showItems(given, store, { name, version, lines });
        }
        const whole = field === shownField ? undefined : (field ?? wholeOutput(version));
        const content = await store.content(name, { at, field: whole, lines });
        if (content === null) {
          throw withoutContent(given.positionals[0], version);
        }
        if (given.json) {
          return writeJson({ ...version, text: content });
        }
        // A content is printed byte for byte; on a terminal the next prompt begins on a line of its own.
        await write(isTerminal() && content !== "" && !content.endsWith("\n") ? `${content}\n` : content);
      },
      // The toolcalls of a chat are known by the index of relations.
      { access: field === "turns" || field === "toolcall_refs" ? "refresh" : "read", needed: forNames },
    );
  },
};

/**
 * @param {import("../lib/arguments.js").Given} given
 * @param {import("../../index.js").Store} store
 * @param {import("../../index.js").Version} version
 */
async function showMetadata(given, store, version) {
  // What a session knew follows from its events.
  const isSession = version.type === "session" && version.redacted === null;
  const document = isSession ? await store.sessionDocument(version.id, { at: version.txId }) : undefined;
  if (given.json) {
    return writeJson(document === undefined ? version : { ...version, document });
  }
  await write(metadata(version, store, document));
  if (document !== undefined) {
    await write("\n");
    const order = ["HANDLE", "WHAT", "TYPE", "SETS", "ID"];
    await writeTable(["HANDLE", "TYPE", "SETS", "ID", "WHAT"], document.index.map(rowOf(document)), { order });
  }
}

/**
 * A row for each object that the session met: its handle, and in which sets it is.
 * @param {import("../../index.js").SessionDocument} document
 */
function rowOf({ pool, active, pinned }) {
  const sets = Object.entries({ pool: new Set(pool), active: new Set(active), pinned: new Set(pinned) });
  /** @param {import("../../index.js").IndexedObject} object */
  return ({ handle, id, type, path, tool }) => {
    const within = sets.filter(([, handles]) => handles.has(handle)).map(([name]) => name);
    return [handle, type, within.join(",") || "-", shownId(id), spelt(path ?? tool ?? "")];
  };
}

/**
 * @param {import("../lib/arguments.js").Given} given
 * @param {import("../../index.js").Store} store
 * @param {{ name: string, version: import("../../index.js").Version, lines: string | undefined }} shown
 */
async function showItems(given, store, { name, version, lines }) {
  const at = text(given, "at");
  if (given.json) {
    const items = await store.items(name, { at, lines });
    return writeJson({ ...version, items: items.map((item) => JSON.parse(item)) });
  }
  for (let from = 0; from < version.itemCount; from += pageSize) {
    const items = await store.items(name, { at, lines, from, to: from + pageSize });
    const shown = version.type === "chat" ? items.map(chatText).join("") : items.map((item) => `${item}\n`).join("");
    await write(isTerminal() ? harmless(shown) : shown);
  }
}

/**
 * @param {string} name as it was given
 * @param {import("../../index.js").Version} version
 */
function withoutContent(name, version) {
  const said = size(version, shownFigure);
  const reason = said === "no content" ? "" : ` (${said})`;
  return Object.assign(new Error(`\`${name}\` has no content${reason}`), {
    code: "NO_CONTENT",
    hint: whyNoText(version) ?? "`--metadata` shows what is known of it, `palimpsest history` lists its other versions",
  });
}

/**
 * @param {import("../../index.js").Version} version
 * @param {import("../../index.js").Store} store
 * @param {import("../../index.js").SessionDocument} [document] of a session
 */
function metadata(version, store, document) {
  return pairs({
    what: whatAndWhence(version, store),
    id: version.id,
    type: version.type,
    tx: version.txId,
    time: version.systemTime,
    origin: [version.origin.storeId, version.origin.txId, version.origin.time, whose(version.origin) ?? ""]
      .join(" ")
      .trim(),
    content_hash: version.contentHash,
    source_hash: version.sourceHash ?? "-",
    content: version.content ?? "-",
    items: version.itemCount,
    redacted: version.redacted ?? "-",
    ...Object.fromEntries(Object.entries(version.additional).map(([name, hash]) => [`additional ${name}`, hash])),
    ...Object.fromEntries(
      Object.entries(version.fields).map(([name, value]) => [`field ${name}`, JSON.stringify(value)]),
    ),
    ...(document && {
      calls: document.calls,
      epoch: document.epoch,
      branch_leaf: document.branchLeaf ?? "-",
      toolcall_refs: document.toolcallRefs.join(" ") || "-",
    }),
  });
}
