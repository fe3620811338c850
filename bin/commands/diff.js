// `palimpsest diff`: the difference of two versions of an object, as a unified diff.
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
    "A and B are a transaction (12), a step back (-1), `latest` or a time (RFC 3339). By default, B is the latest version and A the one before B. If only fields differ, they are listed.",
  ],
  json: "Difference",
  examples: ["palimpsest diff src/main.rs -2 latest", "palimpsest diff README.md -1 --context 0"],
  async run(given) {
    const [, from, to] = given.positionals;
    const context = wholeNumber(given, "context");
    await withStore(
      given,
      async (store) => {
        const found = await store.diff(await givenName(store, given), { from, to, context });
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
