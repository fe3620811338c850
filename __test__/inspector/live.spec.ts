// A session that another process writes, in a real browser.
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { noBrowser, open, privateFolder, serve, shoot, startWriter } from "./browser.ts";

describe.skipIf(noBrowser)("a session that another process writes", () => {
  test("is followed, and the person stays where they are", async () => {
    const folder = privateFolder();
    const writer = startWriter(folder);
    const before = await writer.playTurn();
    const url = await serve("--store", join(folder, "store.sqlite"), "session:worked");
    const page = await open(url);
    await page.locator(".badge.live").waitFor();
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
});
