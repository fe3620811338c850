// Folders of hosts, for those that run outside of them.
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";

/** Pi's agent folder, found as Pi finds it (`getAgentDir` of Pi 0.87.1). */
export function piAgentDir() {
  const given = process.env.PI_CODING_AGENT_DIR;
  if (!given) {
    return join(homedir(), ".pi", "agent");
  }
  if (given === "~") {
    return homedir();
  }
  if (given.startsWith("~/") || (process.platform === "win32" && given.startsWith("~\\"))) {
    return join(homedir(), given.slice(2));
  }
  return given.startsWith("file://") ? fileURLToPath(given) : given;
}

/** OpenClaw's state folder, found as OpenClaw finds it (2026.9.6). */
export function openclawStateDir() {
  const given = process.env.OPENCLAW_STATE_DIR?.trim();
  if (!given) {
    return join(process.env.OPENCLAW_HOME?.trim() || homedir(), ".openclaw");
  }
  return given === "~" || given.startsWith("~/") ? join(homedir(), given.slice(1)) : given;
}

/** The setting `store` of OpenClaw's plugin: a relative path counts from the state folder. @param {string} store @param {string} stateDir */
export function inStateFolder(store, stateDir) {
  return store === ":memory:" || store.startsWith("~") || isAbsolute(store) ? store : join(stateDir, store);
}
