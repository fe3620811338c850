// `transformContext`: what a list may hold, what comes back of it, and what crosses to Rust.
import { describe, expect, test } from "vitest";
import type { Message, Session } from "../index.js";
import { isEverything } from "../scripts/lib/tiers.js";
import {
  crossings,
  interceptCrossings,
  interceptNextCrossing,
  patient,
  rejection,
  session,
  step,
  store,
  user,
  wrong,
} from "./sessions.ts";

/** Asserts that each message is the very object that the host gave. */
function expectSame(sent: Message[], given: Message[]) {
  expect(sent.length).toBe(given.length);
  expect(sent.every((message, index) => message === given[index])).toBe(true);
}

describe("a list that is not an array", () => {
  test.each([undefined, null, "list", 5, 1n, true, {}, { length: 1 }, new Set()])("is refused: %o", async (list) => {
    const s = await session();
    const error = await rejection(() => s.transformContext(wrong(list)));
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({ code: "INVALID_ARGUMENT", message: "`messages` is not an array" });
    const good = [user("still there")];
    expectSame(await s.transformContext(good), good);
    expect(s.status().calls).toBe(1);
  });
});

describe("a list that is too long", () => {
  const late = [user("one")];
  late[1_000_000] = user("two");
  test.each([
    { name: "a million holes", list: new Array(1_000_000) },
    { name: "as many holes as an array takes", list: new Array(2 ** 32 - 1) },
    { name: "a million holes before a message", list: late },
    { name: "a million nulls", list: new Array(1_000_000).fill(null) },
  ])("of $name is refused at once", async ({ list }) => {
    const s = await session();
    const start = performance.now();
    const error = await rejection(() => s.transformContext(wrong(list)));
    expect(error).toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(error.message).toBe(`\`messages\` is a list of ${list.length}, at most 100000 are taken`);
    expect(performance.now() - start).toBeLessThan(1_000);
    expect(await s.transformContext([user("on")])).toHaveLength(1);
  });
});

describe("messages of any shape pass through", () => {
  const sparse = new Array<Message>(3);
  sparse[1] = user("in the middle");
  const cases: [string, unknown[]][] = [
    ["no messages", []],
    ["no role", [{ content: "text" }]],
    ["no content", [{ role: "user" }, { role: "assistant" }, { role: "toolResult" }]],
    ["an empty message", [{}]],
    ["null, numbers, texts, arrays", [null, 5, "text", [1], true]],
    ["undefined, functions, symbols", [undefined, () => 1, Symbol("s")]],
    ["holes", sparse],
    ["dates, maps, NaN", [{ role: "user", content: new Date(0), map: new Map([[1, 2]]), nan: Number.NaN }]],
    ["undefined, functions and symbols inside", [{ role: "user", content: "x", a: undefined, b() {}, c: Symbol("s") }]],
    ["unknown roles and blocks", [{ role: "other", content: [{ type: "video" }, null, 3, { type: 7 }] }]],
    [
      "a result for an unknown call",
      [{ role: "toolResult", toolCallId: "none", content: [{ type: "text", text: "x" }] }],
    ],
    ["a result before its call", [...step(1, "out")].reverse()],
    ["a call without a result", [user("hello"), step(1, "out")[0], user("next", 9)]],
    ["two results of one call", [user("hello"), ...step(1, "out"), step(1, "again")[1]]],
    ["the same call ID twice", [user("hello"), ...step(1, "out"), user("next", 9), ...step(1, "other")]],
    ["lone surrogates", [user("a\ud800b\udc00"), { role: "\udfff", "\ud800": 1 }]],
    ["NUL and other control characters", [user("a\u0000b\u001b[0m\u2028"), ...step(1, "\u0000".repeat(100))]],
    ["keys that objects have themselves", [JSON.parse(`{"role": "user", "__proto__": {"x": 1}, "constructor": 5}`)]],
    ["an image", [{ role: "user", content: [{ type: "image", data: "AAAA", mimeType: "image/png" }], timestamp: 1 }]],
    ["frozen messages", [Object.freeze(user("frozen")), ...step(1, "out").map((message) => Object.freeze(message))]],
    ["messages without a prototype", [Object.assign(Object.create(null), user("bare"))]],
    ["one message many times", Array.from({ length: 5 }, () => user("same"))],
    [
      "numbers at the ends",
      [
        { role: "user", content: "x", timestamp: 1e308 },
        { role: "user", timestamp: -0.5 },
      ],
    ],
  ];

  test.each(cases)("%s", async (_, given) => {
    for (const layout of ["log", "pools"] as const) {
      const s = await session({ settings: { layout } });
      const list = Object.freeze(given) as Message[];
      for (const call of [1, 2, 3]) {
        const sent = await s.transformContext(list);
        if (layout === "log") {
          expectSame(sent, list);
        }
        expect(s.status().calls).toBe(call);
      }
      // And what follows is not disturbed.
      const longer = [...list, user("and on", 1_000)];
      const sent = await s.transformContext(longer);
      expect(sent.includes(longer[longer.length - 1])).toBe(true);
    }
  });

  test("and are the same after a restart", async () => {
    const shared = await store();
    for (const [name, given] of cases) {
      const list = given as Message[];
      const before = await session({ sessionId: name }, shared);
      await before.transformContext(list);
      await before.close();
      const after = await session({ sessionId: name }, shared);
      expectSame(await after.transformContext(list), list);
    }
  });
});

describe("what no JSON can hold is refused, and the session goes on", () => {
  const cyclic: Record<string, unknown> = user("round");
  cyclic.self = cyclic;
  let deep: unknown = [];
  for (let depth = 0; depth < 100_000; depth++) {
    deep = [deep];
  }
  const throwing = {
    role: "user",
    get content() {
      throw new Error("no content today");
    },
  };
  const revoked = Proxy.revocable([], {});
  revoked.revoke();

  test.each<[string, unknown, unknown?]>([
    ["a BigInt", [{ role: "user", content: 1n }]],
    ["a message that holds itself", [cyclic]],
    ["arrays without an end", [{ role: "user", content: deep }]],
    ["a getter that throws", [throwing]],
    ["a revoked list", revoked.proxy],
    ["a BigInt among the tools", [], { tools: [{ name: "t", parameters: 1n }] }],
    ["a model whose name is a symbol", [], { model: { provider: Symbol("p"), id: "m" } }],
  ])("%s", async (_, list, call) => {
    const s = await session();
    const good = [user("one")];
    await s.transformContext(good);
    const error = await rejection(() => s.transformContext(wrong(list), wrong(call)));
    expect(error).toMatchObject({ code: "INVALID_ARGUMENT", cause: expect.any(Error) });
    good.push(user("two", 2));
    expectSame(await s.transformContext(good), good);
    expect(s.status().calls).toBe(2);
  });

  test("a getter that throws once the message is known", async () => {
    const s = await session();
    let broken = false;
    const message = {
      role: "user",
      get content() {
        if (broken) {
          throw null;
        }
        return "text";
      },
    };
    await s.transformContext([message]);
    broken = true;
    expect(await rejection(() => s.transformContext([message]))).toMatchObject({ code: "INVALID_ARGUMENT" });
    broken = false;
    expectSame(await s.transformContext([message]), [message]);
  });
});

describe("after a call that failed, the next one has everything once", () => {
  const list = [user("hello"), ...step(1, "a line of output\n".repeat(400)), ...step(2, "out")];

  /** A session that made a call with a preview in it. */
  async function begun() {
    const s = await session({ settings: { previewTokens: 100 } });
    const sent = await s.transformContext(list);
    return { s, sent };
  }

  async function expectNextIsWhole(s: Session, sent: Message[], next: Message[] = [...list, user("next", 9)]) {
    expect(await s.transformContext(next)).toEqual([...sent.slice(0, next.length - 1), next[next.length - 1]]);
    const longer = [...next, user("and on", 10)];
    expectSame((await s.transformContext(longer)).slice(next.length), longer.slice(next.length));
  }

  test("before Rust heard of it", async () => {
    const { s, sent } = await begun();
    interceptNextCrossing(() => async (...args) => {
      throw new Error(`lost: ${args.length}`);
    });
    await expect(s.transformContext([...list, user("lost", 9)])).rejects.toThrow("lost");
    await expectNextIsWhole(s, sent);
  });

  test("on the way back from Rust", async () => {
    const { s, sent } = await begun();
    interceptNextCrossing((original) => async (...args) => {
      await original(...args);
      return "half an ans";
    });
    await expect(s.transformContext([...list, user("lost", 9)])).rejects.toThrow("JSON");
    await expectNextIsWhole(s, sent);
  });

  test("in Rust, for what it was told of the call", async () => {
    const { s, sent } = await begun();
    let parameters: unknown = {};
    for (let depth = 0; depth < 500; depth++) {
      parameters = { parameters };
    }
    const call = wrong({ tools: [{ name: "deep", parameters }] });
    expect(await rejection(() => s.transformContext(list, call))).toMatchObject({ code: "INVALID_ARGUMENT" });
    await expectNextIsWhole(s, sent);
  });

  test("and a branch at the first message comes next", async () => {
    const { s } = await begun();
    interceptNextCrossing((original) => async (...args) => {
      await original(...args);
      throw new Error("lost");
    });
    await expect(s.transformContext(list)).rejects.toThrow("lost");
    const branch = [user("another beginning", 5)];
    expectSame(await s.transformContext(branch), branch);
  });
});

test("a call's own fields may be anything that JSON can hold", async () => {
  const s = await session();
  const calls = [5, "call", [], { systemPrompt: 7, tools: "none", model: 5 }, { model: { contextWindow: -1 } }];
  for (const call of [null, ...calls, { tools: [null, {}, 3], systemPrompt: "\ud800" }]) {
    const list = [user("hello")];
    expectSame(await s.transformContext(list, wrong(call)), list);
  }
});

test("a large tool output passes through", async () => {
  const line = `${"x".repeat(99)}\n`;
  const output = line.repeat(isEverything ? 500_000 : 50_000);
  const s = await session({ settings: { ...patient, previewTokens: 0 } });
  const list = [user("hello"), ...step(1, output)];
  expectSame(await s.transformContext(list), list);
  list.push(...step(2, "small"));
  const seen = crossings();
  expectSame(await s.transformContext(list), list);
  expect(seen).toEqual([{ skip: 3, json: JSON.stringify(list.slice(3)) }]);
});

test("a long text is stored as the host has it", async () => {
  const output = `"quoted" \\ \u0000\u001b\u2028 é 漢 😀 ${"x".repeat(300_000)}\n`;
  const opened = await store();
  const s = await session({ settings: { ...patient, previewTokens: 0 } }, opened);
  const list = [user("hello"), ...step(1, output)];
  expectSame(await s.transformContext(list), list);
  const { messages } = await opened.recordedCall(s.id);
  expect(messages).toEqual(list.map((message) => JSON.stringify(message)));
});

describe("what crosses", () => {
  test("is only what is new", async () => {
    const s = await session({ settings: { collapseTokens: 1_000_000 } });
    const seen = crossings();
    const list = [user("hello")];
    for (let number = 1; number <= 50; number++) {
      list.push(...step(number, `output ${number} `.repeat(20)));
      expectSame(await s.transformContext(list), list);
    }
    await s.transformContext(list);
    expect(seen.map(({ skip }) => skip)).toEqual([0, ...Array.from({ length: 49 }, (_, call) => 2 * call + 3), 101]);
    expect(Math.max(...seen.map(({ json }) => json.length))).toBeLessThan(700);
    expect(seen[50].json).toBe("[]");
  });

  test("is everything from the first message that the host changed", async () => {
    const s = await session({ settings: { keepResults: 0 } });
    const list = [user("hello"), ...step(1, "first"), ...step(2, "second")];
    await s.transformContext(list);
    const seen = crossings();
    list[2].content = [{ type: "text", text: "redacted" }];
    const sent = await s.transformContext(list);
    expect(seen).toEqual([{ skip: 2, json: JSON.stringify(list.slice(2)) }]);
    expect(JSON.stringify(sent)).not.toContain("first");
  });

  test.each<[string, (message: Message) => void]>([
    ["a field that came", (message) => Object.assign(message, { note: 1 })],
    ["a field that went", (message) => delete message.isError],
    ["a block that came", (message) => (message.content as unknown[]).push({ type: "text", text: "more" })],
    ["a block that went", (message) => (message.content as unknown[]).pop()],
    ["a text that changed", (message) => Object.assign((message.content as object[])[0], { text: "OUT" })],
    ["a value of another type", (message) => Object.assign(message, { isError: 0 })],
  ])("notices %s deep inside", async (_, change) => {
    const s = await session();
    const list = [user("hello"), ...step(1, "out")];
    await s.transformContext(list);
    change(list[2]);
    const seen = crossings();
    const sent = await s.transformContext(list);
    expect(seen).toEqual([{ skip: 2, json: JSON.stringify(list.slice(2)) }]);
    expect(sent[2]).toEqual(list[2]);
  });

  test("is nothing if new objects have the same content", async () => {
    const s = await session();
    const list = [user("hello"), ...step(1, "out")];
    await s.transformContext(list);
    const seen = crossings();
    const copy = structuredClone(list);
    expectSame(await s.transformContext(copy), copy);
    expect(seen).toEqual([{ skip: 3, json: "[]" }]);
  });

  test("is the whole list again after the session forked", async () => {
    const shared = await store();
    const first = await session({}, shared);
    const list = [user("hello"), ...step(1, "out")];
    await first.transformContext(list);
    const second = await session({}, shared);
    expect(second.id).toBe(first.id);
    await second.transformContext([...list, user("from elsewhere", 9)]);
    const seen = crossings();
    const longer = [...list, user("next", 10)];
    expectSame(await first.transformContext(longer), longer);
    expect(seen.map(({ skip }) => skip)).toEqual([3, 0]);
    expect(first.id).not.toBe(second.id);
  });

  test("is a shorter list's end", async () => {
    const s = await session();
    const list = [user("hello"), ...step(1, "out")];
    await s.transformContext(list);
    expectSame(await s.transformContext(list.slice(0, 1)), list.slice(0, 1));
    expectSame(await s.transformContext([]), []);
    expectSame(await s.transformContext(list), list);
  });
});

describe("what comes back", () => {
  /** A session in which a long output is previewed, so that one message of the request is not the host's own. */
  async function withPreview() {
    const s = await session({ settings: { previewTokens: 100 } });
    const list = [user("hello"), ...step(1, "a line of output\n".repeat(400))];
    const sent = await s.transformContext(list);
    expect(sent[2]).not.toBe(list[2]);
    return { s, list, sent };
  }

  test("differs from the host's own only in its content", async () => {
    const { list, sent } = await withPreview();
    expect({ ...sent[2], content: list[2].content }).toEqual(list[2]);
    expect(Object.keys(sent[2])).toEqual(Object.keys(list[2]));
    expectSame(sent.slice(0, 2), list.slice(0, 2));
  });

  test("may be changed by the host, and the next request is not", async () => {
    const { s, list, sent } = await withPreview();
    const before = structuredClone(sent);
    sent[2].role = "changed";
    (sent[2].content as { text: string }[])[0].text = "changed";
    (sent[2].content as unknown[]).push("more");
    sent.length = 1;
    expect(await s.transformContext(list)).toEqual(before);
  });

  test("ignores what the host does to the list during the call", async () => {
    const s = await session();
    const list = [user("hello"), ...step(1, "out")];
    const given = [...list];
    const pending = s.transformContext(list);
    list.length = 0;
    list.push(user("another list", 9));
    expectSame(await pending, given);
    expectSame(await s.transformContext(list), list);
  });

  test("of calls that nobody waited for is each call's own", async () => {
    const s = await session();
    const seen = crossings();
    const lists: Message[][] = [[user("hello")]];
    for (let number = 1; number < 20; number++) {
      lists.push([...lists[number - 1], ...step(number, `output ${number}`)]);
    }
    const [early, late] = [lists.slice(0, 10), lists.slice(10)];
    const answers = [...early.map((list) => s.transformContext(list))];
    const refused = rejection(() => s.transformContext(wrong("no list")));
    answers.push(...late.map((list) => s.transformContext(list)));
    for (const [index, sent] of (await Promise.all(answers)).entries()) {
      expectSame(sent, lists[index]);
    }
    expect(await refused).toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(s.status().calls).toBe(20);
    expect(seen.map(({ skip }) => skip)).toEqual([0, ...Array.from({ length: 19 }, (_, call) => 2 * call + 1)]);
  });
});

test("the event loop goes on while a call stores much", async () => {
  const s = await session();
  const list = [user("hello")];
  for (let number = 1; number <= (isEverything ? 10 : 4); number++) {
    list.push(...step(number, `${number} ${"a line of output that is stored\n".repeat(65_536)}`));
  }
  // What crosses is made on the event loop: ticks count from there.
  let [working, ticks] = [false, 0];
  interceptCrossings((original) => async (...args) => {
    working = true;
    const answer = await original(...args);
    working = false;
    return answer;
  });
  const tick = () => {
    ticks += working ? 1 : 0;
    timer = setTimeout(tick, 1);
  };
  // Not as often as can be: that would take the core from what stores.
  let timer = setTimeout(tick, 1);
  await s.transformContext(list);
  clearTimeout(timer);
  expect(ticks).toBeGreaterThan(100);
}, 300_000);
