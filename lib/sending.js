// What a session leaves that ended before all of it was sent to the shared store: a program of its own sends it, so that no host waits.
import { spawn } from "node:child_process";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("./sender.js", import.meta.url));

/** How long it tries. */
const seconds = 60;

/**
 * Starts the program, which outlives this one by a minute at most. Where that cannot be, the next session sends it.
 * @param {string} path of the store
 * @param {import("../index.js").SessionOptions["settings"]} settings of the session
 */
export function sendLeft(path, settings) {
  // A host that is a program of its own runs none of ours.
  if (path === ":memory:" || !/^node(\.exe)?$/.test(basename(process.execPath))) {
    return;
  }
  const env = { ...process.env, PALIMPSEST_LEFT: JSON.stringify({ path, settings, seconds }) };
  try {
    const child = spawn(process.execPath, [program], { detached: true, stdio: "ignore", windowsHide: true, env });
    child.on("error", () => {});
    child.unref();
  } catch {
    // Settings may be longer than an environment can be.
  }
}
