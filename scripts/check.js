// `npm run check`: everything that CI does: lints, a check that the generated files are up to date, a round of the soak,
// and the tests.
// Continues after a failure, so that one run names everything that is wrong. The last line sums up the tests, or names what failed.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { root, setUp } from "./setup.js";

// Builds unless the generated files are those of the last build and the sources are too.
// The lints check the extension against the types of the Pi that users run, too.
setUp(fileURLToPath(import.meta.url), { addon: "debug", pi: true });

const failures = [];
if (!run("npm", ["run", "--silent", "lint"])) {
  failures.push("failed: lint (npm run lint)");
}
if (!run("git", ["diff", "--exit-code", "binding.js", "binding.d.ts"])) {
  failures.push(
    "failed: binding.js and binding.d.ts are not those of the sources (npm run build:debug, then commit them)",
  );
}
if (!run("npm", ["test", "--silent"])) {
  failures.push("failed: tests (npm test)");
}
if (!run("npm", ["run", "--silent", "test:openclaw"])) {
  failures.push("failed: tests on OpenClaw (npm run test:openclaw)");
}
// One round, the same each time: fresh seeds are for those who can look at what they find.
if (!run("npm", ["run", "--silent", "soak", "--", "0.1", "1"])) {
  failures.push("failed: soak (the seed stands above)");
}
// Named at the end too: what failed an hour ago has scrolled out of sight, and a green closing line would hide it.
for (const failure of failures) {
  console.error(failure);
}
process.exitCode = failures.length === 0 ? 0 : 1;

/**
 * @param {string} program
 * @param {string[]} args
 */
function run(program, args) {
  const shell = process.platform === "win32";
  return spawnSync(program, args, { cwd: root, stdio: ["ignore", "inherit", "inherit"], shell }).status === 0;
}
