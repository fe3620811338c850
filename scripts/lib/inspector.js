// The inspector and a Chromium for tests, benches and the picture: starts both. Must not look at what they show.
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { chromium } from "playwright-core";
import { pinnedNode, root } from "../setup.js";
import { launch } from "./processes.js";

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
 * Runs `palimpsest open`, which opens no browser itself, until `stop`; it ends with this process, and by itself where that was killed.
 * @param {string[]} args
 * @returns {{ url: Promise<string>, stop: () => Promise<void> }} `url`: the address, once it is printed
 */
export function startInspector(args) {
  const { PALIMPSEST_STORE: _, ...env } = /** @type {Record<string, string>} */ (process.env);
  const program = [pinnedNode(), join(root, "bin", "palimpsest.js")];
  const command = [...program, "open", "--no-browser", "--minutes", "5", ...args];
  const { child, finished, outcome } = launch({ name: "palimpsest open", command, cwd: root, env });
  /** @type {Promise<string>} */
  const url = new Promise((resolve, reject) => {
    child.stdout?.on("data", () => {
      const [line, rest] = outcome.stdout.split("\n");
      if (rest !== undefined) {
        resolve(line);
      }
    });
    finished.then(
      ({ code, stderr }) => reject(new Error(`palimpsest open ended with code ${code}: ${stderr}`)),
      reject,
    );
  });
  url.catch(() => {});
  return {
    url,
    stop: async () => {
      child.kill("SIGINT");
      await finished;
    },
  };
}
