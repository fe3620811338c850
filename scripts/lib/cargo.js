// Runs cargo's tests in the clone, with their output shown, and counts what they report.
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { childSeconds } from "./processor-time.js";
import { run } from "./run.js";
import { cargoTimes, parseCargoOutput } from "./test-results.js";

// For every machine: cargo takes a runner by the machine's name or by what is true of it.
const runner = JSON.stringify(["node", fileURLToPath(new URL("timed-program.js", import.meta.url))]);
const timed = ["--config", `target."cfg(all())".runner=${runner}`];

/** One more than cores: a test waits for disks, servers and timers for a part of its time. */
const threads = { RUST_TEST_THREADS: String(availableParallelism() + 1) };

/**
 * @param {string[]} args of `cargo test`
 * @param {NodeJS.ProcessEnv} [env]
 * @param {string[]} [where] what every run gets before its own arguments
 * @returns {Promise<import("./again.js").Played>}
 */
export async function runCargoTests(args, env = process.env, where = []) {
  const color = process.stdout.isTTY ? "always" : "never";
  const cargo = (/** @type {readonly string[]} */ words) =>
    run("cargo", ["test", "--no-fail-fast", "--color", color, ...timed, ...where, ...words], { ...threads, ...env });
  const playAlone = async (/** @type {readonly string[]} */ words) => parseCargoOutput(await cargo(words));
  // Apart, so that what it takes does not count as the tests' time.
  const compiled = await cargo(["--no-run", ...args]);
  if (compiled.code !== 0) {
    return { results: parseCargoOutput(compiled), playAlone, times: [], seconds: 0 };
  }
  const before = childSeconds();
  const output = await cargo(args);
  return { results: parseCargoOutput(output), playAlone, times: cargoTimes(output), seconds: childSeconds() - before };
}
