// A session that is played again with other prices, another window and other settings, in a real browser. What the page says is what the
// store says when it is asked directly.
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadSettings, openStore, type ReplayedFile, type ReplayOptions, type Store } from "../../index.js";
import { cost, percent, whole } from "../../inspector/page/elements/numbers.js";
import { shortCount } from "../../lib/figures.js";
import { pinnedNode, root } from "../../scripts/setup.js";
import { noBrowser, open, overhang, privateFolder, serve, shoot, violations } from "./browser.ts";
import { workedStore } from "./stores.ts";

const folder = privateFolder();
const view = "#/session/session%3Aworked/what-if";
/** How the session was: its model's window, and prices that work like these. */
const asSet: ReplayOptions = { prices: "anthropic", window: 200_000 };
let url = "";
let path = "";
let store: Store | undefined;

beforeAll(async () => {
  if (!noBrowser) {
    path = (await workedStore(folder)).path;
    store = await openStore({ path, readOnly: true });
    url = await serve("--store", path);
  }
});

afterAll(() => store?.close());

async function played(asked: ReplayOptions): Promise<ReplayedFile> {
  const options = { ...asSet, ...asked, settings: { ...(await loadSettings({})), ...asked.settings } };
  return (store as Store).replaySession("session:worked", options);
}

const field = (page: Page, name: string) => page.getByLabel(name, { exact: true });
const play = (page: Page) => page.getByRole("button", { name: "Play it again" });
const answer = (page: Page) => page.locator("table.beside");

/** What has the focus: its ID, label or text. */
function focused(page: Page): Promise<string> {
  return page.evaluate(
    "(({ id, ariaLabel, textContent }) => id || ariaLabel || textContent)(document.activeElement ?? document.body)",
  );
}

async function openSettings(page: Page): Promise<void> {
  await page.locator("summary", { hasText: "Settings" }).click();
}

/** The cells of the row with that name: as set, changed, the difference. */
async function figure(page: Page, name: string): Promise<string[]> {
  const row = answer(page)
    .getByRole("row")
    .filter({ has: page.getByRole("rowheader", { name, exact: true }) });
  return row.getByRole("cell").allTextContents();
}

async function expectAnswer(page: Page, asked: ReplayOptions): Promise<void> {
  const [before, after] = [await played({}), await played(asked)];
  await answer(page).waitFor();
  const both = async (name: string, words: (file: ReplayedFile) => string) =>
    expect({ name, cells: (await figure(page, name)).slice(0, 2) }).toEqual({
      name,
      cells: [words(before), words(after)],
    });
  await both("bill", ({ bill }) => cost(bill.ours, false));
  await both("plain’s bill", ({ bill }) => cost(bill.plain, false));
  await both("saved, as a share", ({ bill }) => percent(1 - bill.ratio, 1));
  await both("longest request", ({ peakWindow }) => `${shortCount(peakWindow.ours)} tokens`);
  await both("epochs", ({ epochs }) => whole(epochs.length));
  await both("faults", ({ faults }) => whole(faults.raw));
  await both("compactions", ({ compactions }) => whole(compactions));
  await both("plain’s compactions", ({ plainCompactions }) => whole(plainCompactions));
}

describe.skipIf(noBrowser)("a session that is played again", () => {
  test("at other prices costs what the store says", async () => {
    const page = await open(url + view);
    await field(page, "prices").selectOption("gemini");
    await play(page).click();
    await page.waitForURL(/what-if\?prices=gemini$/);
    await expectAnswer(page, { prices: "gemini" });
    const [before, after] = [await played({}), await played({ prices: "gemini" })];
    expect((await figure(page, "bill"))[2]).toBe(`+${cost(after.bill.ours - before.bill.ours, false)}`);
    const more = percent(after.bill.ours / before.bill.ours - 1, 1);
    await page
      .getByRole("status")
      .filter({ hasText: `instead of ${cost(before.bill.ours, false)} (${more} more); it saves` })
      .waitFor();
    expect(await figure(page, "prices")).toEqual(["like anthropic", "gemini", ""]);
    await shoot(page, "what-if-prices");
  });

  test("in a smaller window is compacted as the store says", async () => {
    const page = await open(url + view);
    await field(page, "window").fill("20,000");
    await play(page).click();
    await page.waitForURL(/what-if\?window=20000$/);
    await expectAnswer(page, { window: 20_000 });
    const [before, after] = [await played({}), await played({ window: 20_000 })];
    expect(after.plainCompactions).toBeGreaterThan(before.plainCompactions);
    const chart = page.getByRole("slider", { name: "Window over the calls" });
    await chart.press("End");
    const said = await chart.getAttribute("aria-valuetext");
    for (const [name, file] of [
      ["as set", before],
      ["changed", after],
    ] as const) {
      const newest = file.series.at(-1);
      expect(said).toContain(`window, ${name} ${shortCount(newest?.ours.tokens ?? 0)}`);
      expect(said).toContain(`window, plain ${name} ${shortCount(newest?.plain.tokens ?? 0)}`);
      expect(said).toContain(`bill, ${name} ${shortCount(file.bill.ours)}`);
      expect(said).toContain(`bill, plain ${name} ${shortCount(file.bill.plain)}`);
    }
    await shoot(page, "what-if-window");
  });

  test("with other settings costs what the store says", async () => {
    const page = await open(url + view);
    await openSettings(page);
    const meanings = await page.locator(".what-if-form .field p.faint").allTextContents();
    expect({ fields: meanings.length, without: meanings.filter((text) => text === "") }).toEqual({
      fields: 16,
      without: [],
    });
    await field(page, "keepResults").fill("0");
    await field(page, "previewReads").selectOption("true");
    await play(page).click();
    await page.waitForURL(/what-if\?keepResults=0&previewReads=true$/);
    await expectAnswer(page, { settings: { keepResults: 0, previewReads: true } });
    expect(await figure(page, "keepResults")).toEqual(["4", "0", ""]);
    await page.locator("summary", { hasText: "Settings: keepResults 0, previewReads true" }).waitFor();
  });

  test("in the other layout costs what the store says", async () => {
    const page = await open(`${url}${view}?layout=pools&activePerTurn=1`);
    await expectAnswer(page, { layout: "pools", settings: { activePerTurn: 1 } });
  });

  test("shows how much it differs from the ledger's bill", async () => {
    const page = await open(`${url}${view}?prices=none`);
    await answer(page).waitFor();
    const [before, ledger] = [await played({}), await (store as Store).ledger("session:worked")];
    const off = before.bill.ours / ledger.bill - 1;
    const words = `${percent(Math.abs(off))} ${off < 0 ? "less" : "more"}`;
    await page.getByText(`${words} than the ${cost(ledger.bill, false)} of its ledger`).waitFor();
    const { calls } = await (store as Store).timeline("session:worked");
    const prompts = calls.flatMap(({ kinds }) => kinds?.prompt ?? []);
    const mean = Math.round(prompts.reduce((sum, tokens) => sum + tokens) / prompts.length);
    expect(before.series[0].contents.fixed).toBe(mean);
    await page.getByText(`takes ${whole(mean)} for system prompt and tools (the average of its calls)`).waitFor();
  });

  test("has dollars where all its calls have one price", async () => {
    const place = join(folder, "one-price");
    mkdirSync(place, { mode: 0o700 });
    const made = await workedStore(place, { turns: 2 });
    const other = await openStore({ path: made.path, readOnly: true });
    const { bill } = await other.replaySession(made.session, { ...asSet, window: 9_000 });
    await other.close();
    const page = await open(`${await serve("--store", made.path)}${view}?window=9000`);
    await answer(page).waitFor();
    expect((await figure(page, "bill"))[1]).toBe(cost((bill.ours * 3) / 1e6, true));
    expect((await figure(page, "bill, in uncached input tokens"))[1]).toBe(cost(bill.ours, false));
    await page.getByText("Dollars at $3 for a million input tokens").waitFor();
  });
});

describe.skipIf(noBrowser)("what is asked for", () => {
  test("is restored from the URL by link, reload, back and forward", async () => {
    const page = await open(`${url}${view}?prices=openai`);
    await expectAnswer(page, { prices: "openai" });
    await page.reload();
    await expectAnswer(page, { prices: "openai" });
    await field(page, "prices").selectOption("deepseek");
    await play(page).click();
    await page.waitForURL(/prices=deepseek$/);
    await expectAnswer(page, { prices: "deepseek" });
    await page.goBack();
    await expect.poll(() => field(page, "prices").inputValue()).toBe("openai");
    await expectAnswer(page, { prices: "openai" });
    await page.goForward();
    await expect.poll(() => field(page, "prices").inputValue()).toBe("deepseek");
    await expectAnswer(page, { prices: "deepseek" });
  });

  test.each([
    ["window", "0", "`window` must be a whole number from 1 to 100000000, is `0`"],
    ["window", "999999999999999999999", "is `999999999999999999999`"],
    ["window", "much", "is `much`"],
    ["keepResults", "-1", "`keepResults` must be a whole number from 0 to 100000000, is `-1`"],
    ["highWater", "1.5", "`highWater` must be a number above 0 and up to 1, is `1.5`"],
    ["extraShare", "a; b", "a number above 0"],
  ])("is refused at its field: %s %s", async (name, value, problem) => {
    const page = await open(url + view, {}, /status of 400/);
    await openSettings(page);
    await field(page, name).fill(value);
    await play(page).click();
    await page.locator(`#problem-${name}`, { hasText: problem }).waitFor();
    expect(await field(page, name).getAttribute("aria-invalid")).toBe("true");
    expect(await field(page, name).inputValue()).toBe(value);
    expect(await focused(page)).toBe(`ask-${name}`);
    expect(await answer(page).count()).toBe(0);
    expect(await violations(page)).toEqual([]);
    await field(page, name).fill("");
    await field(page, "prices").selectOption("none");
    await play(page).click();
    await expectAnswer(page, { prices: "none" });
  });

  test("is refused at every field that is wrong", async () => {
    const page = await open(`${url}${view}?keepResults=-1&activeTurns=0`, {}, /status of 400/);
    await page.locator("#problem-keepResults", { hasText: "is `-1`" }).waitFor();
    expect(await page.locator("#problem-activeTurns").textContent()).toContain("from 1 to 100000000, is `0`");
    await shoot(page, "what-if-refused");
  });

  test("is refused where there is no such thing to ask for", async () => {
    const page = await open(`${url}${view}?store=elsewhere`, {}, /status of 400/);
    await page.locator(".failure", { hasText: "`store` is not a setting of a what-if" }).waitFor();
    await page.goto(`${url}${view}?prices=gold`);
    await page.locator("#problem-prices", { hasText: "`prices` is `gold`; it must be one of anthropic" }).waitFor();
  });

  test("without a change is the session as it is set", async () => {
    const page = await open(url + view);
    await play(page).click();
    await page.getByRole("status").filter({ hasText: "(the same)" }).waitFor();
    expect(page.url()).toBe(url + view);
  });

  test("plays when the change is taken back", async () => {
    const page = await open(`${url}${view}?window=20000`);
    await expectAnswer(page, { window: 20_000 });
    await field(page, "window").fill("");
    await play(page).click();
    await page.getByRole("status").filter({ hasText: "(the same)" }).waitFor();
    expect(page.url()).toBe(url + view);
  });

  test("is chosen, played and walked by the keyboard alone", async () => {
    const page = await open(url + view);
    await field(page, "prices").waitFor();
    const tabTo = async (name: string) => {
      for (let step = 0; step < 40 && (await focused(page)) !== name; step += 1) {
        await page.keyboard.press("Tab");
      }
      expect(await focused(page)).toBe(name);
    };
    await tabTo("ask-window");
    await page.keyboard.type("30000");
    await tabTo("Settings: as they are set");
    await page.keyboard.press("Enter");
    await tabTo("ask-keepResults");
    await page.keyboard.type("2");
    await page.keyboard.press("Enter");
    await expectAnswer(page, { window: 30_000, settings: { keepResults: 2 } });
    await tabTo("Window over the calls");
    await page.keyboard.press("Home");
    await page.locator(".readout", { hasText: "call1" }).waitFor();
  });

  test("is played once, however often it is asked for", async () => {
    const page = await open(url + view);
    const asked: string[] = [];
    page.on("request", (request) => {
      if (request.url().includes("api/what-if")) {
        asked.push(request.url());
      }
    });
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route("**/api/what-if*", async (route) => {
      await held;
      await route.continue();
    });
    await field(page, "window").fill("40000");
    await play(page).click();
    await page.getByText("Playing 49 calls again, twice.").waitFor();
    expect(await page.getByRole("button", { name: "Playing …" }).isDisabled()).toBe(true);
    await field(page, "window").press("Enter");
    await shoot(page, "what-if-playing");
    expect(asked.length).toBe(1);
    await page.getByRole("link", { name: /Why does/ }).click();
    await page.getByRole("heading", { level: 1, name: /Why does/ }).waitFor();
    release();
    await page.goBack();
    await expectAnswer(page, { window: 40_000 });
  });
});

describe.skipIf(noBrowser)("the answer of a what-if", () => {
  const asked = "?prices=gemini&window=20000&keepResults=2";

  test.each(["light", "dark"] as const)("has no serious violation of accessibility in %s", async (colorScheme) => {
    const page = await open(url + view + asked, { colorScheme });
    await answer(page).waitFor();
    await openSettings(page);
    await shoot(page, `what-if-answer-${colorScheme}`);
    expect(await violations(page)).toEqual([]);
  });

  test("fits into 380 pixels", async () => {
    const page = await open(url + view + asked, { viewport: { width: 380, height: 800 } });
    await answer(page).waitFor();
    await shoot(page, "what-if-answer-380");
    await answer(page).scrollIntoViewIfNeeded();
    await shoot(page, "what-if-answer-380-table");
    expect(await overhang(page)).toBe(0);
    await openSettings(page);
    expect(await overhang(page)).toBe(0);
  });

  test("is not to be had in a saved page, which says so", async () => {
    const file = join(folder, "saved.html");
    const command = join(root, "bin", "palimpsest.js");
    execFileSync(pinnedNode(), [command, "open", "session:worked", "--store", path, "--html", file]);
    const page = await open(`${pathToFileURL(file)}${view}`);
    await page.locator(".failure", { hasText: "a saved page cannot play a session again" }).waitFor();
    await page.getByText("`palimpsest open` shows the store that it comes from.").waitFor();
    expect(await play(page).count()).toBe(0);
  });
});
