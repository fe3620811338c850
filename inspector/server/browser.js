// Opens an address in the person's browser, where there is one in sight. Never fails, and waits for nothing.
import { spawn } from "node:child_process";

/** @type {{ [platform: string]: [command: string, ...args: string[]] }} */
const openers = { darwin: ["open"], win32: ["rundll32", "url.dll,FileProtocolHandler"] };

/**
 * Whether the person sees windows of this machine.
 * @param {NodeJS.ProcessEnv} env
 * @param {string} platform
 */
export function hasScreen(env, platform) {
  const isRemote = [env.SSH_CONNECTION, env.SSH_CLIENT, env.SSH_TTY].some(Boolean);
  return !isRemote && (platform in openers || Boolean(env.DISPLAY || env.WAYLAND_DISPLAY));
}

/**
 * @param {string} url
 * @returns {boolean} whether a browser was asked
 */
export function openBrowser(url) {
  if (!hasScreen(process.env, process.platform)) {
    return false;
  }
  const [command, ...args] = openers[process.platform] ?? ["xdg-open"];
  try {
    const child = spawn(command, [...args, url], { stdio: "ignore", detached: true, windowsHide: true });
    child.on("error", () => {});
    child.unref();
    return true;
  } catch {
    return false;
  }
}
