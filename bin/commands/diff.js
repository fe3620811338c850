// `palimpsest diff`: the difference of two versions of an object, or of two objects, as a unified diff.
import { wholeNumber } from "../lib/arguments.js";
import { styled, write, writeJson } from "../lib/output.js";
import { forNames, givenName, handleOption, withStore } from "../lib/store.js";

/** @type {import("../lib/arguments.js").Command} */
export const diff = {
  name: "diff",
  usage: "NAME [A [B]] [--session SESSION] [--context N]",
  summary: "Compare two versions of an object, by lines",
  arguments: [1, 3],
  options: {
    session: handleOption,
    context: { type: "string", value: "N", text: "unchanged lines around each change; default: 3" },
  },
  notes: [
    "A and B are a transaction (12), a step back (-1), `latest` or a time (RFC 3339). By default, B is the latest version and A the one before B. A may also be the name of another object, such as the system prompt of another session: then NAME is compared with it. If only fields differ, they are listed.",
  ],
  json: "Difference",
  examples: ["palimpsest diff src/main.rs -2 latest", "palimpsest diff README.md -1 --context 0"],
  async run(given) {
    const [, from, to] = given.positionals;
    const other = from === undefined || to !== undefined || isVersion.test(from) ? undefined : from;
    const context = wholeNumber(given, "context");
    await withStore(
      given,
      async (store) => {
        const versions =
          other === undefined ? { from, to } : { other: await givenName(store, { ...given, positionals: [other] }) };
        const found = await store.diff(await givenName(store, given), { ...versions, context });
        if (given.json) {
          return writeJson(found);
        }
        await write(coloured(found.unified));
        if (found.unified === "") {
          const changes = found.fields.map(
            ({ name, before, after }) => `${name}: ${JSON.stringify(before)} -> ${JSON.stringify(after)}\n`,
          );
          await write(changes.join(""));
        }
      },
      { needed: forNames },
    );
  },
};

/** What chooses a version: a transaction, a step back, a time. */
const isVersion = /^@?(-?\d+|latest|\d{4}-\d\d-\d\d([Tt ].*)?)$/;

/**
 * A unified diff in colours.
 * @param {string} unified
 */
export function coloured(unified) {
  const style = (/** @type {string} */ line) => {
    if (line.startsWith("+")) {
      return styled("green", line);
    }
    return line.startsWith("-") ? styled("red", line) : line;
  };
  return unified.split("\n").map(style).join("\n");
}
