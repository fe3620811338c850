// The list of sessions in a real browser, over a store with many of them.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { openStore } from "../../index.js";
import { noBrowser, open, overhang, privateFolder, serve, shoot, violations } from "./browser.ts";
import { Host } from "./host.ts";
import { crowdedStore, workedStore } from "./stores.ts";

const folder = privateFolder();
const count = 300;
let url = "";

describe.skipIf(noBrowser)("the list of sessions", () => {
  beforeAll(async () => {
    const { path } = await crowdedStore(folder, count);
    url = await serve("--store", path);
  }, 180_000);

  test("has the newest first, and renders only visible rows", async () => {
    const page = await open(url);
    await page.getByText(`${count} sessions`).waitFor();
    const rows = page.locator(".sessions-list .rows .row");
    await rows
      .first()
      .filter({ hasText: `Task ${count - 1}:` })
      .waitFor();
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

  test("finds sessions by words, and keeps the words in the URL", async () => {
    const page = await open(url);
    await page.getByRole("searchbox").fill("codex wide");
    const found = Array.from({ length: count }, (_, at) => at).filter((at) => at % 4 === 3 && at % 6 === 1);
    await page.getByText(`${found.length} of ${count} sessions`).waitFor();
    const first = page.locator(".sessions-list .rows .row").first();
    await first.filter({ hasText: `Task ${found.at(-1)}:` }).waitFor();
    await page.reload();
    await page.getByText(`${found.length} of ${count} sessions`).waitFor();
    await page.getByRole("searchbox").fill("nowhere at all");
    await page.getByText("No title, folder or host has").waitFor();
  });

  test("searches the texts of all sessions, and links to each hit", async () => {
    const page = await open(url);
    await page.getByRole("searchbox").fill(`${(17 * 7919) % 10_007} passed`);
    await page.getByRole("searchbox").press("Enter");
    const hit = page.locator(".hits li", { hasText: "Task 17:" }).first();
    await hit.waitFor();
    expect(await hit.locator("mark").count()).toBeGreaterThan(0);
    await shoot(page, "search");
    await hit.getByRole("link", { name: "Task 17:" }).click();
    await page.waitForURL(/session%3As17$/);
    await page.goBack();
    await hit.getByRole("link", { name: "tool call" }).click();
    await page.waitForURL(/#\/object\/.*\?session=session%3As17$/);
    await page.getByRole("heading", { level: 1, name: /npm test/ }).waitFor();
  });

  test("can be walked by keyboard, and going back keeps the place", async () => {
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

  test("restores words, place and chosen sessions on return", async () => {
    const page = await open(url);
    await page.getByRole("searchbox").fill("project-1");
    const list = page.locator(".sessions-list");
    const row = (task: number) => page.locator(".sessions-list .row", { hasText: `Task ${task}:` });
    await list.evaluate((node) => {
      node.scrollTop = 3_000;
    });
    await row(158).getByRole("checkbox").check();
    await row(158).getByRole("link").click();
    await page.waitForURL(/session%3As158$/);
    await page.getByRole("heading", { level: 1, name: /Task 158/ }).waitFor();
    await page.goBack();
    await row(158).waitFor();
    expect(await list.evaluate((node) => node.scrollTop)).toBe(3_000);
    expect(await row(158).getByRole("checkbox").isChecked()).toBe(true);
    expect(await page.getByRole("searchbox").inputValue()).toBe("project-1");
    await page.getByRole("link", { name: "Sessions", exact: true }).click();
    await page.getByText(`${count} sessions`, { exact: true }).waitFor();
    await page.locator(".chosen-bar", { hasText: "Task 158:" }).waitFor();
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

describe.skipIf(noBrowser)("a store", () => {
  test("without a session says so, and offers nothing to look for", async () => {
    const place = join(folder, "none");
    mkdirSync(place, { mode: 0o700 });
    const path = join(place, "store.sqlite");
    await (await openStore({ path })).close();
    const page = await open(await serve("--store", path));
    await page.getByText("This store holds no session yet.").waitFor();
    expect(await page.getByRole("searchbox").isVisible()).toBe(false);
    expect(await page.getByText("Choose two sessions").isVisible()).toBe(false);
    await shoot(page, "sessions-none");
  });

  test("with one session has a short list, and nothing to compare", async () => {
    const place = join(folder, "one");
    mkdirSync(place, { mode: 0o700 });
    const { path } = await workedStore(place, { turns: 1 });
    const page = await open(await serve("--store", path), { viewport: { width: 380, height: 800 } });
    await page.locator(".sessions-list .saved", { hasText: "$" }).waitFor();
    expect((await page.locator(".sessions-list").boundingBox())?.height).toBeLessThan(110);
    expect(await page.getByRole("checkbox").count()).toBe(0);
    expect(await page.getByText("Choose two sessions").isVisible()).toBe(false);
    const line = (kind: string) => page.locator(`.sessions-list .${kind}`).boundingBox();
    expect((await line("tokens"))?.height).toBeLessThan(25);
    await shoot(page, "sessions-one-380");
  });
});

describe.skipIf(noBrowser)("two sessions of a list", () => {
  test("of which one is a fork say that it has the other's calls", async () => {
    const place = join(folder, "fork");
    mkdirSync(place, { mode: 0o700 });
    const { path, session } = await workedStore(place, { turns: 1 });
    const store = await openStore({ path });
    const cwd = join(place, "project");
    const fork = await Host.open(store, { sessionId: "fork", parentSessionId: "worked", cwd });
    fork.user("Go on.");
    await fork.say("Done.");
    await fork.session.close();
    const { calls } = await store.ledger(session);
    await store.close();
    const page = await open(await serve("--store", path));
    await page.locator(".sessions-list .rows a").first().click();
    const said = `${calls + 1} calls, those before it was forked from another session included`;
    await page.locator("p.place", { hasText: said }).waitFor();
    await page.goBack();
    await page.locator(".sessions-list .rows a").last().click();
    await page.locator("p.place", { hasText: new RegExp(` ${calls} calls$`) }).waitFor();
  });

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
