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
    row("list of 1,000 sessions", await times(() => firstView(["--store", crowded.path], ".sessions-list .rows .row")));
    row(`session of ${calls} calls`, await times(() => firstView(["--store", long.path, long.session], "canvas")));
    row("a call, of the newest 20", await walked(long.path, `#/session/${id}/call/`));
  } finally {
    await browser.close();
    rmSync(folder, { recursive: true, force: true });
  }

  /**
   * Milliseconds from the navigation to the first frame in which `shown` is there.
   * @param {string[]} args of `palimpsest open`
   * @param {string} shown a selector
   */
  async function firstView(args, shown) {
    const { url, stop } = startInspector(args);
    const page = await browser.newPage();
    try {
      await page.goto(await url, { waitUntil: "commit" });
      return await firstFrame(page, "", `document.querySelector(${JSON.stringify(shown)})`);
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
      await firstFrame(page, "", callShown(calls));
      for (let call = calls - 1; call > calls - 21; call -= 1) {
        found.push(await firstFrame(page, `location.hash = ${JSON.stringify(`${hash}${call}`)}`, callShown(call)));
      }
    } finally {
      await page.close();
      await stop();
    }
    return found;
  }
}

/**
 * Does something in a page and waits for the first frame in which a condition holds. Milliseconds from the start of that, or from the
 * navigation where nothing is done. Measured in the page: what drives the browser takes time, too.
 * @param {Page} page
 * @param {string} act a statement
 * @param {string} condition an expression
 * @returns {Promise<number>}
 */
async function firstFrame(page, act, condition) {
  return Number(
    await page.evaluate(`new Promise((done) => {
      const start = ${act === "" ? "0" : "performance.now()"};
      ${act};
      const look = () => ((${condition}) ? requestAnimationFrame(() => done(performance.now() - start)) : requestAnimationFrame(look));
      look();
    })`),
  );
}

/** @param {number} call */
function callShown(call) {
  return `/\\b${call}\\b/.test(document.querySelector("h1")?.textContent) && document.querySelector("main [data-message]")`;
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
