// Finds the transcripts that a command line names. Does not read them.
import { resolve } from "node:path";
import { UsageError } from "./arguments.js";

/**
 * The given files, and the sessions in the given folders and databases, in order.
 * @param {Pick<typeof import("../../index.js"), "findSessions">} addon
 * @param {string[]} given
 */
export async function transcripts(addon, given) {
  const found = await addon.findSessions(given.map((path) => resolve(path)));
  if (found.length === 0) {
    const where = given.map((path) => `\`${path}\``).join(", ");
    throw new UsageError(`there is no session file in ${where}`, "name session files, or folders that hold some");
  }
  return found;
}
