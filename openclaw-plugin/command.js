// The command `/palimpsest`, in every channel: plain text. What it says of a session is in lib/, for all hosts.
import { describe } from "../lib/failures.js";

/**
 * @import { CommandContext } from "./host.d.ts"
 * @import { Plugin } from "./plugin.js"
 */

/** Answers the command. Never rejects. @param {Plugin} plugin @param {CommandContext} ctx @returns {Promise<string>} */
export async function runCommand(plugin, ctx) {
  const current = await plugin.sessions.opened(ctx.sessionId);
  return current === undefined ? "off" : describe(JSON.stringify(current.session.status()));
}
