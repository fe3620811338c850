// `palimpsest name`: gives an object a nickname, or takes one away.
import { UsageError } from "../lib/arguments.js";
import { write, writeJson } from "../lib/output.js";
import { findObject, forNames, givenName, handleOption, withStore } from "../lib/store.js";
import { shownAsTyped } from "../lib/table.js";

/** @type {import("../lib/arguments.js").Command} */
export const name = {
  name: "name",
  usage: "NAME NICKNAME [--session SESSION] | --remove NICKNAME",
  summary: "Give an object a nickname, or take one away",
  arguments: [1, 2],
  options: { session: handleOption, remove: { type: "boolean", text: "remove the nickname" } },
  notes: [
    "A nickname is unique in the store. It has 1 to 64 characters, no white space, none of @ / \\ [ ] : and does not look like a handle (t17) or an ID; `latest` is none. A nickname of another object is refused.",
  ],
  json: "{ id: string, nickname: string, removed: boolean }",
  examples: ["palimpsest name src/main.rs entry", "palimpsest name --remove entry"],
  async run(given) {
    const remove = given.values.remove === true;
    if (given.positionals.length !== (remove ? 1 : 2)) {
      throw new UsageError(
        remove ? "`--remove` takes one nickname" : "name an object and its nickname",
        "such as `palimpsest name src/main.rs entry`",
      );
    }
    const [first, second] = given.positionals;
    const isHandle = given.values.session !== undefined;
    await withStore(
      given,
      async (store) => {
        const nickname = remove ? first : second;
        const named = async () => (isHandle ? await givenName(store, given) : await findObject(store, first));
        const id = remove ? await store.unname(nickname) : await store.name(await named(), nickname);
        if (given.json) {
          return writeJson({ id, nickname, removed: remove });
        }
        await write(`${shownAsTyped(id, remove ? id : first)} is ${remove ? "no longer " : ""}named ${nickname}\n`);
      },
      { access: "write", needed: forNames },
    );
  },
};
