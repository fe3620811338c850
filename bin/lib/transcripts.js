// Finds the transcripts that a command line names, and names for them. Does not read them.
import { realpathSync } from "node:fs";
import { resolve } from "node:path";
import { plural } from "../../lib/describe.js";
import { name as spelt } from "../../lib/terminal.js";
import { UsageError } from "./arguments.js";

/**
 * The given files, and the sessions in the given folders and databases, each once, in order; and what is not a session of the folders'
 * files.
 * @param {Pick<typeof import("../../index.js"), "findSessions">} addon
 * @param {string[]} given
 */
export async function transcripts(addon, given) {
  const sessions = await addon.findSessions(
    given.map((path) => resolve(path)),
    true,
  );
  const seen = new Set();
  const all = sessions.filter(({ path }) => {
    const before = seen.size;
    return seen.add(real(path)).size > before;
  });
  const found = all.filter(({ problem }) => problem === undefined);
  const passedOver = all.filter(({ problem }) => problem !== undefined);
  if (found.length === 0) {
    const where = given.map((path) => `\`${path}\``).join(", ");
    const [first] = passedOver;
    if (given.length === 1 && first?.path === resolve(given[0])) {
      throw new UsageError(`\`${given[0]}\` ${first.problem}`, "name session files, or folders that hold some");
    }
    const others =
      first === undefined
        ? ""
        : `, only ${plural(passedOver.length, "other file")}, such as \`${spelt(first.path)}\`, which ${first.problem}`;
    throw new UsageError(
      `there is no session file in ${where}${others}`,
      "name session files, or folders that hold some",
    );
  }
  return { found, passedOver };
}

/**
 * The path without links, of `FILE#SESSION` too.
 * @param {string} path
 * @returns {string}
 */
function real(path) {
  try {
    return realpathSync(path);
  } catch {
    const at = path.lastIndexOf("#");
    return at < 0 ? path : real(path.slice(0, at)) + path.slice(at);
  }
}

/**
 * The names, with a number behind each that stood before; letters of either case are the same, as in some file systems.
 * @param {string[]} names
 */
export function distinct(names) {
  const taken = new Set(names.map((name) => name.toLowerCase()));
  const given = new Set();
  return names.map((name) => {
    let one = name;
    for (let number = 2; given.has(one.toLowerCase()) || (one !== name && taken.has(one.toLowerCase())); number += 1) {
      one = `${name}-${number}`;
    }
    given.add(one.toLowerCase());
    return one;
  });
}
