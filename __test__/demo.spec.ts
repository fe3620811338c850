// The demo's computations, on request bodies made by hand.
import { describe, expect, test } from "vitest";
import { describeBroughtBack, describeCosts, runChecks } from "../scripts/lib/demo-report.js";
import { findCollapsedLog } from "../scripts/lib/demo-session.js";
import { bill, cachedTokens, countRewrites, measureCalls, prices, unpairedCalls } from "../scripts/lib/measure.js";
import type { RequestBody, WireMessage } from "../scripts/lib/scripted-model.js";
import { findRanges, type ReadCall, repeatedRanges } from "../scripts/lib/standing-ranges.js";

const [anthropicLike, openAiLike] = prices;
const system: WireMessage = { role: "system", content: "x".repeat(400) };

function body(...messages: WireMessage[]): RequestBody {
  return { model: "m", messages: [system, ...messages] };
}

/** A message of exactly `tokens` tokens; its role has one. */
function user(tokens: number, letter = "u"): WireMessage {
  return { role: "user", content: letter.repeat((tokens - 1) * 4) };
}

function call(id: string, name: string, args: unknown): WireMessage {
  return {
    role: "assistant",
    content: null,
    tool_calls: [{ id, function: { name, arguments: JSON.stringify(args) } }],
  };
}

function result(id: string, content: unknown): WireMessage {
  return { role: "tool", tool_call_id: id, content };
}

describe("the cost of calls", () => {
  test("a grown request is cached up to where the one before ended", () => {
    const calls = measureCalls([body(user(50)), body(user(50), user(10))]);
    expect(calls).toEqual([
      { sent: 150, commonPrefix: 0, fixedPart: 0, grew: true },
      { sent: 160, commonPrefix: 150, fixedPart: 100, grew: true },
    ]);
    expect(bill(calls, openAiLike)).toBeCloseTo(150 + 15 + 10);
    expect(bill(calls, anthropicLike)).toBeCloseTo(150 * 1.25 + 15 + 10 * 1.25);
    expect(countRewrites(calls)).toBe(0);
  });

  test("a rewritten request is cached up to the change or the tools", () => {
    const calls = measureCalls([body(user(50), user(20)), body(user(50), user(20, "v"), user(10))]);
    // The role of the changed message is still common: one token.
    expect(calls[1]).toEqual({ sent: 180, commonPrefix: 151, fixedPart: 100, grew: false });
    expect(cachedTokens(calls[1], openAiLike)).toBe(151);
    expect(cachedTokens(calls[1], anthropicLike)).toBe(100);
    expect(countRewrites(calls)).toBe(1);
  });

  test("a change of tools or system prompt leaves nothing cached", () => {
    const changed = { ...body(user(50)), tools: [{ type: "function", function: { name: "t" } }] };
    const [, second] = measureCalls([body(user(50)), changed]);
    expect(second).toMatchObject({ commonPrefix: 0, fixedPart: 0, grew: false });
  });

  test("a request that lost its end has not grown", () => {
    const [, second] = measureCalls([body(user(50), user(20)), body(user(50))]);
    expect(second).toMatchObject({ sent: 150, commonPrefix: 150, grew: false });
  });

  test("counts thinking, tool names and arguments, but not IDs", () => {
    const assistant = { ...call("a-very-long-id", "read", {}), content: "😀😀", reasoning_content: "think" };
    const [first] = measureCalls([{ model: "m", messages: [assistant] }]);
    // assistant 9 + think 5 + two faces 2 + read 4 + {} 2
    expect(first.sent).toBe(Math.ceil(22 / 4));
  });
});

describe("calls and results", () => {
  test("pair up when each call has one result", () => {
    expect(unpairedCalls(body(call("a", "read", {}), result("a", "x")))).toEqual([]);
  });

  test("are named if a result is missing, repeated or orphaned", () => {
    const wrong = body(
      call("a", "read", {}),
      call("b", "read", {}),
      result("b", "x"),
      result("b", "x"),
      result("c", "x"),
    );
    expect(unpairedCalls(wrong)).toEqual(["a", "b", "c"]);
  });
});

describe("standing ranges", () => {
  const lines = Array.from({ length: 40 }, (_, index) => `line ${index + 1}`);
  const text = lines.join("\n");
  const part = (first: number, last: number) => lines.slice(first - 1, last).join("\n");
  const reads = new Map<string, ReadCall>([
    ["a", { path: "f", text }],
    ["b", { path: "f", text, offset: 10 }],
    ["new", { path: "f", text: `changed\n${text}` }],
  ]);
  const readA = call("a", "read", { path: "f" });
  const readB = call("b", "read", { path: "f", offset: 10 });

  test("are found wherever the file's lines appear", () => {
    expect(findRanges(`${part(1, 9)}\n… 11 lines between …\n${part(21, 30)}`, { path: "f", text })).toEqual([
      { first: 1, last: 9 },
      { first: 21, last: 30 },
    ]);
  });

  test("follow the range asked for where lines repeat", () => {
    const repeating = Array.from({ length: 30 }, (_, index) => `${index % 10}`).join("\n");
    const shown = repeating.split("\n").slice(10, 20).join("\n");
    expect(findRanges(shown, { path: "f", text: repeating, offset: 11 })).toEqual([{ first: 11, last: 20 }]);
  });

  test("that overlap in two results stand twice", () => {
    const twice = body(readA, result("a", text), readB, result("b", part(10, 40)));
    expect(repeatedRanges(twice, reads)).toEqual([
      { path: "f", range: { first: 10, last: 40 }, firstCall: "a", secondCall: "b" },
    ]);
  });

  test("do not stand twice when one has given way to a line", () => {
    const once = body(readA, result("a", "[f1] f · 40 lines"), readB, result("b", part(10, 40)));
    expect(repeatedRanges(once, reads)).toEqual([]);
  });

  test("may repeat after a new read request or a change of the file", () => {
    const again = new Map([...reads, ["a2", { path: "f", text }]]);
    const repeated = body(readA, result("a", text), call("a2", "read", { path: "f" }), result("a2", text));
    expect(repeatedRanges(repeated, again)).toEqual([]);
    const changed = body(
      readA,
      result("a", text),
      call("new", "read", { path: "f" }),
      result("new", `changed\n${text}`),
    );
    expect(repeatedRanges(changed, reads)).toEqual([]);
  });
});

describe("the demo's report", () => {
  const command = { command: "sh run-tests.sh" };
  const collapsed = body(call("t", "bash", command), result("t", `[t1] exit 0 · 431 lines · last: "ok"`));
  const activated = body(
    ...collapsed.messages.slice(1),
    call("v", "activate", { name: "t1" }),
    result("v", "test one ... ok"),
  );
  const session = {
    prompts: [],
    calls: 1,
    script: () => ({}),
    reads: new Map(),
    broughtBack: [{ referenceLine: `[t1] exit 0 · 431 lines · last: "ok"`, callId: "v" }],
  };

  test("finds a collapsed test log, but no lookalike", () => {
    expect(findCollapsedLog(collapsed)).toEqual({ handle: "t1", line: `[t1] exit 0 · 431 lines · last: "ok"` });
    expect(findCollapsedLog(body(call("t", "bash", command), result("t", "test one ... ok")))).toBeUndefined();
    expect(findCollapsedLog(body(call("r", "read", { path: "x" }), result("r", "[t1] in a file")))).toBeUndefined();
  });

  test("shows the reference line and what activating it brought", () => {
    expect(describeBroughtBack({ bodies: [collapsed, activated], session })).toEqual([
      "what stood in the place of a collapsed output:",
      `  [t1] exit 0 · 431 lines · last: "ok"`,
      "what activating it brought into the next request:",
      "  test one ... ok",
    ]);
  });

  test("fails each check by its own cause", () => {
    const plain = { bodies: Array.from({ length: 40 }, () => body(user(50))), session };
    const broken = {
      bodies: plain.bodies.map(() => body(user(100), call("a", "read", {}))),
      session: { ...session, broughtBack: [] },
    };
    expect(runChecks(plain, broken).map(({ holds }) => holds)).toEqual([true, false, true, false, false]);
    const smaller = { bodies: plain.bodies.map(() => body(user(20))), session };
    expect(runChecks(plain, smaller).every(({ holds }) => holds)).toBe(true);
  });

  test("marks the calls at which an epoch starts", () => {
    const played = { bodies: [body(user(50)), body(user(50), user(9)), body(user(8))], session };
    const lines = describeCosts(played, played);
    expect(lines.filter((line) => line.endsWith("new epoch"))).toHaveLength(1);
    expect(lines.at(-1)).toBe("epochs with Palimpsest: 2 (plain: 2)");
  });
});
