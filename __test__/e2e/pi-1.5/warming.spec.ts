// Pi 1.5 keeps caches warm between runs by repeating the last request. What it kept warm is not taken for cold, and what that costs
// stands on both sides of the ledger. The cache here lives 11 seconds, the least that Pi warms, so this test takes as long.
import { setTimeout as wait } from "node:timers/promises";
import { expect, test } from "vitest";
import { startPiRpc } from "../../../scripts/lib/pi.js";
import { extension, ledgerOf } from "../support.ts";
import { startThreads } from "./thread-server.ts";

const lifetimeSeconds = 11;
/** So much that to keep it warm is worth it. */
const usage = { input_tokens: 10, cache_read_input_tokens: 900_000 };
const model = {
  cost: { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 },
  promptCache: { short: lifetimeSeconds },
};

/** Two turns with more time between them than the cache lives; resolves to the ledger and the requests. */
async function play(cacheWarming: string) {
  const { requests, sandbox } = await startThreads(
    [{ tool: "read", args: { path: "a.txt" } }, { text: "One." }, { text: "Two." }],
    {
      files: { "a.txt": "a line\n".repeat(40) },
      model,
      usage,
      settings: { cacheWarming },
      palimpsest: { prices: undefined },
    },
  );
  const pi = startPiRpc(sandbox, ["-e", extension]);
  await pi.prompt("Go on.");
  await wait((lifetimeSeconds + 1) * 1_000);
  await pi.prompt("And again.");
  expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });
  return { requests, ledger: ledgerOf(sandbox) };
}

test("a cache that Pi warms stays warm, and others get cold", async () => {
  // Side by side, since each takes longer than the cache lives.
  const [{ requests, ledger }, cold] = await Promise.all([play("idle"), play("streaming")]);
  const warming = requests.filter(({ warms }) => warms);
  expect(warming.length).toBeGreaterThan(2);
  // They repeat the last request, with our breakpoint or without, and touch no thread.
  const [before] = requests.filter(({ warms }) => !warms).slice(1);
  for (const { body, kind } of warming) {
    expect(kind).toBeUndefined();
    expect(JSON.stringify(body.messages)).toContain("a line\\na line");
    expect(body.system ?? null).toEqual(requests[0].body.system);
  }
  expect(before.kind).toBe("continue");
  expect(ledger.perCall.map(({ warm }) => warm)).toEqual([false, true, true]);
  // Pi reports a request once its answer is whole: one that is under way when the person writes, it gives up.
  expect([warming.length, warming.length - 1]).toContain(ledger.warming.requests);
  expect(ledger.warming.cost).toBeGreaterThan(0);
  expect(ledger.warming.plainCost).toBeGreaterThan(0);
  expect(ledger.bill).toBeCloseTo(ledger.ours.cost + ledger.warming.cost, 3);
  expect(ledger.plainBill).toBeCloseTo(ledger.plain.cost + ledger.warming.plainCost, 3);

  expect(cold.requests.filter(({ warms }) => warms)).toEqual([]);
  expect(cold.ledger.perCall.map(({ warm }) => warm)).toEqual([false, true, false]);
  expect(cold.ledger.warming.requests).toBe(0);
});
