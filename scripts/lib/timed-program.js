// Runs a program of cargo's tests so that it says of each test how long it took: the runner of `npm test` (scripts/lib/cargo.js).
// A test program takes these options where the variable is set. It is set for the program alone: to cargo it would say that all
// dependencies have to be compiled again.
import { spawnSync } from "node:child_process";

const [program, ...args] = process.argv.slice(2);
const timed = [...args, "-Zunstable-options", "--report-time"];
const { status, signal } = spawnSync(program, timed, {
  stdio: "inherit",
  env: { ...process.env, RUSTC_BOOTSTRAP: "1" },
});
if (signal !== null) {
  process.kill(process.pid, signal);
}
process.exitCode = status ?? 1;
