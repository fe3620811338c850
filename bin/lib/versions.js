// The versions of the programs that `palimpsest doctor` looks at.
import { spawnSync } from "node:child_process";

/** A program that hangs must not stop the check. */
const timeoutMs = 20_000;

/**
 * What a program on the path prints as its version. On Windows a shell finds it, and must not find one of a clone in the working folder.
 * @param {string} program
 */
export function askVersion(program) {
  const env = { ...process.env, NoDefaultCurrentDirectoryInExePath: "1" };
  const shell = process.platform === "win32";
  return spawnSync(program, ["--version"], { encoding: "utf8", timeout: timeoutMs, shell, env });
}

/**
 * Whether a version is older than a major and minor one.
 * @param {string} found
 * @param {number[]} least
 */
export function isOlder(found, least) {
  const [major, minor] = found.split(".").map(Number);
  return major < least[0] || (major === least[0] && minor < least[1]);
}
