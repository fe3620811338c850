// Set-up shared by the commands of package.json: programs, packages, the Node that runs Pi, the inspector's page, the addon.
// Must not import anything from node_modules (it runs before they exist) and must start under Node 20.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, statSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { packagesMatchLock } from "./lib/npm-lock.js";
import { unpackCurrentPi } from "./lib/pi-versions.js";

/** The clone's root folder. */
export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** A reason why set-up cannot go on; its message is one line for the user. */
export class SetupError extends Error {}

const isWindows = process.platform === "win32";

const programs = [
  { name: "npm", hint: "it comes with Node: https://nodejs.org" },
  { name: "cargo", hint: "install Rust: https://rustup.rs" },
  // On Windows the build finds its compiler by the registry, on no path.
  ...(isWindows
    ? []
    : [
        {
          name: "cc",
          hint: "a C compiler builds the bundled SQLite: apt-get install build-essential, dnf install gcc, xcode-select --install",
        },
      ]),
];

/**
 * Does all set-up and hands the script over to the Node that runs Pi.
 * Returns only in that Node; in any other it runs `script` there and exits with its code.
 *
 * @param {string} script absolute path of the calling script
 * @param {{ addon?: "debug" | "release", pi?: boolean }} [options] which build of the addon the script needs, and whether it runs Pi;
 *   by default neither
 */
export function setUp(script, options = {}) {
  try {
    requirePrograms();
    nameCargoTarget();
    installPackages();
    runUnderPinnedNode(script);
    buildPage();
    const missing = options.pi ? unpackCurrentPi() : undefined;
    if (missing !== undefined) {
      throw new SetupError(missing);
    }
    if (options.addon !== undefined) {
      buildAddon(options.addon);
    }
  } catch (error) {
    if (error instanceof SetupError) {
      console.error(error.message);
      process.exit(1);
    }
    throw error;
  }
}

/**
 * Checks that the programs we cannot install ourselves are on the path.
 * @param {NodeJS.ProcessEnv} [env]
 */
export function requirePrograms(env = process.env) {
  for (const program of programs) {
    if (!isOnPath(program.name, env)) {
      throw new SetupError(`missing: ${program.name} (${program.hint})`);
    }
  }
}

/**
 * Whether `name` is a file in a folder of the path.
 * @param {string} name
 * @param {NodeJS.ProcessEnv} [env]
 */
export function isOnPath(name, env = process.env) {
  const endings = isWindows ? [".exe", ".cmd", ".bat"] : [""];
  const folders = (env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  return folders.some((folder) => endings.some((ending) => existsSync(join(folder, name + ending))));
}

/**
 * Has every cargo from here on name the machine as its target, as the build of the addon does: the dependencies, SQLite
 * among them, are then compiled once for the addon, the lints and the tests.
 */
function nameCargoTarget() {
  const { stdout } = spawnSync("rustc", ["-vV"], { cwd: root, encoding: "utf8", shell: isWindows });
  const host = /^host: (.+)$/m.exec(stdout ?? "")?.[1];
  if (host !== undefined) {
    process.env.CARGO_BUILD_TARGET ??= host;
  }
}

/** Installs the packages of package-lock.json if node_modules does not match it. */
function installPackages() {
  if (!packagesMatchLock(root)) {
    console.error("setting up: npm packages");
    // Not `npm ci`: it would also remove the Pi in node_modules/.cache, and the Node that may run this. Without saving, npm installs what is
    // locked and leaves the lock as it is.
    runOrFail("npm", ["install", "--no-save", "--loglevel=error"], "npm install failed; its output above says why");
  }
  if (!existsSync(pinnedNode())) {
    // npm may be told not to run install scripts; this package fetches its binary in one.
    console.error("setting up: the Node that runs Pi");
    runOrFail("npm", ["rebuild", "node", "--foreground-scripts"], "cannot install the npm package `node`");
    if (!existsSync(pinnedNode())) {
      throw new SetupError(
        "missing: the binary of the npm package `node` (run: npm install-scripts approve node && npm rebuild node)",
      );
    }
  }
}

/** Path of the Node binary that the npm package `node` brings. */
export function pinnedNode() {
  return join(root, "node_modules", "node", "bin", isWindows ? "node.exe" : "node");
}

/** @param {string} script */
function runUnderPinnedNode(script) {
  const node = pinnedNode();
  if (realpathSync(process.execPath) === realpathSync(node)) {
    return;
  }
  const env = { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env.PATH ?? ""}` };
  const result = spawnSync(node, [script, ...process.argv.slice(2)], { stdio: "inherit", env });
  process.exit(result.status ?? 1);
}

/** Builds the page of the inspector; it takes less than finding out whether it must be built. */
function buildPage() {
  runOrFail("npm", ["run", "--silent", "build:page"], "the inspector's page did not build; the output above says why");
}

/**
 * Builds the addon unless what the last build wrote is still there, of this profile and of these sources.
 * @param {"debug" | "release"} profile
 */
function buildAddon(profile) {
  const stampFile = join(root, "target", "addon-stamp.json");
  const sources = hashSources();
  const stamp = () => JSON.stringify({ profile, sources, outputs: describeOutputs() });
  if (existsSync(stampFile) && readFileSync(stampFile, "utf8") === stamp()) {
    return;
  }
  console.error(`setting up: the addon (${profile}; the first build takes some minutes)`);
  runOrFail("npm", ["run", "--silent", profile === "debug" ? "build:debug" : "build"], "the addon did not build");
  mkdirSync(dirname(stampFile), { recursive: true });
  writeFileSync(stampFile, stamp());
}

/** Size and time of the files that a build writes. They reveal a build by hand, in either profile. */
function describeOutputs() {
  return readdirSync(root)
    .filter((name) => name.endsWith(".node") || name === "binding.js" || name === "binding.d.ts")
    .sort()
    .map((name) => {
      const { size, mtimeMs } = statSync(join(root, name));
      return { name, size, mtimeMs };
    });
}

/** One hash over everything that the addon is built from. */
function hashSources() {
  const single = ["Cargo.toml", "Cargo.lock", "build.rs", "rust-toolchain.toml", "package.json"];
  const inSrc = ["src", "crates"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true }).map((name) => join(folder, String(name))),
  );
  const hash = createHash("sha256");
  for (const name of [...single, ...inSrc].sort()) {
    const file = join(root, name);
    if (statSync(file).isFile()) {
      hash.update(`${name}\0`).update(readFileSync(file)).update("\0");
    }
  }
  return hash.digest("hex");
}

/**
 * @param {string} command
 * @param {string[]} args
 * @param {string} failure the line for the user when it fails
 */
function runOrFail(command, args, failure) {
  const result = spawnSync(command, args, { cwd: root, stdio: ["ignore", 2, 2], shell: isWindows });
  if (result.status !== 0) {
    throw new SetupError(failure);
  }
}
