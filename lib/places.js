// Folders of hosts, for those that run outside of them.
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The user's home folder; empty where there is none: `HOME` is not set, and the system does not know the user. */
export function homeFolder() {
  try {
    return homedir();
  } catch {
    return "";
  }
}

/** The same where nothing works without one. */
function neededHome() {
  const home = homeFolder();
  if (home === "") {
    const message = "there is no home folder: `HOME` is not set, and the system does not know the user";
    throw Object.assign(new Error(message), { code: "NO_HOME", hint: "set `HOME`" });
  }
  return home;
}

/** Pi's agent folder, found as Pi finds it (`getAgentDir` of Pi 0.87.1). */
export function piAgentDir() {
  const given = process.env.PI_CODING_AGENT_DIR;
  if (!given) {
    return join(neededHome(), ".pi", "agent");
  }
  if (given === "~") {
    return neededHome();
  }
  if (given.startsWith("~/") || (process.platform === "win32" && given.startsWith("~\\"))) {
    return join(neededHome(), given.slice(2));
  }
  return given.startsWith("file://") ? fileURLToPath(given) : given;
}

/** OpenClaw's state folder, found as OpenClaw finds it (2026.9.6). */
export function openclawStateDir() {
  const given = process.env.OPENCLAW_STATE_DIR?.trim();
  if (!given) {
    return join(process.env.OPENCLAW_HOME?.trim() || neededHome(), ".openclaw");
  }
  return given === "~" || given.startsWith("~/") ? join(neededHome(), given.slice(1)) : given;
}

/** The setting `store` of OpenClaw's plugin: a relative path counts from the state folder. @param {string} store @param {string} stateDir */
export function inStateFolder(store, stateDir) {
  return store === ":memory:" || store.startsWith("~") || isAbsolute(store) ? store : join(stateDir, store);
}
