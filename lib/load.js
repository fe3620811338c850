// Loads the package for the command line and the Pi extension, which must say something sensible where the native addon is not
// there. Must not import the addon itself.
import { fileURLToPath } from "node:url";

/** @import * as api from "../index.js" */

/**
 * Imports the package. Rejects with code `NO_ADDON` if there is no addon for this platform or it does not load.
 * @returns {Promise<typeof api>}
 */
export async function loadPackage() {
  try {
    return await import("../index.js");
  } catch (error) {
    throw isWithoutAddon(error) ? withoutAddon(error) : error;
  }
}

/**
 * Whether this is the error of the generated loader. Its advice is for another case: a package from npm with a broken lock file.
 * @param {unknown} error
 * @returns {error is Error}
 */
function isWithoutAddon(error) {
  return error instanceof Error && error.message.startsWith("Cannot find native binding");
}

/** @param {Error} error */
function withoutAddon(error) {
  const addon = `the native addon for ${process.platform} ${process.arch}`;
  const problem = causes(error).find((message) => !message.startsWith("Cannot find module"));
  const message = problem === undefined ? `${addon} is not built` : `${addon} does not load: ${problem}`;
  const folder = fileURLToPath(new URL("..", import.meta.url)).replace(/[/\\]$/, "");
  const hint = `run \`npm install\` and \`npm run build\` in \`${folder}\``;
  return Object.assign(new Error(message, { cause: error }), { code: "NO_ADDON", hint });
}

/**
 * The messages of the errors that caused an error: one for each file that the loader tried.
 * @param {Error} error
 * @returns {string[]}
 */
function causes({ cause }) {
  return cause instanceof Error ? [cause.message, ...causes(cause)] : [];
}
