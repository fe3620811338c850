// One set of figures: what plain would have sent, what it cost, and what the model missed, are the same wherever a person or a program
// reads them.
import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import { type Message, openSession, type Session, type Store, tools } from "../index.js";
import { Course } from "../inspector/page/charts/series.js";
import { billOf } from "../inspector/server/shown.js";
import { shortCount } from "../lib/figures.js";
import { contextReport } from "../lib/report.js";
import { type Desk, desk } from "./command.ts";
import { patient, step, store, user } from "./sessions.ts";

const model = {
  provider: "p",
  id: "m",
  contextWindow: 200_000,
  api: "openai-completions",
  cost: { input: 3, cacheRead: 0.3, cacheWrite: 0 },
};
const info = { systemPrompt: "You help.", tools: [], model };
const settings = { ...patient, previewTokens: 0, collapseTokens: 100_000 };

const lines = (name: string) => Array.from({ length: 400 }, (_, at) => `line ${at} of ${name}`).join("\n");

let now = 1;
/** Messages in the order in which they are made. */
const later = (messages: Message[]): Message[] => messages.map((message) => ({ ...message, timestamp: now++ }));

async function opened(inStore: Store): Promise<Session> {
  return openSession(inStore, { harness: "test", sessionId: "s", cwd: tmpdir(), settings });
}

async function ask(session: Session, list: Message[], name: string, args: unknown): Promise<void> {
  const id = `own_${now}`;
  const tool = tools().find((known) => known.name === name);
  const answer = await tool?.execute(session, id, args);
  const call = { type: "toolCall", id, name, arguments: args };
  const result = { role: "toolResult", toolCallId: id, toolName: name, content: answer?.content, isError: false };
  list.push(...later([{ role: "assistant", content: [call], stopReason: "toolUse" }, result] as Message[]));
}

/** Asserts that every view has the same figures; returns the ledger. */
async function sameEverywhere(session: Session, inStore: Store, at?: Desk) {
  const [status, ledger] = [session.status(), await session.ledger()];
  const newest = ledger.perCall.at(-1);
  const plain = newest?.plain.sent ?? 0;
  expect(plain).toBeGreaterThan(0);
  expect(status.plainRequestTokens).toBe(plain);
  expect(await inStore.ledger(session.id)).toEqual(ledger);
  const { size } = await inStore.recordedCall(session.id);
  expect(size).toMatchObject({ plain, sent: newest?.ours.sent, extra: newest?.extra });
  const timeline = await inStore.timeline(session.id);
  const course = new Course({ ledger, timeline } as ConstructorParameters<typeof Course>[0]);
  expect(course.window(course.calls.length - 1)).toMatchObject({ plain });
  const { sum } = course.bills[course.bills.length - 1];
  const bills = [ledger.dollars?.bill ?? 0, ledger.dollars?.plainBill ?? 0];
  expect(sum.ours).toBeCloseTo(bills[0], 9);
  expect(sum.plain).toBeCloseTo(bills[1], 9);
  expect([status.billDollars, status.plainBillDollars]).toEqual(bills);
  expect(await inStore.bill(session.id)).toEqual(billOf(ledger));
  expect(billOf(ledger)).toMatchObject({ window: { plain }, faults: status.faults.count });
  expect(status.faults).toEqual(ledger.faults);
  const report = contextReport(status, ledger, { host: "Pi", layout: "log", thrift: "balanced", faultTokens: 0 });
  expect(report).toContain(`; plain Pi ${shortCount(plain)}\n`);
  expect(report.includes("never had to ask")).toBe(ledger.faults.count === 0);
  const saved = ledger.epochs.reduce((all, { saved: one }) => all + one, ledger.savedOtherwise);
  expect(saved).toBeCloseTo(ledger.plainBill - ledger.bill, 6);
  if (at !== undefined) {
    expect(at.run("context", session.id).stdout).toMatch(
      new RegExp(`^tokens +${newest?.ours.sent} sent, ${plain} plain`, "m"),
    );
    expect(at.run("ledger", session.id, "--calls").stdout).toContain(`\t${plain}\t`);
  }
  return ledger;
}

test("all views agree on every way through a session", {
  timeout: 60_000,
}, async () => {
  const at = desk();
  const inStore = await store(at.store);
  let session = await opened(inStore);
  let list = later([user("go"), ...step(1, lines("one"))]);
  const send = () => session.transformContext(list, info);
  await send();
  const before = await sameEverywhere(session, inStore);

  await ask(session, list, "activate", { name: "t1", lines: "3-9" });
  await send();
  const extra = await sameEverywhere(session, inStore, at);
  expect(extra.perCall.map(({ extra: is }) => is)).toEqual([false, true]);
  expect(extra.perCall[1].plain).toEqual({ sent: before.perCall[0].plain.sent, cached: 0, written: 0, cost: 0 });
  expect(extra.plain).toEqual(before.plain);

  const whole = [...list];
  list = [...list.slice(0, 3), ...later([user("another way")])];
  await send();
  expect((await sameEverywhere(session, inStore)).left.calls).toBe(1);

  list = [...whole, ...later(step(2, lines("two")))];
  session.recordFailedCall("DISK_FULL");
  list.push(...later(step(3, lines("three"))));
  await send();
  const failed = await sameEverywhere(session, inStore);
  expect(failed.hostCalls).toMatchObject({ calls: 1, failed: 1 });
  expect(failed.calls).toBe(failed.perCall.length + 1);

  await session.close();
  list.push(...later([...step(4, lines("four")), ...step(5, lines("five"))]));
  session = await opened(inStore);
  await session.transformContext(list, { ...info, model: { ...model, id: "other" } });
  const off = await sameEverywhere(session, inStore, at);
  expect(off.hostCalls.calls - off.hostCalls.failed).toBe(1);
  expect(off.hostCalls.cost).toBeGreaterThan(failed.hostCalls.cost);
  await session.close();
});

test("a model that missed something asked for something", async () => {
  const inStore = await store();
  const session = await openSession(inStore, {
    harness: "test",
    sessionId: "s",
    cwd: tmpdir(),
    settings: { ...patient, previewTokens: 0, collapseTokens: 50, keepResults: 1, prices: "none" },
  });
  const list = later([user("go")]);
  for (let number = 1; number < 16; number += 1) {
    await session.transformContext(list, info);
    list.push(...later(step(number, lines(`run ${number}`))));
  }
  await session.transformContext(list, info);
  expect((await sameEverywhere(session, inStore)).faults.count).toBe(0);
  await ask(session, list, "activate", { name: "t1" });
  expect(session.status().faults).toMatchObject({ count: 1, kinds: { asked: { count: 1 } } });
  await session.transformContext(list, info);
  const { faults, bill, ours, warming, perCall } = await sameEverywhere(session, inStore);
  expect(faults.kinds.asked.count).toBe(1);
  expect(faults.cost).toBeCloseTo(perCall[perCall.length - 1].ours.cost, 6);
  expect(bill).toBeCloseTo(ours.cost + warming.cost + faults.charged, 6);
  list.push(...later(step(2, lines("run 2"))));
  await session.transformContext(list, info);
  expect((await sameEverywhere(session, inStore)).faults.kinds).toMatchObject({
    asked: { count: 1 },
    repeated: { count: 1 },
  });
  await session.close();
});
