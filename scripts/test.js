// `npm test`: all set-up, then cargo tests, the bill on recorded sessions, type check and vitest; ends with a line for each failure and
// one that sums up.
// Options: --cargo-only, --bill-only, --node-only; everything else goes to cargo test or to vitest.
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "./lib/run.js";
import { addUp, closingLines, parseCargoOutput } from "./lib/test-results.js";
import { runVitest } from "./lib/vitest.js";
import { prepareXtdb } from "./lib/xtdb.js";
import { root, setUp } from "./setup.js";

const args = process.argv.slice(2);
const parts = ["cargo", "bill", "node"];
const only = parts.find((part) => args.includes(`--${part}-only`));
const forwarded = args.filter((arg) => !parts.some((part) => arg === `--${part}-only`));

setUp(fileURLToPath(import.meta.url), runs("node") ? { addon: "debug", pi: true } : {});

/** @typedef {import("./lib/test-results.js").Results} Results */

/** @type {Results[]} */
const results = [];
if (runs("cargo")) {
  // Here and not in the tests, whose output nobody sees unless they fail.
  const missing = prepareXtdb();
  if (missing !== undefined) {
    console.error(`skipped: the tests on XTDB: ${missing}`);
  }
  results.push(await runCargoTests(only === "cargo" ? forwarded : []));
}
if (runs("bill")) {
  // It plays hours of sessions: this crate is optimised for it, as its dependencies always are.
  process.env.CARGO_PROFILE_DEV_OPT_LEVEL = "2";
  results.push(await runCargoTests(["--test", "bill", ...(only === "bill" ? forwarded : [])]));
  delete process.env.CARGO_PROFILE_DEV_OPT_LEVEL;
}
if (runs("node")) {
  results.push(await runTypeCheck());
  results.push(await runVitest(forwarded));
}
const sum = addUp(results);
console.log(closingLines(sum).join("\n"));
process.exitCode = sum.failed === 0 ? 0 : 1;

/** @param {string} part */
function runs(part) {
  return only === undefined || only === part;
}

/** @param {string[]} extra */
async function runCargoTests(extra) {
  const color = process.stdout.isTTY ? "always" : "never";
  const { code, stdout } = await run("cargo", ["test", "--no-fail-fast", "--color", color, ...extra]);
  return parseCargoOutput(stdout, code);
}

/** @returns {Promise<Results>} */
async function runTypeCheck() {
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
  const failures = [];
  // The second one has the types of the Pi that users run, the third those of browsers.
  for (const project of ["tsconfig.json", "tsconfig.current-pi.json", join("inspector", "page")]) {
    const { code } = await run(process.execPath, [tsc, "--noEmit", "--project", project]);
    if (code !== 0) {
      failures.push(`the types of ${project}`);
    }
  }
  return { passed: 0, failed: failures.length, skipped: 0, failures };
}
