// `npm test`: all set-up, then cargo tests, the bill on recorded sessions, type check and vitest; ends with a line for each failure and
// one that sums up. What failed is run once more, alone, when all has run.
// Options: --cargo-only, --bill-only, --node-only; everything else goes to cargo test or to vitest.
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { settle } from "./lib/again.js";
import { runCargoTests } from "./lib/cargo.js";
import { run } from "./lib/run.js";
import { addUp, closingLines } from "./lib/test-results.js";
import { runVitest } from "./lib/vitest.js";
import { prepareXtdb } from "./lib/xtdb.js";
import { root, setUp } from "./setup.js";

const args = process.argv.slice(2);
const parts = ["cargo", "bill", "node"];
const only = parts.find((part) => args.includes(`--${part}-only`));
const forwarded = args.filter((arg) => !parts.some((part) => arg === `--${part}-only`));

setUp(fileURLToPath(import.meta.url), runs("node") ? { addon: "debug", pi: true } : {});

/** @type {import("./lib/again.js").Played[]} */
const played = [];
if (runs("cargo")) {
  // Here and not in the tests, whose output nobody sees unless they fail.
  const missing = prepareXtdb();
  if (missing !== undefined) {
    console.error(`skipped: the tests on XTDB: ${missing}`);
  }
  played.push(await runCargoTests(only === "cargo" ? forwarded : []));
}
if (runs("bill")) {
  // It plays hours of sessions: this crate is optimised for it, as its dependencies always are.
  const env = { ...process.env, CARGO_PROFILE_DEV_OPT_LEVEL: "2" };
  played.push(await runCargoTests(["--test", "bill", ...(only === "bill" ? forwarded : [])], env));
}
if (runs("node")) {
  played.push(await runTypeCheck());
  played.push(await runVitest(forwarded));
}
const results = [];
for (const part of played) {
  results.push(await settle(part));
}
const { lines, code } = closingLines(addUp(results));
console.log(lines.join("\n"));
process.exitCode = code;

/** @param {string} part */
function runs(part) {
  return only === undefined || only === part;
}

/** @returns {Promise<import("./lib/again.js").Played>} */
async function runTypeCheck() {
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
  const failures = [];
  // The second one has the types of the Pi that users run, the third those of browsers.
  for (const project of ["tsconfig.json", "tsconfig.current-pi.json", join("inspector", "page")]) {
    const { code } = await run(process.execPath, [tsc, "--noEmit", "--project", project]);
    if (code !== 0) {
      failures.push({ name: `the types of ${project}` });
    }
  }
  const results = { passed: 0, failed: failures.length, skipped: 0, failures, flaky: [] };
  // Types do not fail by chance.
  return { results, playAlone: async () => results };
}
