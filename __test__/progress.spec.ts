// Progress of the command line, by a clock of the test: nothing for what is quick, then lines on stderr; stdout stays free.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { withProgress } from "../bin/lib/progress.js";

const { stderr, stdout } = process;
const isTerminal = stderr.isTTY;
let said = "";

beforeEach(() => {
  said = "";
  vi.useFakeTimers();
  vi.spyOn(stderr, "write").mockImplementation((text) => {
    said += text;
    return true;
  });
  vi.spyOn(stdout, "write");
});

afterEach(() => {
  expect(stdout.write).not.toHaveBeenCalled();
  stderr.isTTY = isTerminal;
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** Runs work that reports a state each second. */
async function work(what: string, seconds: number, state: (second: number) => string | null) {
  const running = withProgress(what, async (report) => {
    for (let second = 0; second < seconds; second += 1) {
      const now = state(second);
      if (now !== null) {
        report(now);
      }
      await new Promise((done) => setTimeout(done, Math.min(1, seconds - second) * 1_000));
    }
    return "done";
  });
  await vi.advanceTimersByTimeAsync(seconds * 1_000);
  expect(await running).toBe("done");
}

test("on a terminal, quick work goes without a word", async () => {
  stderr.isTTY = true;
  await work("counting", 0.9, () => "7 files");
  expect(said).toBe("");
});

test("work over a second shows one temporary line on a terminal", async () => {
  stderr.isTTY = true;
  await work("counting", 3, (second) => `${second} files`);
  const lines = said.split("\r\u001b[K");
  expect(lines.slice(0, 2)).toEqual(["", "counting: 0 files (1 s)"]);
  expect(lines).toContain("counting: 2 files (2 s)");
  expect(lines.at(-1)).toBe("");
});

test("work of some seconds prints nothing to a log", async () => {
  await work("counting", 9, () => "7 files");
  expect(said).toBe("");
});

test("in a log, long work says every ten seconds how far it is", async () => {
  await work("counting", 25, (second) => `${second} files`);
  expect(said).toBe("counting: 9 files (10 s)\ncounting: 19 files (20 s)\n");
});

test("work that does not say how far it is says how long it takes", async () => {
  await work("asking the server", 11, () => null);
  expect(said).toBe("asking the server (10 s)\n");
});
