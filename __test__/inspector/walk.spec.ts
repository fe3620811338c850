// A person at work with the inspector in a real browser: from the list to a session, over its charts to a call, and from call to call.
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import type { SessionView } from "../../inspector/protocol.js";
import { noBrowser, open, privateFolder, serve, shoot } from "./browser.ts";
import { workedStore } from "./stores.ts";

const folder = privateFolder();
const session = "#/session/session%3Aworked";
const calls = 49;
let url = "";

beforeAll(async () => {
  if (!noBrowser) {
    const { path } = await workedStore(folder);
    url = await serve("--store", path);
  }
});

const chart = (page: Page) => page.getByRole("slider", { name: "Window over the calls" });
const heading = (page: Page, call: number) =>
  page.getByRole("heading", { level: 1, name: new RegExp(`^Call ${call}\\b`) }).waitFor();

/** A session with as many calls: its own, over and over. */
function lengthened({ info, ledger, timeline }: SessionView, count: number): SessionView {
  const repeated = <Call extends object>(given: Call[]) =>
    Array.from({ length: count }, (_, at) => ({ ...given[at % given.length], number: at + 1 }));
  return {
    info: { ...info, calls: count },
    ledger: { ...ledger, calls: count, perCall: repeated(ledger.perCall) },
    timeline: { ...timeline, calls: repeated(timeline.calls) },
  };
}

// What moves by itself, and not because of the person: https://wicg.github.io/layout-instability/
const countShifts = `globalThis.shifted = 0;
new PerformanceObserver((list) => {
  for (const { value, hadRecentInput } of list.getEntries()) {
    globalThis.shifted += hadRecentInput ? 0 : value;
  }
}).observe({ type: "layout-shift", buffered: true });`;

describe.skipIf(noBrowser)("a session's charts", () => {
  test("all show the call under the pointer", async () => {
    const page = await open(url + session);
    const box = await chart(page).boundingBox();
    await page.mouse.move((box?.x ?? 0) + 400, (box?.y ?? 0) + 100);
    const call = await chart(page).getAttribute("aria-valuenow");
    expect(Number(call)).toBeGreaterThan(1);
    expect(Number(call)).toBeLessThan(calls);
    for (const name of ["What happened at the calls", "Bill over the calls"]) {
      expect(await page.getByRole("slider", { name }).getAttribute("aria-valuenow")).toBe(call);
    }
    await page.locator(".readout", { hasText: `call${call}` }).waitFor();
    await shoot(page, "session-pointed");
  });

  test("can be walked by keyboard, and Enter opens an event's call", async () => {
    const page = await open(url + session);
    await chart(page).focus();
    await page.keyboard.press("Home");
    expect(await chart(page).getAttribute("aria-valuenow")).toBe("1");
    await page.keyboard.press("ArrowRight");
    expect(await chart(page).getAttribute("aria-valuetext")).toMatch(/^call 2, window [\d,]+, /);
    await page.keyboard.press("Shift+ArrowRight");
    await page.locator(".readout", { hasText: "File: bin/commands/sessions.js, edited by the model" }).waitFor();
    await page.keyboard.press("Enter");
    await heading(page, 5);
    await page.goBack();
    await page.locator(".readout", { hasText: "call5" }).waitFor();
  });

  test("have the reason of an epoch in words", async () => {
    const page = await open(url + session);
    await chart(page).focus();
    await page.keyboard.press("Home");
    const readout = page.locator(".readout");
    const reason = /Epoch: keeping \d+ tokens had cost as much as sending the rest anew/;
    for (let step = 1; step < calls && !reason.test((await readout.textContent()) ?? ""); step += 1) {
      await page.keyboard.press("ArrowRight");
    }
    await page.locator(".readout", { hasText: reason }).waitFor();
  });

  test("show fewer calls when they are dragged over, and all again", async () => {
    const page = await open(url + session);
    const box = (await chart(page).boundingBox()) ?? { x: 0, y: 0 };
    await page.mouse.move(box.x + 300, box.y + 80);
    await page.mouse.down();
    await page.mouse.move(box.x + 600, box.y + 80, { steps: 5 });
    await page.mouse.up();
    await shoot(page, "session-zoomed");
    expect(page.url()).toContain(session);
    await chart(page).press("Home");
    expect(await chart(page).getAttribute("aria-valuenow")).toBe("1");
    await page.getByRole("button", { name: "All: show every call" }).click();
    await page.mouse.move(box.x + 1_200, box.y + 80);
    expect(await chart(page).getAttribute("aria-valuenow")).toBe(String(calls));
  });

  test("and the table of 5,000 calls render only visible rows", async () => {
    const page = await open(url);
    await page.route("**/api/session?*", async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: lengthened(await response.json(), 5_000) });
    });
    await page.addInitScript({ content: countShifts });
    await page.goto(`${url}${session}`);
    await page.reload();
    const rows = page.getByRole("table", { name: "Calls" });
    await page.getByText(" · 5,000 calls").waitFor();
    await rows.scrollIntoViewIfNeeded();
    for (let step = 0; step < 20; step += 1) {
      await rows.evaluate((list) => list.scrollBy(0, list.scrollHeight / 20));
      await page.evaluate("new Promise(requestAnimationFrame)");
    }
    await rows.getByRole("link", { name: "5000", exact: true }).waitFor();
    expect(await page.locator("main *").count()).toBeLessThan(2_000);
    // What counts as good is a tenth: https://web.dev/articles/cls
    expect(await page.evaluate("shifted")).toBeLessThan(0.01);
  });

  test("are beside a table whose rows link to the calls", async () => {
    const page = await open(url + session);
    const row = page.getByRole("table", { name: "Calls" }).getByRole("row").nth(5);
    await row.scrollIntoViewIfNeeded();
    expect(await row.textContent()).toContain("File: bin/commands/sessions.js, edited by the model");
    await row.getByRole("link").click();
    await heading(page, 5);
  });
});

describe.skipIf(noBrowser)("a call", () => {
  test("leads to the next and to the one before", async () => {
    const page = await open(`${url}${session}/call/20`);
    await page.getByRole("link", { name: /Next call/ }).click();
    await heading(page, 21);
    await page.getByRole("link", { name: /Call before/ }).click();
    await heading(page, 20);
    await page.goto(`${url}${session}/call/${calls}`);
    await heading(page, calls);
  });

  test("shows its messages as sent, checked, with reasons", async () => {
    const page = await open(`${url}${session}/call/33`);
    await page.getByText("hash checked").waitFor();
    const text = () => page.locator("main").textContent();
    await expect.poll(text).toContain("this line stands for it");
    await expect.poll(text).toMatch(/since call \d+, when epoch 1 began/);
    await expect.poll(text).toContain("$0.0");
  });

  test("shows what left, is new or came back since the last call", async () => {
    const page = await open(`${url}${session}/call/42?tab=before`);
    const text = () => page.locator("main").textContent();
    await page.locator("main", { hasText: "Since call 41" }).waitFor();
    await expect.poll(text).toMatch(/left.*new/s);
    await page.goto(`${url}${session}/call/23?tab=before`);
    await heading(page, 23);
    await expect.poll(text).toContain("new");
  });

  test("links to an object, which links to the calls that showed it", async () => {
    const page = await open(`${url}${session}/call/33`);
    await page
      .getByRole("link", { name: /bin\/commands\/sessions\.js/ })
      .first()
      .click();
    await page.getByRole("heading", { level: 1, name: "bin/commands/sessions.js" }).waitFor();
    const link = page.getByRole("link", { name: /^\d+$/ }).first();
    const number = Number(await link.textContent());
    expect(number).toBeGreaterThan(1);
    await link.click();
    await heading(page, number);
  });
});
