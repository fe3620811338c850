// The list of sessions in a real browser, over a store with many of them.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { noBrowser, open, overhang, privateFolder, serve, shoot, violations } from "./browser.ts";
import { crowdedStore, workedStore } from "./stores.ts";

const folder = privateFolder();
const count = 300;
let url = "";

describe.skipIf(noBrowser)("the list of sessions", () => {
  beforeAll(async () => {
    const { path } = await crowdedStore(folder, count);
    url = await serve("--store", path);
  });

  test("has the one written last first, and only the rows in sight in the document", async () => {
    const page = await open(url);
    await page.getByText(`${count} sessions`).waitFor();
    const rows = page.locator(".sessions-list .rows .row");
    expect(await rows.first().textContent()).toContain(`Task ${count - 1}:`);
    expect(await rows.count()).toBeLessThan(60);
    await page.locator(".sessions-list .saved", { hasText: "$" }).first().waitFor();
    await shoot(page, "sessions");
  });

  test("goes to the last row by scrolling", async () => {
    const page = await open(url);
    await page.getByText(`${count} sessions`).waitFor();
    await page.locator(".sessions-list").evaluate((list) => {
      list.scrollTop = list.scrollHeight;
    });
    const last = page.locator(".sessions-list .row", { hasText: "Task 0:" });
    await last.waitFor();
    await last.locator(".saved", { hasText: "$" }).waitFor();
  });

  test("finds sessions by words of title, folder and host, and keeps the words in the address", async () => {
    const page = await open(url);
    await page.getByRole("searchbox").fill("codex wide");
    const found = Array.from({ length: count }, (_, at) => at).filter((at) => at % 4 === 3 && at % 6 === 1);
    await page.getByText(`${found.length} of ${count} sessions`).waitFor();
    expect(await page.locator(".sessions-list .rows .row").first().textContent()).toContain(`Task ${found.at(-1)}:`);
    await page.reload();
    await page.getByText(`${found.length} of ${count} sessions`).waitFor();
    await page.getByRole("searchbox").fill("nowhere at all");
    await page.getByText("No title, folder or host has").waitFor();
  });

  test("searches the texts of all sessions, and a hit leads to its session", async () => {
    const page = await open(url);
    await page.getByRole("searchbox").fill(`${(17 * 7919) % 10_007} passed`);
    await page.getByRole("searchbox").press("Enter");
    const hit = page.locator(".hits li", { hasText: "Task 17:" }).first();
    await hit.waitFor();
    expect(await hit.locator("mark").count()).toBeGreaterThan(0);
    await shoot(page, "search");
    await hit.getByRole("link").click();
    await page.waitForURL(/session%3As17$/);
  });

  test("is walked by the keyboard, and going back finds the place again", async () => {
    const page = await open(url);
    await page.getByText(`${count} sessions`).waitFor();
    await page.locator(".sessions-list .rows a").first().focus();
    for (let step = 0; step < 30; step += 1) {
      await page.keyboard.press("ArrowDown");
    }
    await page.keyboard.press("Enter");
    await page.waitForURL(new RegExp(`session%3As${count - 31}$`));
    await page.goBack();
    await page.locator(".sessions-list .row", { hasText: `Task ${count - 31}:` }).waitFor();
  });

  test("keeps its rows where they are when bills arrive", async () => {
    const page = await open(url);
    const row = page.locator(".sessions-list .rows .row").nth(5);
    await row.waitFor();
    const before = await row.boundingBox();
    await row.locator(".saved", { hasText: "$" }).waitFor();
    expect(await row.boundingBox()).toEqual(before);
  });

  test.each(["light", "dark"] as const)("has no serious violation of accessibility in %s", async (colorScheme) => {
    const page = await open(url, { colorScheme });
    await page.locator(".sessions-list .saved", { hasText: "$" }).first().waitFor();
    expect(await violations(page)).toEqual([]);
    await shoot(page, `sessions-${colorScheme}`);
  });

  test("fits into 380 pixels", async () => {
    const page = await open(url, { viewport: { width: 380, height: 800 } });
    await page.locator(".sessions-list .saved", { hasText: "$" }).first().waitFor();
    expect(await overhang(page)).toBe(0);
    await shoot(page, "sessions-380");
  });
});

describe.skipIf(noBrowser)("two sessions of a list", () => {
  test("are compared when they are chosen", async () => {
    const place = join(folder, "two");
    mkdirSync(place, { mode: 0o700 });
    const { path } = await workedStore(place, { turns: 2, sessions: 2 });
    const page = await open(await serve("--store", path));
    const boxes = page.getByRole("checkbox", { name: /^Compare / });
    await boxes.nth(0).check();
    await boxes.nth(1).check();
    await page.getByRole("link", { name: "Compare" }).click();
    await page.waitForURL(/#\/compare\//);
    await page.getByRole("heading", { level: 1 }).waitFor();
  });
});
