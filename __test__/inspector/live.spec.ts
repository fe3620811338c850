// A session that another process writes, and a server that ends, in a real browser.
import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, onTestFinished, test } from "vitest";
import { openStore } from "../../index.js";
import { startInspector } from "../../scripts/lib/inspector.js";
import { noBrowser, open, overhang, privateFolder, serve, shoot, startWriter, violations } from "./browser.ts";
import { Host } from "./host.ts";
import { workedStore } from "./stores.ts";

const badge = (page: Page, text: string) => page.locator(".badge").filter({ hasText: text });
const lost = (page: Page) => page.getByRole("alert").filter({ hasText: "The inspector does not answer any more." });

describe.skipIf(noBrowser)("a session that another process writes", () => {
  test("is followed, and the person stays where they are", async () => {
    const folder = privateFolder();
    const writer = startWriter(folder);
    const before = await writer.playTurn();
    const url = await serve("--store", join(folder, "store.sqlite"), "session:worked");
    const page = await open(url);
    await badge(page, "following").waitFor();
    const counted = (calls: number) =>
      page
        .locator("main")
        .getByText(new RegExp(`\\b${calls}(?:$| calls\\b)`))
        .first();
    await counted(before).waitFor();
    const address = page.url();
    const after = await writer.playTurn();
    expect(after).toBeGreaterThan(before);
    await counted(after).waitFor();
    expect(page.url()).toBe(address);
    await shoot(page, "live");
  });

  test("is called live until a minute after the last write", async () => {
    const folder = privateFolder();
    const writer = startWriter(folder);
    await writer.playTurn();
    const page = await open(await serve("--store", join(folder, "store.sqlite"), "session:worked"));
    // A clock that takes the place of another one in the middle of a page's work starts anew.
    await page.clock.install();
    const followed = page.waitForResponse(/\/api\/follow/);
    await page.reload();
    await followed;
    await badge(page, "following").waitFor();
    expect(await page.locator(".badge.live").count()).toBe(0);
    // What is told just after the stream was opened may be old.
    await page.clock.fastForward(1_000);
    await writer.playTurn();
    await page.locator(".badge.live", { hasText: "live" }).waitFor();
    // The last of what was written may be told a moment later.
    const isLive = async () => {
      await page.clock.fastForward(61_000);
      return page.locator(".badge.live").count();
    };
    await expect.poll(isLive, { timeout: 10_000, interval: 1_000 }).toBe(0);
    await badge(page, "following").waitFor();
  });

  test("has a call that was made since the list was shown", async () => {
    const folder = privateFolder();
    const writer = startWriter(folder);
    await writer.playTurn();
    const url = await serve("--store", join(folder, "store.sqlite"));
    const page = await open(url);
    await page.locator(".sessions-list .rows a").first().waitFor();
    const calls = await writer.playTurn();
    await page.goto(`${url}#/session/session%3Aworked/call/${calls}`);
    await page.getByRole("heading", { level: 1, name: new RegExp(`\\b${calls}\\b`) }).waitFor();
  });

  test("marks a what-if as outdated, and can play it again", { timeout: 120_000 }, async () => {
    const folder = privateFolder();
    const writer = startWriter(folder);
    await writer.playTurn();
    const url = await serve("--store", join(folder, "store.sqlite"));
    const page = await open(`${url}#/session/session%3Aworked/what-if?prices=gemini`);
    const verdict = page.getByRole("status").filter({ hasText: "With the change, the session costs" });
    await verdict.waitFor();
    const before = await verdict.textContent();
    await writer.playTurn();
    const said = page.getByRole("status").filter({ hasText: "The session was written since." });
    await said.getByRole("button", { name: "Play it again" }).click();
    // It is played twice, which takes a while on a busy machine.
    await verdict.waitFor({ timeout: 60_000 });
    expect(await verdict.textContent()).not.toBe(before);
  });

  test("appears in the list without moving the reader's place", async () => {
    const folder = privateFolder();
    const writer = startWriter(folder);
    await writer.playTurn();
    const path = join(folder, "store.sqlite");
    const page = await open(await serve("--store", path));
    const link = page.getByRole("link", { name: /^Why does/ });
    await link.focus();
    const calls = await writer.playTurn();
    await page.locator(".rows .calls").getByText(String(calls), { exact: true }).waitFor();
    const store = await openStore({ path });
    const host = await Host.open(store, { sessionId: "begun", cwd: join(folder, "begun") });
    host.user("Begin something else.");
    await host.bash("true", "");
    await page.getByRole("link", { name: "Begin something else." }).waitFor();
    expect(await link.evaluate((node) => node === node.ownerDocument.activeElement)).toBe(true);
    expect(await page.locator(".rows .row").count()).toBe(2);
    await host.session.close();
    await store.close();
  });

  test("leaves open parts of an object and the focus alone", async () => {
    const folder = privateFolder();
    const writer = startWriter(folder);
    await writer.playTurn();
    const url = await serve("--store", join(folder, "store.sqlite"));
    const page = await open(`${url}#/object/f1?session=session%3Aworked`);
    const newest = page.locator(".versions > li").first();
    await newest.getByRole("button", { name: "Content" }).click();
    const text = newest.locator("pre");
    await text.waitFor();
    await text.evaluate((node) => node.setAttribute("data-seen", ""));
    const calls = page.getByText(/Its text stood in/);
    const before = await calls.textContent();
    const first = await writer.playTurn();
    await expect.poll(() => calls.textContent(), { timeout: 10_000 }).toContain(`of ${first}.`);
    expect(await calls.textContent()).not.toBe(before);
    expect(await page.locator("pre[data-seen]").count()).toBe(1);
    const focused = await page.evaluate("document.activeElement.textContent");
    expect(focused).toBe("Content");
  });

  test("is updated in a comparison, and the charts stay", async () => {
    const folder = privateFolder();
    const writer = startWriter(folder);
    await writer.playTurn();
    const url = await serve("--store", join(folder, "store.sqlite"));
    const page = await open(`${url}#/compare/session%3Aworked/session%3Aworked`);
    const cells = page.getByRole("row", { name: /^calls/ }).getByRole("cell");
    await cells.first().waitFor();
    const chart = page.getByRole("slider", { name: "Window over the calls" });
    await chart.focus();
    const calls = await writer.playTurn();
    await expect.poll(() => cells.allTextContents(), { timeout: 10_000 }).toEqual([String(calls), String(calls)]);
    expect(await chart.evaluate((node) => node === node.ownerDocument.activeElement)).toBe(true);
  });

  test("is followed in more tabs than a browser has connections", async () => {
    const folder = privateFolder();
    const writer = startWriter(folder);
    await writer.playTurn();
    const url = await serve("--store", join(folder, "store.sqlite"), "session:worked");
    const first = await open(url);
    const context = first.context();
    await badge(first, "following").waitFor();
    for (let tab = 0; tab < 6; tab += 1) {
      // What a browser says to a tab when the person goes to another.
      await context.pages().at(-1)?.evaluate(hide);
      const page = await context.newPage();
      await page.goto(url);
      await badge(page, "following").waitFor();
    }
    const calls = await writer.playTurn();
    await first.evaluate(unhide);
    await first.locator("main").getByText(`${calls} calls`).waitFor();
  });
});

const hide = `Object.defineProperty(document, "hidden", { configurable: true, value: true });
document.dispatchEvent(new Event("visibilitychange"));`;
const unhide = `delete document.hidden; document.dispatchEvent(new Event("visibilitychange"));`;

describe.skipIf(noBrowser)("a server that has ended", () => {
  // How a request fails depends on how far it was when the server ended.
  const noServer = /Failed to load resource: net::ERR_/;

  test.each([
    ["a session", "session/session%3Aworked"],
    ["the list", ""],
  ])("is reported in a bar while %s stays visible", async (_, session) => {
    const { path } = await workedStore(privateFolder(), { turns: 1 });
    const { url, stop } = startInspector(["--store", path]);
    onTestFinished(stop);
    const page = await open(`${await url}#/${session}`, {}, noServer);
    const shown = page
      .locator("main")
      .getByText(/Why does/)
      .first();
    await shown.waitFor();
    await page.waitForLoadState("load");
    expect(await lost(page).count()).toBe(0);
    await stop();
    await lost(page).waitFor();
    expect(await lost(page).textContent()).toContain("`palimpsest open` starts it again");
    expect(await badge(page, "following").isVisible()).toBe(false);
    expect(await shown.isVisible()).toBe(true);
    await shoot(page, session === "" ? "lost-list" : "lost");
    expect(await violations(page)).toEqual([]);
    await page.setViewportSize({ width: 380, height: 800 });
    await shoot(page, "lost-380");
    expect(await overhang(page)).toBe(0);
  });

  test("is no longer reported once it answers again", async () => {
    const folder = privateFolder();
    const writer = startWriter(folder);
    await writer.playTurn();
    const page = await open(await serve("--store", join(folder, "store.sqlite"), "session:worked"), {}, noServer);
    await badge(page, "following").waitFor();
    await page.route("**/api/**", (route) => route.abort());
    // A stream that stands is not touched by a route: the tab leaves it when it is hidden.
    await page.evaluate(hide);
    await page.evaluate(unhide);
    await lost(page).waitFor();
    const calls = await writer.playTurn();
    await page.unroute("**/api/**");
    await badge(page, "following").waitFor();
    expect(await lost(page).count()).toBe(0);
    await page.locator("main").getByText(`${calls} calls`).waitFor();
  });
});
