// How a page comes to the person: opens its address in the browser, where there is one in sight, else says how to get there; and for how
// long a page waits for somebody to look. Never fails.
import { spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join, win32 } from "node:path";

/** Minutes without a viewer after which a page ends, unless said otherwise. */
export const idleMinutes = 30;

/** How long an opener may take to say that it cannot, in milliseconds. Some run for as long as the browser does. */
const patienceMs = 800;

/**
 * Whether the person sits at another machine, as far as the environment tells.
 * @param {NodeJS.ProcessEnv} env
 */
function isRemote(env) {
  return [env.SSH_CONNECTION, env.SSH_CLIENT, env.SSH_TTY].some(Boolean);
}

/**
 * The command that opens an address on the screen of the person; undefined where there is no such screen or command.
 * @param {NodeJS.ProcessEnv} env
 * @param {string} platform
 * @returns {string[] | undefined}
 */
export function openerFor(env, platform) {
  if (isRemote(env)) {
    return undefined;
  }
  if (platform === "darwin") {
    return ["open"];
  }
  if (platform === "win32") {
    // A bare name is looked for in the working folder first, which may be a clone.
    const system = win32.join(env.SystemRoot ?? "C:\\Windows", "System32");
    return [win32.join(system, "rundll32.exe"), "url.dll,FileProtocolHandler"];
  }
  // Windows shows what runs in its Linux, with a browser of its own.
  const onWindows = env.WSL_DISTRO_NAME ? ["wslview"] : [];
  const onScreen = env.DISPLAY || env.WAYLAND_DISPLAY ? ["xdg-open"] : [];
  const found = [...onWindows, ...onScreen].find((name) => isOnPath(name, env.PATH ?? ""));
  return found === undefined ? undefined : [found];
}

/**
 * @param {string} name
 * @param {string} path
 */
function isOnPath(name, path) {
  return path.split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return folder !== "";
    } catch {
      return false;
    }
  });
}

/**
 * Opens the browser where it may and can, and says what came of it, as part of a sentence.
 * @param {string} url
 * @param {{ mayOpen: boolean }} options
 */
export async function show(url, { mayOpen }) {
  if (mayOpen && (await isOpened(url))) {
    return "opened in the browser";
  }
  const { port } = new URL(url);
  return isRemote(process.env)
    ? `open this address where you sit, after \`ssh -L ${port}:127.0.0.1:${port}\` to this machine`
    : "open this address in a browser on this machine";
}

/**
 * Whether a browser was opened. An opener that has not failed after a moment counts.
 * @param {string} url
 * @returns {Promise<boolean>}
 */
async function isOpened(url) {
  const [command, ...args] = openerFor(process.env, process.platform) ?? [];
  if (command === undefined) {
    return false;
  }
  return new Promise((resolve) => {
    const waited = setTimeout(() => resolve(true), patienceMs);
    const decide = (/** @type {boolean} */ isOpened) => {
      clearTimeout(waited);
      resolve(isOpened);
    };
    try {
      const child = spawn(command, [...args, url], { stdio: "ignore", detached: true, windowsHide: true });
      child.once("error", () => decide(false));
      child.once("exit", (code) => decide(code === 0));
      child.unref();
    } catch {
      decide(false);
    }
  });
}
