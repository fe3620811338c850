// `session.transformContext` per call, beside what Pi itself spends on every call: Node's `structuredClone` of the list.
// Each call brings one step (an assistant message with a tool call, and its result), as an agent at work does. Results go to
// target/bench, where scripts/bench.js reads them.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Message, openSession, openStore, type Session, type Store } from "../index.js";
import { defaults, step, user } from "./sessions.ts";

const calls = 60;
const call = { model: { provider: "bench", id: "wide", contextWindow: 100_000_000 } };
const options = { iterations: calls, time: 0, warmup: true, warmupIterations: 3, warmupTime: 0 };

/** About 2 KiB of text that is another in every step. */
function output(number: number): string {
  return Array.from({ length: 40 }, (_, line) => `test module_${number}::case_${line} ... ok, ${line} ms\n`).join("");
}

describe.each([100, 1_000, 5_000])("at %d messages", (length) => {
  let [store, session]: [Store?, Session?] = [];
  const list: Message[] = [user("Run all tests.")];
  const grow = () => list.push(...step(list.length, output(list.length)));

  beforeAll(async () => {
    while (list.length < length) {
      grow();
    }
    store = await openStore({ path: ":memory:" });
    session = await openSession(store, { ...defaults, sessionId: `bench ${length}` });
    await session.transformContext(list, call);
  });

  afterAll(async () => {
    await session?.close();
    await store?.close();
  });

  test("a call", async ({ bench }) => {
    const result = (name: string) => ({ writeResult: `target/bench/${name}-${length}.json` });
    const storage = await bench.compare(
      bench("transformContext", { ...result("transformContext"), beforeEach: () => void grow() }, async () => {
        await session?.transformContext(list, call);
      }),
      bench("structuredClone", result("structuredClone"), () => void structuredClone(list)),
      options,
    );
    expect(storage.get("transformContext").latency.samplesCount).toBeGreaterThanOrEqual(calls);
    expect(session?.status().calls).toBeGreaterThan(calls);
  });
});
