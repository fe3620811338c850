// Programs that tests start: an environment with nothing of the user's, a deadline, what they said, an end with the test.
// Must not know which program runs.
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { pinnedNode } from "../setup.js";

/**
 * @typedef {{ code: number | null, signal: NodeJS.Signals | null, stdout: string, stderr: string }} Finished
 *
 * @typedef {object} Start
 * @property {string} name how errors call it
 * @property {string[]} command the program and its arguments
 * @property {string} cwd
 * @property {Record<string, string>} env the whole environment
 * @property {"ignore" | "pipe"} [stdin] default: none
 * @property {number} [deadlineMs] when it is killed; default: it may run as long as this process
 */

/**
 * Takes over only what a program needs to start, and none of the user's keys, settings or stores. The pinned Node is first on
 * the path.
 * @param {string} homeDir
 * @returns {Record<string, string>}
 */
export function bareEnv(homeDir) {
  /** @type {Record<string, string>} */
  const env = {};
  for (const name of ["LANG", "LC_ALL", "TMPDIR", "TEMP", "TMP", "SystemRoot", "ComSpec", "PATHEXT"]) {
    const value = process.env[name];
    if (value !== undefined) {
      env[name] = value;
    }
  }
  return {
    ...env,
    PATH: [dirname(pinnedNode()), process.env.PATH ?? ""].join(delimiter),
    HOME: homeDir,
    USERPROFILE: homeDir,
    XDG_DATA_HOME: join(homeDir, "data"),
  };
}

/**
 * Starts a program. `finished` rejects when the deadline passes (the process is then gone) or it cannot start; any exit code
 * resolves.
 * @param {Start} start
 */
export function launch({ name, command, cwd, env, stdin = "ignore", deadlineMs }) {
  const child = spawn(command[0], command.slice(1), { cwd, env, stdio: [stdin, "pipe", "pipe"] });
  const outcome = { stdout: "", stderr: "" };
  child.stdout?.setEncoding("utf8").on("data", (text) => {
    outcome.stdout += text;
  });
  child.stderr?.setEncoding("utf8").on("data", (text) => {
    outcome.stderr += text;
  });
  const kill = () => child.kill("SIGKILL");
  process.once("exit", kill);
  /** @type {Promise<Finished>} */
  const finished = new Promise((resolve, reject) => {
    const expire = () => {
      kill();
      // A grandchild may hold the pipes open, so the end of the process itself does not end the wait.
      child.stdout?.destroy();
      child.stderr?.destroy();
      reject(new Error(`${name} passed its deadline of ${deadlineMs} ms\n${outcome.stdout}\n${outcome.stderr}`));
    };
    const timer = deadlineMs === undefined ? undefined : setTimeout(expire, deadlineMs);
    child.once("error", reject);
    child.once("close", (code, signal) => resolve({ code, signal, ...outcome }));
    child.once("close", () => clearTimeout(timer));
  });
  // A caller may look at the result late or not at all; that is not an unhandled rejection.
  finished.catch(() => {}).finally(() => process.off("exit", kill));
  return { child, finished, outcome };
}

/**
 * @param {string} path
 * @param {unknown} value
 */
export function writeJson(path, value) {
  writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`);
}
