// The inspector and a Chromium for tests, benches and the picture: starts both. Must not look at what they show.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { chromium } from "playwright-core";
import { pinnedNode, root } from "../setup.js";

const names = ["chromium", "chromium-browser", "google-chrome"];

/** Path of a Chromium, if one is on the path. */
export function findChromium() {
  const folders = (process.env.PATH ?? "").split(delimiter);
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find((path) => existsSync(path));
}

/** Starts a Chromium to which only this machine exists. */
export function startChromium() {
  const executablePath = findChromium();
  if (executablePath === undefined) {
    throw new Error("there is no Chromium on the path");
  }
  const args = ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"];
  // Chromium has no sandbox for root.
  return chromium.launch({ executablePath, args, chromiumSandbox: process.getuid?.() !== 0 });
}

/**
 * Runs `palimpsest open`, which opens no browser itself, until `stop`.
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {Promise<{ url: string, stop: () => Promise<void> }>} the address that it prints
 */
export async function startInspector(args, env = process.env) {
  const { DISPLAY: _, WAYLAND_DISPLAY: __, PALIMPSEST_STORE: ___, ...kept } = env;
  const child = spawn(pinnedNode(), [join(root, "bin", "palimpsest.js"), "open", ...args], { env: kept });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  let said = "";
  /** @type {Promise<string>} */
  const url = new Promise((resolve, reject) => {
    const hear = (/** @type {Buffer} */ chunk) => {
      said += chunk;
      const found = /http:\/\/127\.0\.0\.1:\d+\/\S*(?=\s)/.exec(said);
      if (found !== null) {
        resolve(found[0]);
      }
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`palimpsest open ended with code ${code}: ${said}`)));
  });
  return {
    url: await url,
    stop: async () => {
      child.kill("SIGINT");
      await ended;
    },
  };
}
