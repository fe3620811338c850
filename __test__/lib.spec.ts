// The hand-written JavaScript of the addon, on its own: what crosses of a list, what is made of an answer, the order of work,
// listeners, patches of a request, and reading what the host gives.
import { afterEach, describe, expect, test, vi } from "vitest";
import { invalidArgument, listSnapshot, reading, snapshot, toJson } from "../lib/arguments.js";
import { Listeners, watchFileCheck } from "../lib/events.js";
import { copyOf, equalsCopy, shareStrings } from "../lib/json.js";
import { messageJson, messageOf } from "../lib/long-texts.js";
import { patched, payloadJson } from "../lib/payload.js";
import { typed, withTyped } from "../lib/program.js";
import { Queue } from "../lib/queue.js";
import { type Answer, crossed, Request } from "../lib/request.js";
import { sendLeft } from "../lib/sending.js";
import { user, wrong } from "./sessions.ts";

describe("equalsCopy", () => {
  const values: unknown[] = [
    null,
    true,
    0,
    -0.5,
    "",
    "text",
    [],
    [1, [2, { a: [3] }]],
    {},
    { a: 1, b: { c: "d", e: null } },
    { a: undefined, b() {}, c: 1 },
    { text: "lone \ud800 surrogate" },
    Object.assign(Object.create(null), { bare: [1] }),
  ];

  test.each(values.map((value) => [value]))("is true of its JSON: %o", (value) => {
    expect(equalsCopy(value, JSON.parse(toJson(value) as string))).toBe(true);
  });

  test("is false of any two of them", () => {
    for (const [at, value] of values.entries()) {
      for (const [other, copy] of values.entries()) {
        if (at !== other && toJson(value) !== toJson(copy)) {
          expect(equalsCopy(value, JSON.parse(toJson(copy) as string)), `${at} and ${other}`).toBe(false);
        }
      }
    }
  });

  test("does not take a key of the prototype for a field", () => {
    expect(equalsCopy({ constructor: Object }, {})).toBe(true);
    expect(equalsCopy({ toString: 1 }, {})).toBe(false);
    expect(equalsCopy({}, { toString: 1 })).toBe(false);
    expect(equalsCopy(JSON.parse('{"__proto__":{}}'), { a: 1 })).toBe(false);
  });
});

test("shareStrings never changes what a copy says", () => {
  const copy = () => JSON.parse('{"a":["x",{"b":"y"}],"c":"z","__proto__":"p","d":null}');
  for (const value of [
    copy(),
    { a: "x", c: 1 },
    { a: ["other", null], __proto__: null },
    ["x"],
    null,
    "x",
    undefined,
  ]) {
    const shared = copy();
    shareStrings(value, shared);
    expect(JSON.stringify(shared)).toBe(JSON.stringify(copy()));
  }
});

test("copyOf shares nothing with its original", () => {
  const original = { a: [1, { b: "c" }], d: null };
  const copy = copyOf(original);
  expect(copy).toEqual(original);
  expect(copy.a).not.toBe(original.a);
  expect(copy.a[1]).not.toBe(original.a[1]);
});

describe("reading an argument", () => {
  test("gives JSON without lone surrogates", () => {
    expect(toJson({ text: "a\ud800b" })).toBe(`{"text":"a\ufffdb"}`);
    expect(toJson(undefined)).toBeUndefined();
  });

  test("names the argument that cannot be read, with the cause", () => {
    const cause = new Error("no content today");
    const read = () => {
      throw cause;
    };
    const expected = { code: "INVALID_ARGUMENT", message: "`messages` cannot be read: no content today", cause };
    expect(() => reading("messages", read)).toThrow(expect.objectContaining(expected));
    expect(() => snapshot("event", 1n)).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
  });

  test("keeps the list as it is, and its messages", () => {
    const messages = [user("one"), user("two", 2)];
    const list = listSnapshot(messages);
    messages.pop();
    expect(list).toHaveLength(2);
    expect(list[0]).toBe(messages[0]);
    expect(() => listSnapshot({ length: 1 })).toThrow("`messages` is not an array");
  });

  test("keeps an event as it was, and passes non-JSON on", () => {
    const event = { args: { path: "a" } };
    const copy = snapshot("event", event);
    event.args.path = "b";
    expect(copy).toEqual({ args: { path: "a" } });
    expect(snapshot("event", undefined)).toBeUndefined();
  });

  test("refuses with a type error and a code", () => {
    const error = invalidArgument("`x` is not a number");
    expect(error).toBeInstanceOf(TypeError);
    expect(error).toMatchObject({ code: "INVALID_ARGUMENT", message: "`x` is not a number" });
  });
});

describe("a message with a long text", () => {
  const awkward = 'a "quote", a \\, \u0000\u001b\u007f\u2028\n\t é 漢 😀 ';
  const long = awkward.repeat(10_000);
  const result = (...content: unknown[]) => ({ role: "toolResult", toolCallId: "c", content, details: { a: 1 } });
  const image = { type: "image", data: "x".repeat(300_000), mimeType: "image/png" };

  test.each([
    result({ type: "text", text: long }),
    result({ type: "text", text: "short \ud800" }, image, { 7: long, type: "text", text: `${long}\ud800` }),
    { role: "user", content: long, [long]: long },
    { role: "bashExecution", output: long },
  ])("crosses in pieces and is the same", (message) => {
    const pieces = messageJson(message) as string[];
    expect(pieces.length).toBeGreaterThan(2);
    const joined = pieces.map((piece, at) => (at % 2 === 1 ? JSON.stringify(piece) : piece)).join("");
    expect(joined === toJson(message)).toBe(true);
    expect(messageOf(pieces)).toEqual(JSON.parse(joined));
  });

  test("crosses as JSON if it also has the text that stands for one", () => {
    const message = result({ type: "text", text: long }, { type: "text", text: "\ue000long text\ue000" });
    expect(messageJson(message)).toBe(JSON.stringify(message));
  });

  test("that cannot be read is refused as any other", () => {
    const request = new Request();
    expect(() => request.crossing([{ content: long, more: 1n }], undefined)).toThrow("BigInt");
    const nothing = { content: long, toJSON: () => undefined };
    expect(request.crossing([nothing], undefined).messages).toEqual(["null"]);
  });
});

describe("a request", () => {
  const shown = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => ({ host: from + index }));
  const answer = (call: number, ...edits: Answer["edits"]): Answer => ({ call, edits, events: [] });
  const call = { systemPrompt: "be brief", tools: [{ name: "read" }], model: { provider: "p", id: "m" } };

  /** A request after one call with two messages. */
  function begun() {
    const request = new Request();
    const list = [user("one"), user("two", 2)];
    const crossing = request.crossing(list, call);
    request.apply(crossing, crossed(crossing, list), answer(1, { at: 0, remove: 0, insert: shown(0, 2) }));
    return { request, list, crossing };
  }

  test("has everything cross at first", () => {
    const { list, crossing } = begun();
    expect(crossing).toMatchObject({ since: null, skip: 0, messages: list.map((message) => JSON.stringify(message)) });
    expect(JSON.parse(crossing.call)).toEqual({ model: "p/m", systemPrompt: "be brief", tools: [{ name: "read" }] });
  });

  test("sends only what is new after a call, and names that call", () => {
    const { request, list } = begun();
    const longer = [...structuredClone(list), user("three", 3)];
    expect(request.crossing(longer, call)).toMatchObject({
      since: 1,
      skip: 2,
      messages: longer.slice(2).map((message) => JSON.stringify(message)),
      call: `{"model":"p/m"}`,
    });
  });

  test("sends everything from a changed message, and a new prompt", () => {
    const { request, list } = begun();
    const changed = [user("another"), list[1]];
    const crossing = request.crossing(changed, { ...call, systemPrompt: "be verbose" });
    expect(crossing).toMatchObject({ since: 1, skip: 0, messages: changed.map((message) => JSON.stringify(message)) });
    expect(JSON.parse(crossing.call)).toMatchObject({ systemPrompt: "be verbose" });
  });

  test("is not changed by a list that was not answered", () => {
    const { request, list } = begun();
    request.crossing([user("another")], undefined);
    expect(() => request.crossing([wrong(1n)], call)).toThrow("BigInt");
    expect(request.crossing(list, call)).toMatchObject({ since: 1, skip: 2, messages: [] });
    expect(request.build(list)).toEqual(list);
  });

  test("consists of host messages, edited copies and our messages", () => {
    const { request, list } = begun();
    const content = [{ type: "text", text: "[t1] shown above" }];
    const ours = { role: "user", content: "of ours" };
    const crossing = request.crossing(list, call);
    request.apply(
      crossing,
      crossed(crossing, list),
      answer(2, { at: 1, remove: 1, insert: [{ message: ours }, { host: 1, content }] }),
    );
    const [first, second, third] = request.build(list) as [unknown, typeof ours, (typeof list)[number]];
    expect(first).toBe(list[0]);
    expect(second).toEqual(ours);
    expect(third).toEqual({ ...list[1], content });
    second.content = "changed by the host";
    wrong(third.content)[0].text = "changed by the host";
    expect(request.build(list)).toEqual([list[0], ours, { ...list[1], content }]);
  });

  test("applies edits in order, each to what the one before left", () => {
    const { request } = begun();
    const list = [user("one"), user("two", 2), user("three", 3)];
    const edits = [
      { at: 0, remove: 1, insert: [] },
      { at: 1, remove: 0, insert: [{ host: 2 }] },
    ];
    const crossing = request.crossing(list, call);
    request.apply(crossing, crossed(crossing, list), answer(2, ...edits));
    expect(request.build(list)).toEqual([list[1], list[2]]);
  });

  test("keeps what was sent if a message cannot be read twice", () => {
    let reads = 0;
    const once = {
      role: "user",
      get content() {
        if (reads++ > 0) {
          throw new Error("only once");
        }
        return "one";
      },
    };
    const crossing = new Request().crossing([once], call);
    expect(crossed(crossing, [once])).toEqual([{ role: "user", content: "one" }]);
  });

  test("has everything cross again once it is cleared", () => {
    const { request, list } = begun();
    request.clear();
    const crossing = request.crossing(list, call);
    expect(crossing).toMatchObject({ since: null, skip: 0, messages: list.map((message) => JSON.stringify(message)) });
    expect(JSON.parse(crossing.call)).toHaveProperty("systemPrompt");
    expect(request.build(list)).toEqual([]);
  });
});

describe("a queue", () => {
  test("runs work in order, even after a failure", async () => {
    const queue = new Queue();
    const log: string[] = [];
    const work =
      (name: string, ms: number, fails = false) =>
      async () => {
        log.push(`${name} begins`);
        await new Promise((resolve) => setTimeout(resolve, ms));
        log.push(`${name} ends`);
        if (fails) {
          throw new Error(name);
        }
        return name;
      };
    const slow = queue.run(work("slow", 20, true));
    const quick = queue.run(work("quick", 0));
    await expect(slow).rejects.toThrow("slow");
    expect(await quick).toBe("quick");
    expect(log).toEqual(["slow begins", "slow ends", "quick begins", "quick ends"]);
  });
});

describe("listeners", () => {
  const event = { type: "message_volatile", at: 1 } as const;

  test("hear every event until they leave, each a copy", () => {
    const listeners = new Listeners();
    const [first, second]: unknown[][] = [[], []];
    const leave = listeners.add((heard) => {
      first.push(heard);
      heard.type = wrong("changed");
    });
    listeners.add((heard) => second.push(heard));
    listeners.emit(event);
    leave();
    leave();
    listeners.emit(event);
    expect([first.length, second]).toEqual([1, [event, event]]);
  });

  test("may leave and come while an event is told", () => {
    const listeners = new Listeners();
    const heard: string[] = [];
    const leave = listeners.add(() => {
      heard.push("first");
      leave();
      listeners.add(() => heard.push("late"));
    });
    listeners.add(() => heard.push("second"));
    listeners.emit(event);
    expect(heard).toEqual(["first", "second"]);
  });

  test("do each other no harm", async () => {
    const listeners = new Listeners();
    const heard = vi.fn();
    listeners.add(() => {
      throw new Error("thrown");
    });
    listeners.add(async () => {
      throw new Error("rejected");
    });
    listeners.add(heard);
    listeners.emit(event);
    await Promise.resolve();
    expect(heard).toHaveBeenCalledOnce();
  });
});

describe("the check of files is told", () => {
  afterEach(() => void vi.useRealTimers());

  test("every second while it runs, and when it has ended", () => {
    vi.useFakeTimers();
    const states: ([number, number] | null)[] = [[10, 50], [40, 50], null];
    const events: unknown[] = [];
    watchFileCheck(
      () => states.shift() ?? null,
      (event) => events.push(event),
    );
    vi.advanceTimersByTime(10_000);
    const told = [10, 40, 50].map((files) => ({ type: "checking_files", files, of: 50 }));
    expect(events).toEqual(told);
  });

  test("not at all where none runs", () => {
    vi.useFakeTimers();
    const filesChecked = vi.fn(() => null);
    const emit = vi.fn();
    watchFileCheck(filesChecked, emit);
    vi.advanceTimersByTime(10_000);
    expect(filesChecked).toHaveBeenCalledOnce();
    expect(emit).not.toHaveBeenCalled();
  });
});

describe("a provider's request", () => {
  test("crosses with its bytes as base64", () => {
    const bytes = new Uint8Array([1, 2, 3]);
    const payload = { data: bytes, part: bytes.subarray(1, 2), buffer: Buffer.from("hi"), text: "a\ud800" };
    expect(JSON.parse(payloadJson(payload))).toEqual({ data: "AQID", part: "Ag==", buffer: "aGk=", text: "a\ufffd" });
  });

  test("is refused where it is not JSON", () => {
    for (const payload of [undefined, () => {}, 1n]) {
      expect(() => payloadJson(payload)).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
    }
  });

  test("is the same object without patches", () => {
    const payload = { messages: [] };
    expect(patched(payload, [])).toBe(payload);
  });

  test("is copied along the path of a patch, and only there", () => {
    const payload = { model: { id: "m" }, messages: [{ role: "user", content: [{ text: "a" }, { text: "b" }] }] };
    const before = structuredClone(payload);
    const mark = { type: "ephemeral" };
    const sent = patched(payload, [
      { op: "add", path: "/messages/0/content/1/cache_control", value: mark },
      { op: "replace", path: "/messages/0/role", value: "system" },
      { op: "remove", path: "/messages/0/content/0/text" },
      { op: "add", path: "/messages/0/content/0", value: "first" },
    ]);
    expect(sent).toEqual({
      model: { id: "m" },
      messages: [{ role: "system", content: ["first", {}, { text: "b", cache_control: mark }] }],
    });
    expect(payload).toEqual(before);
    expect(sent.model).toBe(payload.model);
  });
});

test("settings that are too long end no session with an error", () => {
  expect(() => sendLeft("/s.sqlite", { exclude: ["a".repeat(4_000_000)] })).not.toThrow();
});

test("commands of ours are printed as a shell takes them", () => {
  const words = "show 'a b' --session 'x y'";
  expect(withTyped(`run \`palimpsest ${words}\``, "/my store.sqlite")).toMatch(
    new RegExp(`^run \`.*palimpsest\\S* ${words} --store '/my store\\.sqlite'\`$`),
  );
  expect(withTyped("run `palimpsest show t1 --store b`", "a")).toMatch(/ show t1 --store b`$/);
  expect(typed(["show", "a --store b"], "c")).toMatch(/ show 'a --store b' --store c$/);
  expect(typed(["show", "a", "--store", "b"], "c")).toMatch(/ show a --store b$/);
  expect(withTyped("`palimpsest show --help` shows", "c")).toMatch(/ show --help` shows$/);
});
