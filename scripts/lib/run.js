// Runs a command in the clone with its output shown, and keeps what it wrote.
import { spawn } from "node:child_process";
import { root } from "../setup.js";

/**
 * Returns what the command wrote to stdout.
 * @param {string} command
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {Promise<{ code: number, stdout: string }>}
 */
export function run(command, args, env = process.env) {
  // npm is a shell script on Windows.
  const shell = process.platform === "win32" && command === "npm";
  const child = spawn(command, args, { cwd: root, env, shell, stdio: ["ignore", "pipe", "inherit"] });
  let stdout = "";
  child.stdout.setEncoding("utf8").on("data", (text) => {
    stdout += text;
    process.stdout.write(text);
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve({ code: code ?? 1, stdout }));
  });
}
