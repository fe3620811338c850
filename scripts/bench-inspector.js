// How long the inspector takes until there is something to see, in a real Chromium: the list of 1,000 sessions, a session of 2,000 calls,
// and its calls one after another. `npm run bench` runs this with the addon of the benches' build. Each first view has a server and a
// browser window of its own, so that nothing is known yet.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crowdedStore, longStore } from "../__test__/inspector/stores.ts";
import { findChromium, startChromium, startInspector } from "./lib/inspector.js";

/** @typedef {import("playwright-core").Page} Page */

const rounds = 5;
const calls = 2_000;

if (findChromium() === undefined) {
  console.log("inspector: not measured, there is no Chromium on the path");
} else {
  await measure();
}

async function measure() {
  const folder = mkdtempSync(join(tmpdir(), "palimpsest-inspector-"));
  const browser = await startChromium();
  try {
    const crowded = await crowdedStore(mkdtempSync(join(folder, "crowded-")), 1_000);
    const long = await longStore(mkdtempSync(join(folder, "long-")), calls);
    const id = encodeURIComponent(long.session);
    console.log("\n| inspector, until something is to be seen | median ms | longest |\n|---|--:|--:|");
    row("list of 1,000 sessions", await times(() => firstView(crowded.path, "", ".sessions-list .rows .row")));
    row(`session of ${calls} calls`, await times(() => firstView(long.path, `#/session/${id}`, "canvas")));
    row("a call, of the newest 20", await walked(long.path, `#/session/${id}/call/`));
  } finally {
    await browser.close();
    rmSync(folder, { recursive: true, force: true });
  }

  /**
   * Milliseconds from the navigation to the first frame in which `shown` is there.
   * @param {string} store
   * @param {string} hash
   * @param {string} shown a selector
   */
  async function firstView(store, hash, shown) {
    const { url, stop } = startInspector(["--store", store]);
    const page = await browser.newPage();
    try {
      await page.goto((await url) + hash, { waitUntil: "commit" });
      await page.locator(shown).first().waitFor();
      return Number(await page.evaluate("new Promise((done) => requestAnimationFrame(() => done(performance.now())))"));
    } finally {
      await page.close();
      await stop();
    }
  }

  /**
   * Goes from call to call in one page, as by the links; each is seen for the first time.
   * @param {string} store
   * @param {string} hash
   */
  async function walked(store, hash) {
    const { url, stop } = startInspector(["--store", store]);
    const page = await browser.newPage();
    const found = [];
    try {
      await page.goto(`${await url}${hash}${calls}`);
      await heading(page, calls);
      for (let call = calls - 1; call > calls - 21; call -= 1) {
        const began = performance.now();
        await page.evaluate(`location.hash = ${JSON.stringify(`${hash}${call}`)}`);
        await heading(page, call);
        found.push(performance.now() - began);
      }
    } finally {
      await page.close();
      await stop();
    }
    return found;
  }
}

/**
 * @param {Page} page
 * @param {number} call
 */
async function heading(page, call) {
  await page.getByRole("heading", { level: 1, name: new RegExp(`\\b${call}\\b`) }).waitFor();
  await page.locator("main [data-message]").first().waitFor();
}

/** @param {() => Promise<number>} one */
async function times(one) {
  const found = [];
  for (let round = 0; round < rounds; round += 1) {
    found.push(await one());
  }
  return found;
}

/**
 * @param {string} name
 * @param {number[]} found
 */
function row(name, found) {
  const sorted = found.toSorted((a, b) => a - b);
  console.log(`| ${name} | ${sorted[sorted.length >> 1].toFixed(0)} | ${sorted[sorted.length - 1].toFixed(0)} |`);
}
