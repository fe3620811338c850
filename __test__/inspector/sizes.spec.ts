// How large requests are: one figure for each, ours and plain's, wherever it is shown; and where plain would have compacted, what it had.
import { beforeAll, describe, expect, test } from "vitest";
import { openStore, type Store } from "../../index.js";
import { changesAgainstPlain, sums } from "../../inspector/page/call/changes.js";
import { Course } from "../../inspector/page/charts/series.js";
import type { SessionView } from "../../inspector/protocol.js";
import { Answers } from "../../inspector/server/answers.js";
import { dollars, shortCount } from "../../lib/figures.js";
import { noBrowser, open, privateFolder, serve, shoot } from "./browser.ts";
import { type Made, narrowStore } from "./stores.ts";

let made: Made;
let store: Store;
let answers: Answers;
let session: SessionView;
let course: Course;
/** The last call, before which plain compacted. */
let last = 0;

beforeAll(async () => {
  made = await narrowStore(privateFolder());
  store = await openStore({ path: made.path, readOnly: true });
  const around = { settings: {}, agentDir: privateFolder(), version: "test", session: null };
  answers = new Answers({ ...around, store, refreshed: (work) => work(store), written: (work) => work(store) });
  session = await answers.session(made.session);
  course = new Course(session);
  last = course.numbers.at(-1) ?? 0;
  return () => store.close();
});

test("each call has the same size in its view, ledger and charts", async () => {
  const billed = session.ledger.perCall.filter(({ number }) => number % 4 === 1 || number === last);
  expect(billed.length).toBeGreaterThan(8);
  for (const { number, ours, plain } of billed) {
    const { call, messages } = await answers.call(made.session, number);
    expect(call.size).toMatchObject({ sent: ours.sent, plain: plain.sent });
    const window = course.window(number - 1);
    expect([Math.round(window?.ours ?? 0), window?.plain]).toEqual([ours.sent, call.size?.plain]);
    const pieces = messages.reduce((sum, { about }) => sum + about.tokens, call.promptTokens ?? 0);
    expect(Math.abs(pieces - ours.sent)).toBeLessThan(messages.length + 2);
  }
  expect(session.ledger.perCall.some(({ ours }) => ours.sent > 0)).toBe(true);
});

test("a session's table has each call's cost as the ledger has it", () => {
  expect(session.ledger.hostCalls.cost).toBeGreaterThan(10_000);
  for (const { number, ours, plain, usdPerMillion } of session.ledger.perCall) {
    const price = (usdPerMillion ?? 0) / 1e6;
    expect(course.bills[number - 1]).toMatchObject({ ours: ours.cost * price, plain: plain.cost * price });
  }
  expect(course.bills.at(-1)?.sum.ours).toBeCloseTo(session.ledger.dollars?.bill ?? 0, 6);
});

test("plain's line has no hole where a call failed", () => {
  expect(session.timeline.calls.some(({ kinds }) => kinds === null)).toBe(true);
  const [plain] = course.windowSeries().filter(({ name }) => name === "plain");
  expect(plain.values).toHaveLength(course.calls.length);
  expect(plain.values).not.toContain(null);
});

test("plain's request fits its window, unlike the host's list", async () => {
  const { call } = await answers.call(made.session, last);
  expect(session.ledger.plainCompactions).toBeGreaterThan(0);
  const room = 56_000 - 16_384;
  expect(call.plainTokens).toBeGreaterThan(room);
  expect(call.size?.plain).toBeLessThanOrEqual(room);
});

test("messages that plain compacted are not in its request", async () => {
  const { call, messages } = await answers.call(made.session, last);
  const plain = await answers.plain(made.session, last);
  const from = call.size?.plainFrom ?? null;
  const changes = changesAgainstPlain(messages, plain, from);
  expect(from).toBeGreaterThan(0);
  for (const { fate, old, new: now, count } of changes) {
    const pieces = now === null ? [plain.messages[Number(old)]] : messages.slice(now, now + count);
    const isGone = pieces.some(({ about }) => about.position !== null && about.position < Number(from));
    expect(isGone).toBe(["stays", "neither"].includes(fate) || (fate === "new" && old !== null));
  }
  const counts = [...sums(changes, messages, plain).values()].map(({ count }) => count);
  const ofOurs = changes.reduce((sum, { new: now, count }) => sum + (now === null ? 0 : count), 0);
  expect(ofOurs).toBe(messages.length);
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(changes.reduce((sum, { count }) => sum + count, 0));
});

describe.skipIf(noBrowser)("in the browser", () => {
  test("the newest request has the same size in all views", async () => {
    const page = await open(await serve("--store", made.path));
    const { ours, plain } = session.ledger.perCall.at(-1) ?? { ours: { sent: 0 }, plain: { sent: 0 } };
    const [sent, other] = [shortCount(ours.sent), shortCount(plain.sent)];
    await page.locator(".sessions-list .rows", { hasText: `${sent} / ${other}` }).waitFor();
    await page.locator(".sessions-list .rows a").first().click();
    await page.locator(".figures dt").first().waitFor();
    expect((await page.locator(".figures dt").allTextContents()).slice(0, 3)).toEqual([
      "input cost",
      "plain pi would have cost",
      "the model missed something",
    ]);
    await page.locator(".figures", { hasText: `newest request${sent} tokensplain ${other}` }).waitFor();
    // The bill holds a call that failed; the provider reported the others.
    const { bill, reported, estimated, calls } = session.ledger.dollars ?? {
      bill: 0,
      reported: 0,
      estimated: 0,
      calls: 0,
    };
    const report = `the provider reports ${dollars(reported)} for ${calls - 1} calls, estimated before at ${dollars(estimated)}`;
    await page.locator(".figures", { hasText: `input cost${dollars(bill)}` }).waitFor();
    await page.locator(".figures", { hasText: `less than plain; ${report}` }).waitFor();
    const alone = `1 call${dollars(session.ledger.hostCalls.dollars)} of the input cost; 1 because something failed`;
    await page.locator(".figures", { hasText: `sent by the host alone${alone}` }).waitFor();
    await shoot(page, "session-bill");
    await page.locator(".readout", { hasText: `window${ours.sent.toLocaleString("en")}` }).waitFor();
    await page.getByRole("link", { name: "Newest call" }).click();
    await page.locator(".figures", { hasText: `request as sent${sent} tok` }).waitFor();
    await page.locator(".figures", { hasText: `plain would have sent${other} tokcompacted, of` }).waitFor();
    await page.getByRole("tab", { name: "Against plain" }).click();
    await page.getByText("The plain host would have compacted before").waitFor();
    await shoot(page, "call-compacted");
    await page
      .getByRole("button", { name: /that neither request has/ })
      .first()
      .click();
    await page
      .locator(".chip.fate", { hasText: /^in neither$/ })
      .first()
      .waitFor();
  });
});
