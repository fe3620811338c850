// What the addon does to a process: nothing keeps it alive, nothing ends it.
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { SessionOptions } from "../index.js";
import { temporaryFolder } from "./e2e/support.ts";
import { defaults, runModule, session, store, user } from "./sessions.ts";

describe("in a process of its own", () => {
  const opened = (options: Partial<SessionOptions>, path: string) => `
    const store = await addon.openStore({ path: ${JSON.stringify(path)} });
    const session = await addon.openSession(store, ${JSON.stringify({ ...defaults, ...options })});
  `;

  test("an open store and session do not keep it from ending", async () => {
    const path = join(temporaryFolder(), "store.sqlite");
    const source = `${opened({}, path)} session.onEvent(() => {});
      await session.transformContext([${JSON.stringify(user("hello"))}]);`;
    expect(runModule(source)).toEqual({ status: 0, signal: null, stdout: "", stderr: "" });
    expect((await session({}, await store(path))).status().calls).toBe(1);
  });

  test("calls that nobody waits for do not end it", () => {
    const source = `${opened({}, ":memory:")} 
      const ignore = () => {};
      session.transformContext([]).catch(ignore); session.close().catch(ignore); store.close().catch(ignore);`;
    expect(runModule(source)).toEqual({ status: 0, signal: null, stdout: "", stderr: "" });
  });

  test("no garbage ends it", () => {
    const source = `${opened({}, ":memory:")}
      const cyclic = {}; cyclic.self = cyclic;
      let deep = []; for (let i = 0; i < 100_000; i++) { deep = [deep]; }
      const text = "\\ud800\\u0000".repeat(1000);
      const garbage = [undefined, null, NaN, -1, 1n, "", text, Symbol("s"), () => {}, [], {}, cyclic, deep, new Date(NaN),
        new Map(), new Proxy({}, { get() { throw new Error("get"); } }), store, session, Object.create(null)];
      const tools = addon.tools({ read: true });
      const functions = [addon.openSession, addon.loadSettings, addon.countTokens,
        (a) => addon.openStore({ path: a }), (a, b) => addon.openSession(store, a),
        (a) => addon.openSession(store, { harness: "t", sessionId: a, cwd: "/" }),
        (a, b) => session.transformContext(a, b), (a, b) => session.transformContext([a, b]),
        (a) => session.transformContext([{ role: a, content: a, toolCallId: a, timestamp: a }]),
        (a) => session.transformContext([{ role: "assistant", content: [{ type: "toolCall", id: a, name: a, arguments: a }] },
          { role: "toolResult", toolCallId: a, content: a, details: a }]),
        (a) => session.recordToolCall(a), (a) => session.onEvent(a), (a) => session.recordFailedCall(a),
        (a) => session.recordUsage(a), (a, b) => session.answerCompaction(a, b, a),
        (a, b) => session.answerCompaction([], b, { reason: a, keptFrom: a, retries: b, reservedTokens: a }), (a) => session.explainFailedEdit(a), (a, b) => session.checkWrite(a, b),
        (a) => session.preparePayload(a), (a) => addon.tools(a), (a) => new addon.Session(a),
        (a) => session.recordToolCall({ toolCallId: text, toolName: "read", args: { path: a }, isError: false }),
        ...tools.flatMap((tool) => [(a, b) => tool.execute(a, b, b), (a) => tool.execute(session, "c", a),
          (a) => tool.execute(session, "c", { path: a, name: a, lines: a, pattern: a, offset: a, limit: a })])];
      let ran = 0;
      for (const f of functions) {
        for (const a of garbage) {
          for (const b of [undefined, a, {}]) {
            try { await f(a, b); } catch {}
            ran += 1;
          }
        }
      }
      const list = [${JSON.stringify(user("still there"))}];
      const sent = await session.transformContext(list);
      process.stdout.write(String(ran > 1000 && sent[0] === list[0]));`;
    expect(runModule(source)).toEqual({ status: 0, signal: null, stdout: "true", stderr: "" });
  });
});
