// Runs vitest in the clone, with its output shown, and counts what its report says.
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { root } from "../setup.js";
import { run } from "./run.js";
import { parseVitestReport } from "./test-results.js";

/**
 * @param {string[]} args of `vitest run`
 * @param {NodeJS.ProcessEnv} [env]
 */
export async function runVitest(args, env = process.env) {
  const report = join(root, "target", "vitest.json");
  mkdirSync(join(root, "target"), { recursive: true });
  rmSync(report, { force: true });
  const vitest = join(root, "node_modules", "vitest", "vitest.mjs");
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  const { code } = await run(process.execPath, [vitest, "run", ...reporters, ...args], env);
  return parseVitestReport(readReport(report), code);
}

/** @param {string} file */
function readReport(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    // Vitest ended before it could report; its exit code tells.
    return undefined;
  }
}
