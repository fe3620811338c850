// Runs a command in the clone with its output shown, and keeps what it wrote.
import { spawn } from "node:child_process";
import { root } from "../setup.js";

/**
 * Returns what the command wrote.
 * @param {string} command
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {Promise<{ code: number, stdout: string, stderr: string }>}
 */
export function run(command, args, env = process.env) {
  // npm is a shell script on Windows.
  const shell = process.platform === "win32" && command === "npm";
  const child = spawn(command, args, { cwd: root, env, shell, stdio: ["ignore", "pipe", "pipe"] });
  const stdout = kept(child.stdout, process.stdout);
  const stderr = kept(child.stderr, process.stderr);
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve({ code: code ?? 1, stdout: stdout(), stderr: stderr() }));
  });
}

/**
 * Shows a stream, and returns what gives its text so far.
 * @param {import("node:stream").Readable} stream
 * @param {NodeJS.WriteStream} shown
 */
function kept(stream, shown) {
  let text = "";
  stream.setEncoding("utf8").on("data", (part) => {
    text += part;
    shown.write(part);
  });
  return () => text;
}
