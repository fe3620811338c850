// `npm run check`: all that CI does. Lints, then whether the generated files are those of the build, then the tests.
// Goes on after a failure, so that one run names all that is wrong; the tests' closing line comes last.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { root, setUp } from "./setup.js";

// Builds unless the generated files are those of the last build and the sources are too.
setUp(fileURLToPath(import.meta.url), { addon: "debug" });

const lints = run("npm", ["run", "--silent", "lint"]);
if (!lints) {
  console.error("failed: lint (npm run lint)");
}
const generated = run("git", ["diff", "--exit-code", "index.js", "index.d.ts"]);
if (!generated) {
  console.error("failed: index.js and index.d.ts are not those of the sources (npm run build:debug, then commit them)");
}
const tests = run("npm", ["test", "--silent"]);
process.exitCode = lints && generated && tests ? 0 : 1;

/**
 * @param {string} program
 * @param {string[]} args
 */
function run(program, args) {
  const shell = process.platform === "win32";
  return spawnSync(program, args, { cwd: root, stdio: ["ignore", "inherit", "inherit"], shell }).status === 0;
}
