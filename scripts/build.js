// `npm run build` and `npm run build:debug`: the inspector's page, the types, the addon. Other arguments go to `napi build`.
import { spawnSync } from "node:child_process";
import { homedir } from "node:os";
import { join } from "node:path";
import { requirePrograms, root, SetupError } from "./setup.js";

const args = process.argv.slice(2);
const isDebug = args[0] === "--debug";

try {
  requirePrograms();
} catch (error) {
  if (!(error instanceof SetupError)) {
    throw error;
  }
  console.error(error.message);
  process.exit(1);
}
const env = isDebug ? process.env : { ...process.env, RUSTFLAGS: withoutPaths(process.env.RUSTFLAGS) };
const addon = ["--platform", "--esm", "--js", "binding.js", "--dts", "binding.d.ts", "--no-const-enum"];
const napi = join(root, "node_modules", "@napi-rs", "cli", "dist", "cli.js");
const steps = [
  [join(root, "scripts", "build-page.js")],
  [join(root, "scripts", "join-types.js")],
  [napi, "build", ...addon, ...(isDebug ? args.slice(1) : ["--release", ...args])],
];
for (const step of steps) {
  const { status } = spawnSync(process.execPath, step, { cwd: root, env, stdio: "inherit" });
  if (status !== 0) {
    process.exit(status ?? 1);
  }
}

/**
 * Flags of the compiler by which no folder of this machine is part of a release, as panics would say them. Paths with a space cannot be
 * flags here.
 * @param {string} [before]
 */
function withoutPaths(before = "") {
  const folders = [
    [process.env.CARGO_HOME ?? join(homedir(), ".cargo"), "/cargo"],
    [root, "/palimpsest"],
  ];
  const flags = folders.map(([from, to]) => `--remap-path-prefix=${from}=${to}`).filter((flag) => !flag.includes(" "));
  return [before, ...flags].filter((flag) => flag !== "").join(" ");
}
