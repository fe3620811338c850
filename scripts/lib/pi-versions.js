// The versions of Pi that the tests run on, and how the one that npm cannot install gets here.
// Must not import anything from node_modules, and must start under Node 20: set-up uses it.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const nodeModules = join(dirname(dirname(dirname(fileURLToPath(import.meta.url)))), "node_modules");
const packageName = "@earendil-works/pi-coding-agent";

/** What users run; the demo and the other scripts run on it, too. */
export const currentPi = "1.5.2";

/** The tarball's hash as the registry gave it for `currentPi`. A new version needs a new one: `npm view <spec> dist.integrity`. */
const integrity = "sha512-mUWI04rqF1Vd/m1q+Ps1XeWsTXEVvRUnsmRa83I3Dzua0Tx5bYS93imeqtIfrXf7PkkaR6ERz+AuQhIJlom5yA==";

/** The version in package.json, whose types the extension is checked against: the oldest that the tests run on. */
export const oldestPi = "0.87.1";

// Below the clone, so that the two packages that its bundle loads (jiti, photon-node) are found in node_modules.
const unpacked = join(nodeModules, ".cache", `pi-${currentPi}`);

/**
 * Path of the command line of a version of Pi, to be run by the pinned Node.
 * @param {string} version one of `currentPi`, `oldestPi`
 */
export function piCli(version) {
  return join(piFolder(version), "dist", "bundle", "cli.js");
}

/**
 * The folder of a version of Pi's package.
 * @param {string} version one of `currentPi`, `oldestPi`
 */
export function piFolder(version) {
  const folders = new Map([
    [currentPi, join(unpacked, "package")],
    [oldestPi, join(nodeModules, ...packageName.split("/"))],
  ]);
  const folder = folders.get(version);
  if (folder === undefined) {
    throw new Error(`no such Pi: ${version} (known: ${[...folders.keys()].join(", ")})`);
  }
  return folder;
}

/**
 * Downloads and unpacks `currentPi` unless it is there. npm cannot install it, since packages that it names are not in the
 * registry; its tarball holds all that they bring.
 * @returns {string | undefined} one line that says why it is not there
 */
export function unpackCurrentPi() {
  if (existsSync(piCli(currentPi))) {
    return undefined;
  }
  mkdirSync(dirname(unpacked), { recursive: true });
  const folder = mkdtempSync(`${unpacked}-`);
  try {
    return unpackInto(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * @param {string} folder
 * @returns {string | undefined}
 */
function unpackInto(folder) {
  const spec = `${packageName}@${currentPi}`;
  const shell = process.platform === "win32";
  const npm = ["pack", spec, "--pack-destination", folder, "--loglevel=error"];
  const packed = spawnSync("npm", npm, { cwd: folder, encoding: "utf8", shell });
  const tarball = readdirSync(folder).find((name) => name.endsWith(".tgz"));
  if (packed.status !== 0 || tarball === undefined) {
    const reason = packed.stderr?.split("\n").find((line) => line.startsWith("npm error")) ?? "no answer";
    return `cannot get Pi ${currentPi}, on which the tests run, from the npm registry (${reason})`;
  }
  const hash = createHash("sha512")
    .update(readFileSync(join(folder, tarball)))
    .digest("base64");
  if (`sha512-${hash}` !== integrity) {
    return `the npm registry gave another Pi ${currentPi} than expected (sha512-${hash} instead of ${integrity})`;
  }
  const extracted = spawnSync("tar", ["-xzf", tarball], { cwd: folder, encoding: "utf8" });
  rmSync(join(folder, tarball));
  if (extracted.status !== 0) {
    return `cannot unpack Pi ${currentPi} (${extracted.error?.message ?? extracted.stderr.trim()})`;
  }
  // A temporary folder is its owner's alone; tests run Pi as another user too.
  chmodSync(folder, 0o755);
  // Under its name only when whole, so that a set-up that was interrupted starts again.
  rmSync(unpacked, { recursive: true, force: true });
  renameSync(folder, unpacked);
  return undefined;
}
