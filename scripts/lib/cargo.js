// Runs cargo's tests in the clone, with their output shown, and counts what they report.
import { run } from "./run.js";
import { parseCargoOutput } from "./test-results.js";

/**
 * @param {string[]} args of `cargo test`
 * @param {NodeJS.ProcessEnv} [env]
 * @param {string[]} [where] what every run gets before its own arguments
 * @returns {Promise<import("./again.js").Played>}
 */
export async function runCargoTests(args, env = process.env, where = []) {
  const color = process.stdout.isTTY ? "always" : "never";
  const test = async (/** @type {readonly string[]} */ words) =>
    parseCargoOutput(await run("cargo", ["test", "--no-fail-fast", "--color", color, ...where, ...words], env));
  return { results: await test(args), playAlone: test };
}
