// `palimpsest describe`: says of an object what its line in a request shows.
import { describeObject } from "../../lib/describing.js";
import { text, UsageError } from "../lib/arguments.js";
import { write, writeJson } from "../lib/output.js";
import { forNames, givenName, handleOption, withStore } from "../lib/store.js";
import { shownAsTyped } from "../lib/table.js";

/** @type {import("../lib/arguments.js").Command} */
export const describe = {
  name: "describe",
  usage: "NAME [--session SESSION] [--summary TEXT] [--view FIELDS] [--field KEY=VALUE]",
  summary: "Set what the line of an object says in a request",
  arguments: [1, 1],
  options: {
    session: handleOption,
    summary: { type: "string", value: "TEXT", text: "a summary of one line; empty: none" },
    view: { type: "string", value: "FIELDS", text: "show these fields instead: owner,status; empty: none" },
    field: {
      type: "string",
      value: "KEY=VALUE",
      text: "a field of yours; may be repeated; KEY=: none",
      multiple: true,
    },
  },
  notes: [
    "The line that stands for the object's text in a request shows the summary, or the fields of the view, from the next time on that it is made. `palimpsest objects --query` finds objects by their fields. A value is JSON, or else a text.",
  ],
  json: "{ id: string, fields: object }",
  examples: [
    'palimpsest describe README.md --summary "what a user reads first"',
    "palimpsest describe README.md --field owner=ann --view owner",
  ],
  async run(given) {
    const fields = /** @type {string[] | undefined} */ (given.values.field) ?? [];
    const said = { summary: text(given, "summary"), view: text(given, "view"), fields };
    if (said.summary === undefined && said.view === undefined && fields.length === 0) {
      throw new UsageError("there is nothing to set", "`--summary TEXT`, `--view FIELDS` or `--field KEY=VALUE`");
    }
    await withStore(
      given,
      async (store) => {
        const id = await describeObject(store, await givenName(store, given), said);
        const { fields } = await store.get(id);
        if (given.json) {
          return writeJson({ id, fields });
        }
        await write(`${shownAsTyped(id, given.positionals[0])} is described\n`);
      },
      { access: "write", needed: forNames },
    );
  },
};
