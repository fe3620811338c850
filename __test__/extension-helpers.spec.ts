// The extension's parts that need no Pi.
import { chmodSync, linkSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { ExtensionAPI, ExtensionContext, MessageEndEvent } from "@earendil-works/pi-coding-agent";
import { describe, expect, test } from "vitest";
import { openLog } from "../lib/log.js";
import type { Session, UsageReport } from "../pi-extension/addon.ts";
import { createFailures, describe as describeError, type Failures } from "../pi-extension/failures.ts";
import { createObserver, createUsageReporter } from "../pi-extension/observe.ts";
import { plainRequest } from "../pi-extension/plain-request.ts";
import { temporaryFolder } from "./e2e/support.ts";

/** Failures that nobody is told of. */
const quiet: Failures = {
  report: async () => {},
  last: async () => {},
  farewell() {},
  log: async () => {},
  notice() {},
};

describe.skipIf(process.platform === "win32")("the log", () => {
  const report = (agentDir: string) =>
    createFailures(openLog(join(agentDir, "palimpsest")), {
      hasUI: true,
      ui: { notify() {} },
    } as unknown as ExtensionContext).report("it", "odd");

  test("is for its user only, also where an earlier one was not", async () => {
    const agentDir = temporaryFolder();
    const log = join(agentDir, "palimpsest", "palimpsest.log");
    await report(agentDir);
    chmodSync(log, 0o644);
    await report(agentDir);
    expect(readFileSync(log, "utf8").match(/ error it: odd\n/g)).toHaveLength(2);
    expect([statSync(log), statSync(dirname(log))].map(({ mode }) => mode & 0o077)).toEqual([0, 0]);
  });

  test.each([
    ["link", symlinkSync],
    ["second name", linkSync],
  ])("is not written through a %s that somebody planted", async (_what, plant) => {
    const agentDir = temporaryFolder();
    const victim = join(agentDir, "victim");
    writeFileSync(victim, "not ours");
    mkdirSync(join(agentDir, "palimpsest"));
    plant(victim, join(agentDir, "palimpsest", "palimpsest.log"));
    await report(agentDir);
    expect(readFileSync(victim, "utf8")).toBe("not ours");
  });
});

test("an error is described in one line with its code and hint", () => {
  const error = Object.assign(new Error("no object\nis named `t9`"), { code: "UNKNOWN_NAME", hint: "use a handle" });
  expect(describeError(error)).toBe("no object is named `t9` (UNKNOWN_NAME); hint: use a handle");
  expect(describeError("odd")).toBe("odd");
});

test("a plain request has all that Pi would send", () => {
  const text = (tokens: number) => "word".repeat(tokens);
  const system = { role: "system", content: text(1_000) };
  const pi = { getActiveTools: () => [], getAllTools: () => [] } as unknown as ExtensionAPI;
  const size = (...messages: object[]) => {
    const ctx = {
      model: { contextWindow: 200_000, cost: { input: 10, cacheWrite: 0 } },
      getSystemPrompt: () => system.content,
      sessionManager: { buildSessionProjection: () => ({ entries: [{ messages: [system, ...messages] }] }) },
    } as unknown as ExtensionContext;
    return /about (\S+) tokens, .* about (\S+), since/.exec(plainRequest(pi, ctx) ?? "")?.slice(1);
  };
  const user = { role: "user", content: text(29_000) };
  // The prompt is counted once, though Pi lists it among the messages.
  expect(size(user)).toEqual(["30k", "$0.30"]);
  const ran = { role: "bashExecution", command: "make", output: text(19_999) };
  expect(size(user, ran)).toEqual(["50k", "$0.50"]);
  expect(size(user, { ...ran, excludeFromContext: true })).toEqual(["30k", "$0.30"]);
  const call = { type: "toolCall", id: "c", name: "make", arguments: { of: text(9_996) } };
  expect(size(user, { role: "assistant", content: [call] })).toEqual(["40k", "$0.40"]);
  expect(size(user, { role: "branchSummary", summary: text(10_000) })).toEqual(["40k", "$0.40"]);
  expect(size({ role: "user", content: text(3_000) })).toBeUndefined();
});

describe("the observer", () => {
  function observe(recordToolCall: Session["recordToolCall"] = async () => {}) {
    const finished: unknown[] = [];
    const reports: string[] = [];
    const session = {
      recordToolCall: (event: Parameters<Session["recordToolCall"]>[0]) => {
        finished.push(event);
        return recordToolCall(event);
      },
    } as Session;
    const failures = { ...quiet, report: async (what: string) => void reports.push(what) };
    return { observer: createObserver(session, failures, new Set(["activate"])), finished, reports };
  }

  const started = (toolCallId: string, toolName: string, args: unknown) =>
    ({ type: "tool_execution_start", toolCallId, toolName, args }) as const;
  const ended = (toolCallId: string, toolName: string, isError: boolean) =>
    ({ type: "tool_execution_end", toolCallId, toolName, result: { content: [] }, isError }) as const;

  test("reports a call that ran once, with the arguments that ran", async () => {
    const { observer, finished } = observe();
    observer.started(started("c1", "ls", { path: "as asked" }));
    const content = [{ type: "text" as const, text: "a\nb" }];
    const ran = { toolCallId: "c1", toolName: "ls", input: { path: "as run" }, content, isError: false } as const;
    await observer.ran({ type: "tool_result", ...ran, details: undefined });
    await observer.ended(ended("c1", "ls", false));
    expect(finished).toEqual([
      { toolCallId: "c1", toolName: "ls", args: { path: "as run" }, isError: false, text: "a\nb" },
    ]);
  });

  test("reports calls that did not run, but never our own tools", async () => {
    const { observer, finished } = observe();
    observer.started(started("c1", "bash", { command: "true" }));
    observer.started(started("c2", "edit", { path: "a" }));
    observer.started(started("c3", "activate", { name: "t1" }));
    await observer.ended(ended("c1", "bash", false));
    await observer.ended(ended("c2", "edit", true));
    await observer.ended(ended("c3", "activate", false));
    expect(finished).toMatchObject([
      { toolCallId: "c1", args: { command: "true" }, isError: false },
      { toolCallId: "c2", args: { path: "a" }, isError: true },
    ]);
  });

  test("passes on bash's output, but no more than is examined", async () => {
    const { observer, finished } = observe();
    const result = { content: [{ type: "text", text: "a.c:1: error\n".repeat(100_000) }] };
    observer.started(started("c1", "bash", { command: "make" }));
    await observer.ended({ ...ended("c1", "bash", true), result });
    const [{ isError, text }] = finished as { isError: boolean; text: string }[];
    expect({ isError, length: text.length }).toEqual({ isError: true, length: 262_144 });
  });

  test("turns a failing side effect into a report", async () => {
    const { observer, reports } = observe(async () => {
      throw new Error("disk full");
    });
    observer.started(started("c1", "bash", {}));
    await observer.ended(ended("c1", "bash", false));
    expect(reports).toEqual(["could not follow up a `bash` call"]);
  });
});

describe("the usage reporter", () => {
  function reporter(branch: unknown[] = []) {
    const taken: UsageReport[] = [];
    const reports: string[] = [];
    const recordUsage = async (report: UsageReport) => {
      taken.push(report);
      if (report.input === 13) {
        throw new Error("no");
      }
    };
    const failures = { ...quiet, report: async (what: string) => void reports.push(what) };
    const ctx = { sessionManager: { getBranch: () => branch } } as unknown as ExtensionContext;
    return { ...createUsageReporter({ recordUsage } as unknown as Session, failures), ctx, taken, reports };
  }
  const usage = (input: number) => ({ input, cacheRead: 20, cacheWrite: 0, output: 5 });
  const answer = (input: number) =>
    ({ type: "message_end", message: { role: "assistant", usage: usage(input) } }) as unknown as MessageEndEvent;

  test("reports usage, and marks answers to Pi's own messages", async () => {
    const { called, ended, taken } = reporter();
    called(true);
    await ended(answer(1));
    called(false);
    await ended(answer(2));
    await ended({ type: "message_end", message: { role: "user", content: "x", timestamp: 1 } });
    expect(taken).toEqual([
      { kind: "call", call: undefined, ...usage(1) },
      { kind: "call", call: 0, ...usage(2) },
    ]);
  });

  test("reports recent cache warming, oldest first", async () => {
    const warm = (id: string) => {
      return { type: "usage", kind: "cache_warm", id, timestamp: "2026-01-01T00:00:01Z", usage: usage(0) };
    };
    const message = (role: string) => ({ type: "message", message: { role } });
    const branch = [warm("a"), message("assistant"), warm("b"), message("toolResult"), message("assistant"), warm("c")];
    const { warmed, ctx, taken } = reporter(branch);
    await warmed(ctx);
    expect(taken.map(({ id }) => id)).toEqual(["b", "c"]);
    expect(taken[0]).toEqual({ kind: "cache_warm", id: "b", time: Date.UTC(2026, 0, 1, 0, 0, 1), ...usage(0) });
  });

  test("tells of a report that was not taken and goes on", async () => {
    const { ended, reports } = reporter();
    await ended(answer(13));
    expect(reports).toEqual(["usage was not taken"]);
  });
});
