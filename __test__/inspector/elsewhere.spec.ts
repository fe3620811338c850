// What was written on another machine, as the page shows it: the list, a session and an object's history say who and where.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { beforeAll, describe, expect, test } from "vitest";
import { openStore } from "../../index.js";
import { noBrowser, open, privateFolder, serve } from "./browser.ts";
import { workedStore } from "./stores.ts";

const folder = privateFolder();
let url = "";
let session = "";

describe.skipIf(noBrowser)("what another machine wrote", () => {
  beforeAll(async () => {
    mkdirSync(join(folder, "ann"));
    const made = await workedStore(join(folder, "ann"), { turns: 1 });
    session = made.session;
    const theirs = await openStore({ path: made.path });
    const archive = join(folder, "session.jsonl");
    await theirs.maintenance.exportArchive({ path: archive, session });
    const path = join(folder, "store.sqlite");
    const ours = await openStore({ path });
    await ours.maintenance.importArchive({ path: archive });
    const note = [`note:machine ${theirs.id}`, JSON.stringify({ machine: "anns-laptop", author: "Ann" })];
    await theirs.close();
    await ours.close();
    // As a shared store would have told.
    const database = new DatabaseSync(path);
    database.prepare("INSERT INTO meta (key, value) VALUES (?, ?)").run(...note);
    database.close();
    url = await serve("--store", path);
  }, 60_000);

  test("is named in the list, in a session and in a history", async () => {
    const page = await open(url);
    const row = page.locator(".sessions-list .rows .row").first();
    await row.waitFor();
    expect(await row.locator(".place").textContent()).toMatch(/ · Ann on anns-laptop$/);
    await page.getByRole("searchbox").fill("anns-laptop");
    await row.locator("a").first().click();
    await page.locator("p.place", { hasText: " · Ann on anns-laptop · " }).waitFor();
    await page.getByRole("link", { name: /objects$/ }).click();
    await page.locator(".row a").first().click();
    const version = page.locator(".versions > li").first();
    await version.waitFor();
    expect(await version.textContent()).toContain("from Ann on anns-laptop");
  });
});
