// The extension's pure parts.
import { describe, expect, test } from "vitest";
import type { Session } from "../pi-extension/addon.ts";
import { describe as describeError } from "../pi-extension/failures.ts";
import { createObserver } from "../pi-extension/observe.ts";
import { statusLine } from "../pi-extension/status.ts";

const status = {
  calls: 3,
  epoch: 1,
  epochs: 1,
  windowTokens: 34_120,
  plainTokens: 60_000,
  savedShare: 0.412,
  activeObjects: 12,
  indexedObjects: 20,
  pinnedObjects: 0,
};

describe("the status line", () => {
  test("shows window tokens, share saved and active objects", () => {
    expect(statusLine(status)).toBe("palimpsest 34.1k tokens · 41 % saved · 12 active");
  });

  test("says only that it is on before the first call", () => {
    expect(statusLine({ ...status, calls: 0 })).toBe("palimpsest on");
  });
});

test("an error is described in one line with its code and hint", () => {
  const error = Object.assign(new Error("no object\nis named `t9`"), { code: "UNKNOWN_NAME", hint: "use a handle" });
  expect(describeError(error)).toBe("no object is named `t9` (UNKNOWN_NAME); hint: use a handle");
  expect(describeError("odd")).toBe("odd");
});

describe("the observer", () => {
  function observe(toolFinished: Session["toolFinished"] = async () => {}) {
    const finished: unknown[] = [];
    const reports: string[] = [];
    const session = {
      toolFinished: (event: Parameters<Session["toolFinished"]>[0]) => {
        finished.push(event);
        return toolFinished(event);
      },
    } as Session;
    const failures = { report: async (what: string) => void reports.push(what), notice() {} };
    return { observer: createObserver(session, failures, new Set(["activate"])), finished, reports };
  }

  const started = (toolCallId: string, toolName: string, args: unknown) =>
    ({ type: "tool_execution_start", toolCallId, toolName, args }) as const;
  const ended = (toolCallId: string, toolName: string, isError: boolean) =>
    ({ type: "tool_execution_end", toolCallId, toolName, result: { content: [] }, isError }) as const;

  test("reports a wrapped tool's success once, with the arguments that ran", async () => {
    const { observer, finished } = observe();
    observer.started(started("c1", "ls", { path: "as asked" }));
    const result = { content: [{ type: "text" as const, text: "a\nb" }], details: undefined };
    await observer.wrappedToolSucceeded({ toolCallId: "c1", toolName: "ls", args: { path: "as run" }, result });
    await observer.ended(ended("c1", "ls", false));
    expect(finished).toEqual([
      { toolCallId: "c1", toolName: "ls", args: { path: "as run" }, isError: false, text: "a\nb" },
    ]);
  });

  test("reports other tools and failures from the host's events, and our own tools never", async () => {
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

  test("turns a failing side effect into a report", async () => {
    const { observer, reports } = observe(async () => {
      throw new Error("disk full");
    });
    observer.started(started("c1", "bash", {}));
    await observer.ended(ended("c1", "bash", false));
    expect(reports).toEqual(["could not follow up a `bash` call"]);
  });
});
