// The extension's parts that need no Pi.
import { chmodSync, linkSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { ExtensionContext, MessageEndEvent } from "@earendil-works/pi-coding-agent";
import { describe, expect, test } from "vitest";
import type { Ledger, Session, UsageReport } from "../pi-extension/addon.ts";
import { createFailures, describe as describeError, type Failures } from "../pi-extension/failures.ts";
import { createObserver } from "../pi-extension/observe.ts";
import { contextReport } from "../pi-extension/report.ts";
import { statusLine } from "../pi-extension/status.ts";
import { createUsageReporter } from "../pi-extension/usage.ts";
import { temporaryFolder } from "./e2e/support.ts";

const status = {
  calls: 3,
  epoch: 1,
  epochs: 1,
  windowTokens: 34_120,
  plainTokens: 60_000,
  savedShare: 0.412,
  billRatio: 0.617,
  activeObjects: 12,
  indexedObjects: 20,
  pinnedObjects: 0,
  silentPlaces: [],
};

/** Failures that nobody is told of. */
const quiet: Failures = {
  report: async () => {},
  last: async () => {},
  farewell() {},
  log: async () => {},
  notice() {},
};

describe("the status line", () => {
  test("shows window tokens, share saved, the bill and active objects", () => {
    expect(statusLine(status)).toBe("palimpsest 34.1k tokens · 41 % saved · bill 0.62 · 12 active");
    expect(statusLine({ ...status, billRatio: null })).toBe("palimpsest 34.1k tokens · 41 % saved · 12 active");
  });

  test("says only that it is on before the first call", () => {
    expect(statusLine({ ...status, calls: 0 })).toBe("palimpsest on");
  });

  test("ends with what is wrong", () => {
    const silent = { ...status, calls: 0, silentPlaces: ["/mnt/a", "/mnt/b"] };
    expect(statusLine(silent)).toBe("palimpsest on · no answer from /mnt/a, /mnt/b");
    expect(statusLine({ ...status, calls: 0 }, { aside: "in memory", failed: "why" })).toBe(
      "palimpsest on · in memory · the last call went out as Pi's own, /context says why",
    );
  });
});

describe.skipIf(process.platform === "win32")("the log", () => {
  const report = (agentDir: string) =>
    createFailures(agentDir, { hasUI: true, ui: { notify() {} } } as unknown as ExtensionContext).report("it", "odd");

  test("is for its user only, also where an earlier one was not", async () => {
    const agentDir = temporaryFolder();
    const log = join(agentDir, "palimpsest", "errors.log");
    await report(agentDir);
    chmodSync(log, 0o644);
    await report(agentDir);
    expect(readFileSync(log, "utf8").match(/ it: odd\n/g)).toHaveLength(2);
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
    plant(victim, join(agentDir, "palimpsest", "errors.log"));
    await report(agentDir);
    expect(readFileSync(victim, "utf8")).toBe("not ours");
  });
});

test("an error is described in one line with its code and hint", () => {
  const error = Object.assign(new Error("no object\nis named `t9`"), { code: "UNKNOWN_NAME", hint: "use a handle" });
  expect(describeError(error)).toBe("no object is named `t9` (UNKNOWN_NAME); hint: use a handle");
  expect(describeError("odd")).toBe("odd");
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

  test("reports calls that did not run when they end, and our own tools never", async () => {
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

  test("hands over what bash showed, failed or not, and no more of it than is looked at", async () => {
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

  test("reports the usage of answers, those to Pi's own messages as none of ours", async () => {
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

  test("reports cache warming since the answer before the newest, oldest first", async () => {
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

describe("the report of /context", () => {
  const sums = (sent: number, cached: number, cost: number) => ({ sent, cached, written: sent - cached, cost });
  const ledger: Ledger = {
    calls: 42,
    failedCalls: 1,
    epoch: 2,
    prices: { name: "model", prices: { read: 0.1, write: 1.25 }, usdPerMillion: 3 },
    bill: 250_000,
    plainBill: 500_000,
    overhead: 4_000,
    ours: sums(900_000, 810_000, 240_000),
    plain: sums(2_000_000, 1_900_000, 480_000),
    plainCompactions: 0,
    warming: { requests: 2, cost: 10_000, plainCost: 20_000 },
    faults: { count: 0, cost: 0 },
    reported: {
      calls: 42,
      input: 90_000,
      cacheRead: 810_000,
      cacheWrite: 0,
      output: 9_000,
      cost: 245_000,
      estimatedCost: 240_000,
    },
    epochs: [
      { number: 2, call: 30, reason: "9000 of 12000 tokens collapsible", freed: 9_000, cost: 3_000, saved: -500 },
    ],
    perCall: [],
  };

  test("names the bill beside plain Pi's, what is in it, and what epochs saved", () => {
    expect(contextReport(status, ledger)).toBe(
      [
        "window  34.1k tokens of messages, plain Pi 60.0k; 12 active, 0 pinned",
        "bill    $0.750, plain Pi $1.500 (0.50); 42 calls, prices: model",
        "        of it $0.012 for our tools and guidance",
        "tokens  900.0k sent in all, 90 % cached; plain Pi 2.00M, 95 % cached",
        "        the provider reports 900.0k and $0.735 for 42 calls, which were estimated at $0.720",
        "        of it $0.030 for 2 requests to keep the cache",
        "        1 call went out with Pi's own messages and is not counted",
        "faults  0",
        "epochs  2",
        "        2 at call 30: 9000 of 12000 tokens collapsible; freed 9.0k, $0.002 not yet earned back",
      ].join("\n"),
    );
  });

  test("counts in tokens where nobody knows a price, and says so before the first call", () => {
    const unpriced = { ...ledger, prices: { name: "openai", prices: { read: 0.1, write: 1 } } };
    expect(contextReport(status, unpriced)).toContain("bill    250.0k uncached input tokens, plain Pi 500.0k (0.50);");
    expect(contextReport(status, { ...ledger, calls: 0 })).toBe("No call yet.");
  });
});
