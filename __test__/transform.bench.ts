// `session.transformContext` per call, beside what Pi itself spends on every call: Node's `structuredClone` of the list.
// Each call brings one step (an assistant message with a tool call, and its result), as an agent at work does. Results go to
// target/bench, where scripts/bench.js reads them.
import "./bench-addon.ts";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
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

/** A conversation of about `length` messages that goes on by one step at a time; beyond a fifth more it starts again. */
class Conversation {
  readonly list: Message[] = [user("Run all tests.")];

  constructor(private readonly length: number) {
    while (this.list.length < length) {
      this.step();
    }
  }

  /** Adds a step; returns whether the conversation started again. */
  next(): boolean {
    const again = this.list.length > this.length * 1.2;
    if (again) {
      this.list.length = this.length;
    }
    this.step();
    return again;
  }

  private step(): void {
    this.list.push(...step(this.list.length, output(this.list.length)));
  }
}

describe.each([101, 1_001, 5_001])("at %d messages", (length) => {
  const ours = new Conversation(length);
  const plain = new Conversation(length);
  let folder: string;
  let store: Store;
  let session: Session;

  const open = async (number: number) => {
    session = await openSession(store, { ...defaults, sessionId: `bench ${length} ${number}` });
    await session.transformContext(ours.list, call);
  };
  let opened = 0;
  const next = async () => {
    if (ours.next()) {
      await session.close();
      opened += 1;
      await open(opened);
      ours.next();
    }
  };

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "palimpsest-bench-"));
    store = await openStore({ path: join(folder, "store.sqlite") });
    await open(opened);
  });

  afterAll(async () => {
    await session.close();
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test("a call", async ({ bench }) => {
    const result = (name: string) => ({ writeResult: `target/bench/${name}-${length - 1}.json` });
    const storage = await bench.compare(
      bench("transformContext", { ...result("transformContext"), beforeEach: next }, async () => {
        await session.transformContext(ours.list, call);
      }),
      bench("structuredClone", { ...result("structuredClone"), beforeEach: () => void plain.next() }, () => {
        structuredClone(plain.list);
      }),
      options,
    );
    expect(storage.get("transformContext").latency.samplesCount).toBeGreaterThanOrEqual(calls);
    expect(session.status().calls).toBeGreaterThan(1);
  });
});
