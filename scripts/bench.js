// `npm run bench`: runs criterion's benches, then vitest's and those of the store through the addon. Prints tables of our times
// beside those of the plain equivalent in the same run. Words after `--` go to criterion as a filter
// (`npm run bench -- transform`); the other benches are then skipped.
import { spawn } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  comparison,
  libraryOf,
  percentileTable,
  ratioTable,
  rustPercentiles,
  trackingTable,
} from "./lib/bench-report.js";
import { root, setUp } from "./setup.js";

setUp(fileURLToPath(import.meta.url), { pi: true });

const filter = process.argv.slice(2);
const criterion = join(root, "target", "criterion");
const results = join(root, "target", "bench");
// Results of an earlier run would appear in the table as if they were from this one.
for (const folder of [criterion, results]) {
  rmSync(folder, { recursive: true, force: true });
}
mkdirSync(results, { recursive: true });

// The addon in the profile of the benches: vitest measures that one, not the debug build.
const build = await run("cargo", [
  ...["build", "--profile", "bench", "--package", "palimpsest", "--lib"],
  "--message-format=json-render-diagnostics",
]);
const library = libraryOf(build.stdout);
if (build.code !== 0 || library === undefined) {
  console.error("the addon did not build");
  process.exit(1);
}
const addon = join(results, "palimpsest.node");
copyFileSync(library, addon);

const rust = await run("cargo", ["bench", "--benches", "--", "--quiet", ...filter], { shown: true });
const codes = [rust.code];
if (filter.length === 0) {
  const vitest = join(root, "node_modules", "vitest", "vitest.mjs");
  codes.push(
    (
      await run(process.execPath, [vitest, "bench", "--run", "--project", "here*"], {
        shown: true,
        env: { PALIMPSEST_BENCH_ADDON: addon },
      })
    ).code,
  );
  const script = join(root, "scripts", "bench-store.js");
  const env = { NAPI_RS_NATIVE_LIBRARY_PATH: addon };
  codes.push((await run(process.execPath, [script, "1000", "100000"], { shown: true, env })).code);
  const tracking = join(root, "scripts", "bench-tracking.js");
  codes.push((await run(process.execPath, [tracking, "10000", "50000"], { shown: true, env })).code);
  const resume = join(root, "scripts", "bench-resume.js");
  codes.push((await run(process.execPath, [resume], { shown: true, env })).code);
  const session = join(root, "scripts", "bench-session.js");
  codes.push((await run(process.execPath, [session], { shown: true, env })).code);
  const pools = [session, "--layout", "pools", "--messages", "500"];
  codes.push((await run(process.execPath, pools, { shown: true, env })).code);
  const start = join(root, "scripts", "bench-start.js");
  codes.push((await run(process.execPath, [start], { shown: true, env })).code);
  const growth = join(root, "scripts", "bench-growth.js");
  codes.push((await run(process.execPath, [growth], { shown: true, env })).code);
  const memory = join(root, "scripts", "bench-memory.js");
  codes.push((await run(process.execPath, [memory], { shown: true, env })).code);
  const inspector = join(root, "scripts", "bench-inspector.js");
  codes.push((await run(process.execPath, [inspector], { shown: true, env })).code);
}
console.log("\nRust and addon in the bench profile: the release with thin link-time optimisation");
print(ratioTable, comparison(readCriterion, readVitest));
print((rows) => percentileTable("Rust store, per call", rows), rustPercentiles(rust.stdout));
print((rows) => percentileTable("store through the addon, per awaited call", rows), readStore());
print(([found]) => trackingTable(found), readTracking());
process.exitCode = codes.every((code) => code === 0) ? 0 : 1;

/**
 * Prints a table if anything of it ran.
 * @template T
 * @param {(rows: T[]) => string} table
 * @param {T[]} rows
 */
function print(table, rows) {
  if (rows.length > 0) {
    console.log(`\n${table(rows)}`);
  }
}

/** What scripts/bench-store.js measured, if it ran. @returns {import("./lib/bench-report.js").Percentiles[]} */
function readStore() {
  const file = join(results, "store.json");
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : [];
}

/** What scripts/bench-tracking.js measured, if it ran. @returns {Parameters<typeof trackingTable>[0][]} */
function readTracking() {
  const file = join(results, "tracking.json");
  return existsSync(file) ? [JSON.parse(readFileSync(file, "utf8"))] : [];
}

/** Mean of a criterion bench in ms, if it ran. @param {string} name */
function readCriterion(name) {
  const file = join(criterion, name, "new", "estimates.json");
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")).mean.point_estimate / 1e6 : undefined;
}

/** Mean of a vitest bench in ms, if it ran. @param {string} name */
function readVitest(name) {
  const file = join(results, `${name}.json`);
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")).latency.mean : undefined;
}

/**
 * Runs a command in the clone; its errors are shown, its output only with `shown`, as it comes.
 * @param {string} command
 * @param {string[]} args
 * @param {{ shown?: boolean, env?: NodeJS.ProcessEnv }} [options]
 * @returns {Promise<{ code: number, stdout: string }>}
 */
function run(command, args, { shown = false, env } = {}) {
  const child = spawn(command, args, {
    cwd: root,
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, ...env },
  });
  let stdout = "";
  child.stdout.setEncoding("utf8").on("data", (text) => {
    stdout += text;
    if (shown) {
      process.stdout.write(text);
    }
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve({ code: code ?? 1, stdout }));
  });
}
