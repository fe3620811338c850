// Runs vitest in the clone, with its output shown, and counts what it reports.
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { root } from "../setup.js";
import { childSeconds } from "./processor-time.js";
import { run } from "./run.js";
import { parseVitestReport, vitestTimes } from "./test-results.js";

const reporter = fileURLToPath(new URL("vitest-reporter.js", import.meta.url));

/**
 * @param {string[]} args of `vitest run`
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {Promise<import("./again.js").Played>}
 */
export async function runVitest(args, env = process.env) {
  const before = childSeconds();
  const { report, code } = await vitest(args, env);
  return {
    results: parseVitestReport(report, code),
    times: vitestTimes(report),
    seconds: childSeconds() - before,
    playAlone: async (alone) => {
      const again = await vitest(alone, env);
      return parseVitestReport(again.report, again.code);
    },
  };
}

/**
 * @param {readonly string[]} args
 * @param {NodeJS.ProcessEnv} env
 */
async function vitest(args, env) {
  const file = join(root, "target", `vitest-${process.pid}.json`);
  mkdirSync(join(root, "target"), { recursive: true });
  const program = join(root, "node_modules", "vitest", "vitest.mjs");
  const words = [program, "run", "--reporter=default", `--reporter=${reporter}`, ...args];
  const { code } = await run(process.execPath, words, { ...env, PALIMPSEST_VITEST_REPORT: file });
  try {
    return { code, report: JSON.parse(readFileSync(file, "utf8")) };
  } catch {
    // Vitest ended before it could report; its exit code tells.
    return { code, report: undefined };
  } finally {
    rmSync(file, { force: true });
  }
}
