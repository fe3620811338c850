// The OpenClaw that the tests run: a folder of its own, so that nobody has its 600 MB who does not run these tests.
// Must not import anything from node_modules, and must start under Node 20: set-up uses it.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { packagesMatchLock } from "./npm-lock.js";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** Where the host's manifest and lock file are. */
const hostFolder = join(root, "__test__", "openclaw", "host");

/** Path of OpenClaw's command line, to be run by the pinned Node. */
export const openClawCli = join(hostFolder, "node_modules", "openclaw", "openclaw.mjs");

/**
 * Installs what the host's lock file names, unless it is there.
 * @returns {string | undefined} one line that says why it is not there
 */
export function installOpenClaw() {
  if (existsSync(openClawCli) && packagesMatchLock(hostFolder)) {
    return undefined;
  }
  console.error("setting up: OpenClaw, on which these tests run (600 MB)");
  // Scripts stay off, as the folder's .npmrc says: OpenClaw runs without what they build.
  const shell = process.platform === "win32";
  const npm = spawnSync("npm", ["ci", "--loglevel=error"], { cwd: hostFolder, stdio: ["ignore", 2, 2], shell });
  return npm.status === 0 ? undefined : "npm ci failed in __test__/openclaw/host; its output above says why";
}
