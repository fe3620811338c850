// The inspector in a real Chromium: starts both for the tests of a file, and notes what a page must not do.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Result as AxeViolation } from "axe-core";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, expect, onTestFinished } from "vitest";
import { findChromium, startChromium, startInspector } from "../../scripts/lib/inspector.js";
import { pinnedNode, root } from "../../scripts/setup.js";

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const shots = join(root, "__test__", ".tmp", "inspector");

/** Whether tests in a browser are to be skipped; a line has said why. */
export const noBrowser = findChromium() === undefined && skipped();

function skipped(): boolean {
  const why = "there is no Chromium on the path";
  if (process.env.PALIMPSEST_REQUIRE_ALL_TESTS === "1") {
    throw new Error(why);
  }
  console.warn(`skipped: the tests of the inspector in a browser: ${why}`);
  return true;
}

/** What ends when the file's tests have run. */
const ends: (() => unknown)[] = [];

// Here, since vitest does nothing with what tests and hooks register for the end of a file, and says nothing.
afterAll(async () => {
  const problems: unknown[] = [];
  // What was made of something ends before it.
  for (const end of ends.splice(0).reverse()) {
    try {
      await end();
    } catch (error) {
      problems.push(error);
    }
  }
  expect(problems).toEqual([]);
});

/** A folder that is gone when the file's tests have run. */
export function privateFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "palimpsest-inspector-"));
  ends.push(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Serves a store with `palimpsest open` until the file's tests have run. Gives the address that it prints. */
export function serve(...args: string[]): Promise<string> {
  const { url, stop } = startInspector(args);
  ends.push(stop);
  return url;
}

/** Another process that works in the session `session:worked` of a store in a folder, until the file's tests have run. */
export function startWriter(folder: string): { playTurn: () => Promise<number> } {
  const child = spawn(pinnedNode(), [join(root, "__test__", "inspector", "writer.ts"), folder], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  ends.push(() => {
    child.stdin.end();
    return ended;
  });
  return {
    playTurn: async () => {
      child.stdin.write("\n");
      const said = await Promise.race([once(child.stdout, "data"), ended]);
      return Number(String(said));
    },
  };
}

let browser: Promise<Browser> | undefined;

function started(): Promise<Browser> {
  if (browser === undefined) {
    const launched = startChromium();
    browser = launched;
    ends.push(async () => (await launched).close());
  }
  return browser;
}

/** A page, and what it did that it must not: errors, breaches of its policy, requests to elsewhere. */
export interface Watched {
  page: Page;
  problems: string[];
}

/**
 * Opens an address in a window of its own, which is closed when the test has finished. It must have had no problems then, but those
 * that are `expected`.
 */
export async function open(url: string, options: BrowserContextOptions = {}, expected?: RegExp): Promise<Page> {
  const { page, problems } = await watched(options);
  onTestFinished(async () => {
    const wasRun = await page.evaluate(`"wasRun" in globalThis`);
    await page.context().close();
    const others = problems.filter((problem) => expected?.test(problem) !== true);
    expect({ problems: others, wasRun }).toEqual({ problems: [], wasRun: false });
  });
  await page.goto(url);
  return page;
}

async function watched(options: BrowserContextOptions): Promise<Watched> {
  const context = await (await started()).newContext({ viewport: { width: 1280, height: 860 }, ...options });
  context.setDefaultTimeout(15_000);
  const page = await context.newPage();
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(`error: ${error.message}`));
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") {
      problems.push(`${message.type()}: ${message.text()}`);
    }
  });
  page.on("request", (request) => {
    const { protocol, hostname } = new URL(request.url());
    if (!["data:", "blob:", "file:"].includes(protocol) && hostname !== "127.0.0.1") {
      problems.push(`request to ${request.url()}`);
    }
  });
  await page.addInitScript({ content: tellBreaches });
  return { page, problems };
}

// What runs in the page is text: it is not of this program.
const tellBreaches = `addEventListener("securitypolicyviolation", (breach) => {
  console.error("policy: " + breach.violatedDirective + " " + breach.blockedURI);
});`;

/** Writes a picture of the page for a person to look at. */
export async function shoot(page: Page, name: string): Promise<void> {
  mkdirSync(shots, { recursive: true });
  await page.screenshot({ path: join(shots, `${name}.png`) });
}

/** The serious violations that axe finds, each with its places. */
export async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axeSource);
  const found: AxeViolation[] = await page.evaluate(
    `axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => violations)`,
  );
  return found
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(" | ")}`);
}

/** How much wider the page is than its window, in pixels. */
export function overhang(page: Page): Promise<number> {
  return page.evaluate("Math.max(0, document.documentElement.scrollWidth - document.documentElement.clientWidth)");
}
