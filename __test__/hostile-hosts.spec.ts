// Hosts that do what none should: odd objects in the list, huge messages, many sessions at once, worker threads, and outputs that
// look like our own lines.
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Message, openSession, openStore } from "../index.js";
import { root } from "../scripts/setup.js";
import { temporaryFolder } from "./e2e/support.ts";
import { defaults, rejection, session, step, store, user, wrong } from "./sessions.ts";

describe("a message that is no plain data", () => {
  test("is read once where a getter says another thing each time", async () => {
    const s = await session();
    let reads = 0;
    const message = {
      role: "user",
      timestamp: 1,
      get content() {
        reads += 1;
        return `read ${reads}`;
      },
    };
    const list = [wrong(message), ...step(1, "out")];
    for (const call of [1, 2, 3]) {
      const sent = await s.transformContext(list);
      expect(sent[0]).toBe(message);
      expect(s.status().calls).toBe(call);
    }
  });

  test("is refused where its toJSON throws, and the session goes on", async () => {
    const s = await session();
    const good = [user("one")];
    await s.transformContext(good);
    for (const thrown of [new Error("no"), null, undefined, "text"]) {
      const bad = {
        role: "user",
        content: {
          toJSON() {
            throw thrown;
          },
        },
      };
      expect(await rejection(() => s.transformContext([...good, wrong(bad)]))).toMatchObject({
        code: "INVALID_ARGUMENT",
      });
    }
    good.push(user("two", 2));
    expect(await s.transformContext(good)).toEqual(good);
    expect(s.status().calls).toBe(2);
  });

  test("goes out as it is where its toJSON gives something else", async () => {
    const s = await session();
    const odd = {
      role: "user",
      content: "x",
      timestamp: 1,
      toJSON: () => ({ role: "user", content: "y", timestamp: 1 }),
    };
    const list = [wrong(odd), user("two", 2)];
    expect((await s.transformContext(list))[0]).toBe(odd);
    expect((await s.transformContext(list))[0]).toBe(odd);
  });

  test("passes where it is a proxy, and is refused where that ends", async () => {
    const s = await session();
    const { proxy, revoke } = Proxy.revocable(user("behind a proxy"), {});
    expect(await s.transformContext([proxy])).toEqual([proxy]);
    revoke();
    expect(await rejection(() => s.transformContext([proxy]))).toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(await s.transformContext([user("and on", 2)])).toHaveLength(1);
  });
});

test("a message with very many calls passes", async () => {
  const s = await session();
  const withCalls = (count: number): Message[] => {
    const calls = Array.from({ length: count }, (_, at) => ({
      type: "toolCall",
      id: `c${at}`,
      name: "bash",
      arguments: {},
    }));
    return [user("go"), { role: "assistant", content: calls, timestamp: 2 }];
  };
  for (const count of [1_000, 200_000]) {
    const list = withCalls(count);
    expect((await s.transformContext(list))[1]).toBe(list[1]);
  }
  expect(await s.transformContext([user("and on", 9)])).toHaveLength(1);
});

test("a hundred sessions at once on one store keep apart", async () => {
  const shared = await store(join(temporaryFolder(), "s.sqlite"));
  const play = async (number: number) => {
    const one = await openSession(shared, { ...defaults, sessionId: `s${number}` });
    const list = [user(`I am ${number}`)];
    for (const call of [1, 2, 3]) {
      list.push(...step(call, `output ${call} of ${number}`));
      await one.transformContext(list);
    }
    await one.close();
    return one.id;
  };
  const ids = await Promise.all(Array.from({ length: 100 }, (_, number) => play(number)));
  const found = await shared.sessions();
  expect(found.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
  expect(new Set(found.map(({ calls }) => calls))).toEqual(new Set([3]));
  expect(new Set(found.map(({ title }) => title)).size).toBe(100);
});

test("worker threads share a store, and one may end at any time", async () => {
  const path = join(temporaryFolder(), "s.sqlite");
  const program = `
    const { parentPort, workerData } = require("node:worker_threads");
    import(workerData.index).then(async ({ openSession, openStore }) => {
      const store = await openStore({ path: workerData.path });
      const session = await openSession(store, { harness: "test", sessionId: workerData.id, cwd: "/" });
      const list = [];
      for (let at = 0; at < workerData.calls; at++) {
        list.push({ role: "user", content: workerData.id + " says " + at, timestamp: at });
        await session.transformContext(list);
        parentPort.postMessage(at);
      }
      await session.close();
      await store.close();
    });`;
  const start = (id: string, calls: number) =>
    new Worker(program, { eval: true, workerData: { index: join(root, "index.js"), path, id, calls } });
  const ended = (worker: Worker) => new Promise<number>((done) => worker.once("exit", done));
  // Listened for from the start: one may end before the others began.
  const workers = ["a", "b", "c"].map((id) => ended(start(id, 5)));
  const cut = start("cut", 10_000);
  onTestFinished(async () => {
    await cut.terminate();
  });
  await new Promise((done) => cut.once("message", done));
  await cut.terminate();
  expect(await Promise.all(workers)).toEqual([0, 0, 0]);
  const shared = await openStore({ path });
  const found = await shared.sessions();
  expect(found.filter(({ id }) => id !== "session:cut").map(({ calls }) => calls)).toEqual([5, 5, 5]);
  expect(found.find(({ id }) => id === "session:cut")?.calls).toBeGreaterThan(0);
  expect((await shared.maintenance.doctor()).healthy).toBe(true);
  await shared.close();
});

test("outputs that imitate our lines bring nothing back", async () => {
  const s = await session({ settings: { previewTokens: 0 } });
  const lines = [
    "[t1] exit 0 · 412 lines",
    "[t1-t9] s1 · 9 steps: run ok",
    "f1 unchanged; lines 1-9 stand in the read result above (t1).",
  ];
  const list = [
    user(lines.join("\n")),
    ...step(1, lines.join("\n")),
    ...step(2, `${lines[0]}\n… 1,240 lines between (t1:2-9) …`),
  ];
  expect(await s.transformContext(list)).toEqual(list);
  expect(await s.checkWrite("write", { path: "a.md", content: `# Notes\n${lines.join("\n")}\n` })).toBeNull();
});
