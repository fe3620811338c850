// `npm run check`: everything that CI does: lints, a check that the generated files are up to date, the tests, and a round of the soak.
// `npm run check:all` (--all): the same at full counts, for hours: 256 inputs for properties that take few, all recorded sessions where
// a test takes some, whole bursts of changes, and the soak at its usual length on fresh seeds.
// Continues after a failure, so that one run names everything that is wrong. Ends as `npm test` does, with a line for each failure and
// one that sums up all: what failed an hour ago has scrolled out of sight.
import { fileURLToPath } from "node:url";
import { run } from "./lib/run.js";
import { addUp, closingLines, parseClosingLines } from "./lib/test-results.js";
import { setUp } from "./setup.js";

const isAll = process.argv.includes("--all");
if (isAll) {
  Object.assign(process.env, { PROPTEST_CASES: "256", PALIMPSEST_BURST: "full" });
}

// Builds unless the generated files are those of the last build and the sources are too.
// The lints check the extension against the types of the Pi that users run, too.
setUp(fileURLToPath(import.meta.url), { addon: "debug", pi: true });

/** @type {import("./lib/test-results.js").Results[]} */
const results = [];
await check("lint (npm run lint)", ["npm", "run", "--silent", "lint"]);
await check("binding.js and binding.d.ts are not those of the sources (npm run build:debug, then commit them)", [
  "git",
  "diff",
  "--exit-code",
  "binding.js",
  "binding.d.ts",
]);
await check("tests (npm test)", ["npm", "test", "--silent"]);
await check("tests on OpenClaw (npm run test:openclaw)", ["npm", "run", "--silent", "test:openclaw"]);
// One round, the same each time: fresh seeds are for those who can look at what they find.
await check("soak (the seed stands above)", ["npm", "run", "--silent", "soak", ...(isAll ? [] : ["--", "0.1", "1"])]);
const { lines, code } = closingLines(addUp(results));
console.log(lines.join("\n"));
process.exitCode = code;

/**
 * @param {string} name
 * @param {[string, ...string[]]} command
 */
async function check(name, [program, ...args]) {
  const { code, stdout } = await run(program, args);
  results.push(parseClosingLines(name, stdout, code));
}
