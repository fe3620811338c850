// The ledger by the addon and by the command: what goes in, what comes out.
import { describe, expect, test } from "vitest";
import type { Ledger, UsageReport } from "../index.js";
import { dollars as inDollars } from "../lib/figures.js";
import { desk, withSession } from "./command.ts";
import { rejection, session, step, store, user, wrong } from "./sessions.ts";

const claude = {
  provider: "anthropic",
  id: "claude-x",
  api: "anthropic-messages",
  cost: { input: 3, cacheRead: 0.3, cacheWrite: 3.75, tiers: [] },
  promptCache: { short: 300, long: 3_600 },
};

const report: UsageReport = { kind: "call", input: 10, cacheRead: 400, cacheWrite: 90, output: 7 };

describe("the ledger of a session", () => {
  test("has prices from the host's model data, and reports", async () => {
    const open = await session();
    const messages = [user("Run it.")];
    await open.transformContext(messages, { model: claude });
    await open.recordUsage(report);
    await open.transformContext([...messages, ...step(1, "done\n")], { model: claude });
    const ledger = await open.ledger();
    expect(ledger.prices).toMatchObject({ name: "model", prices: { read: 0.1, write: 1.25 }, usdPerMillion: 3 });
    expect(ledger.prices?.prices).toMatchObject({ reuse: "breakpoints", lifetimeSeconds: 300 });
    expect(ledger.perCall.map(({ warm }) => warm)).toEqual([false, true]);
    expect(ledger.perCall[0].reported).toMatchObject({ input: 10, cacheRead: 400, cacheWrite: 90, output: 7 });
    expect(ledger.perCall[0].reported?.cost).toBeCloseTo(10 + 40 + 112.5);
    expect(ledger.perCall[1].reported).toBeNull();
    expect(ledger.reported.calls).toBe(1);
    expect(open.status().billRatio).toBe(ledger.bill / ledger.plainBill);
  });

  test("has each call at the prices of its own model", async () => {
    const open = await session();
    const free = { ...claude, provider: "free", id: "f", cost: { input: 0, cacheRead: 0, cacheWrite: 0 } };
    const dear = { ...claude, id: "dear", cost: { input: 30, cacheRead: 3, cacheWrite: 37.5 } };
    const list = [user("Run it.")];
    const million = { ...report, input: 1_000_000, cacheRead: 0, cacheWrite: 0 };
    for (const [n, model] of [free, claude, dear].entries()) {
      await open.transformContext([...list], { model });
      await open.recordUsage(million);
      if (n === 0) {
        expect((await open.ledger()).dollars).toBeNull();
        expect(open.status()).toMatchObject({ billDollars: null, plainBillDollars: null });
      }
      list.push(...step(n + 1, "done\n"));
    }
    const { dollars, perCall, reported, prices } = await open.ledger();
    expect(prices?.usdPerMillion).toBe(30);
    expect(perCall.map(({ usdPerMillion }) => usdPerMillion)).toEqual([null, 3, 30]);
    expect(reported.calls).toBe(3);
    const cost = (of: "ours" | "plain") => (3 * perCall[1][of].cost + 30 * perCall[2][of].cost) / 1e6;
    expect(dollars).toMatchObject({ calls: 2, warming: 0, faults: 0 });
    // Not 3 × $30: each report at the prices of the model that answered.
    expect(dollars?.reported).toBeCloseTo(3 + 30);
    expect(dollars?.bill).toBeCloseTo(cost("ours"), 12);
    expect(dollars?.plainBill).toBeCloseTo(cost("plain"), 12);
    expect(open.status()).toMatchObject({ billDollars: dollars?.bill, plainBillDollars: dollars?.plainBill });
  });

  test("takes long retention and the user's own prices into account", async () => {
    const long = await session();
    await long.transformContext([user("x")], { model: { ...claude, cacheRetention: "long" } });
    expect((await long.ledger()).prices?.prices).toMatchObject({ write: 2, lifetimeSeconds: 3_600 });
    const own = await session({ settings: { prices: { "anthropic/*": { read: 0.5, write: 1 } } } });
    await own.transformContext([user("x")], { model: claude });
    expect((await own.ledger()).prices).toMatchObject({ name: "own", prices: { read: 0.5, write: 1 } });
  });

  test("keeps reports of other calls out of its own calls", async () => {
    const open = await session();
    await open.transformContext([user("x")]);
    await open.recordUsage({ ...report, call: 0 });
    await open.recordUsage({ ...report, kind: "cache_warm", id: "w", time: 5 });
    await open.recordUsage({ ...report, kind: "cache_warm", id: "w", time: 5 });
    const ledger = await open.ledger();
    expect(ledger.perCall[0].reported).toBeNull();
    expect(ledger.reported.calls).toBe(1);
    expect(ledger.perCall[0].warming.requests).toBe(1);
    expect(ledger.bill).toBeCloseTo(ledger.ours.cost + ledger.warming.cost);
  });

  test("is the same from the store once the session is closed", async () => {
    const opened = await store();
    const open = await session({}, opened);
    await open.transformContext([user("x")]);
    await open.recordUsage(report);
    const before = await open.ledger();
    await open.close();
    expect(await opened.ledger("session:s")).toEqual(before);
  });

  test("refuses malformed reports and unknown sessions", async () => {
    const open = await session();
    for (const odd of [5, {}, { ...report, kind: "lunch" }, { ...report, input: -1 }, { ...report, call: -1 }]) {
      expect((await rejection(() => open.recordUsage(wrong(odd)))).code).toBe("INVALID_ARGUMENT");
    }
    const opened = await store();
    expect((await rejection(() => opened.ledger("session:nobody"))).code).toBe("UNKNOWN_NAME");
    expect((await rejection(() => opened.ledger(wrong(5)))).code).toBe("INVALID_ARGUMENT");
  });
});

describe("palimpsest ledger", () => {
  test("prints dollars, of the calls whose price is known", async () => {
    const at = desk();
    const opened = await store(at.store);
    const open = await session({}, opened);
    await open.transformContext([user("Run it.")]);
    await open.transformContext([user("Run it."), ...step(1, "done\n")], { model: claude });
    const { dollars } = await open.ledger();
    await open.close();
    const { stdout } = at.run("ledger", "session:s");
    const [bill, plain] = [dollars?.bill ?? 0, dollars?.plainBill ?? 0].map(inDollars);
    expect(stdout).toContain(`\ndollars   ${bill}; plain ${plain}, of 1 of 2 calls\n`);
  });

  test("prints sums, or every call", async () => {
    const at = desk();
    await withSession(at);
    const { bill, plainBill, perCall } = at.json<Ledger>("ledger", "session:s");
    expect(perCall).toHaveLength(2);
    const sums = at.run("ledger", "session:s");
    expect(sums).toMatchObject({ status: 0, stderr: "" });
    expect(sums.stdout).toMatch(
      /^calls +2\nprices +openai: a written token costs 1, a cached one 0\.1 of an uncached one\n/,
    );
    expect(sums.stdout).toContain(
      `bill      ${Math.round(bill)} uncached tokens; plain ${Math.round(plainBill)} uncached tokens, ratio 1.000\n`,
    );
    const rows = at.run("ledger", "session:s", "--calls").stdout.trimEnd().split("\n");
    expect(rows.map((row) => row.split("\t").slice(0, 3))).toEqual([
      ["1", "0", "cold"],
      ["2", "0", "warm"],
    ]);
    // Nobody said what a token costs.
    expect(sums.stdout).not.toContain("dollars");
    expect(at.failure("ledger", "nobody")).toMatchObject({ status: 3, code: "UNKNOWN_NAME" });
  });
});
