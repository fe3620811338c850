// The page that `palimpsest replay --html` writes, from its file in a real browser.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import type { ReplayedFile, ReplayReport } from "../../index.js";
import { replayReport } from "../../index.js";
import { oneFile } from "../../inspector/server/one-file.js";
import { noBrowser, open, overhang, privateFolder, shoot, violations } from "./browser.ts";

const folder = privateFolder();
const lure = `</script><img src=x onerror="globalThis.wasRun = true">\u202e`;

function replayed(name: string, calls: number): ReplayedFile {
  const side = (tokens: number) => ({ tokens, cached: 0, cost: tokens / 8, compaction: 0, fault: null });
  const fault = { lines: 1, strict: true, ownWords: false, sources: [1], cost: 2_500 };
  const series = Array.from({ length: calls }, (_, call) => ({
    call,
    contents: { fixed: 4_600, user: call, assistant: 10 * call, output: 100 * (call % 9), reference: 5 },
    ours: { ...side(4_605 + 11 * call + 100 * (call % 9)), ...(call === 2 && { fault }) },
    plain: side(4_600 + 111 * call),
    compacted: call === 4,
  }));
  return {
    name,
    calls,
    bill: { ours: 6, plain: 10, ratio: calls / 10 },
    tokens: { ours: 12_400, plain: 1_250_000 },
    cachedTokens: { ours: 1, plain: 1 },
    cachedShare: { ours: 0.9, plain: 0.95 },
    peakWindow: { ours: 81_234, plain: 196_000 },
    epochs: calls > 2 ? [{ call: 2, reason: `cold ${lure}`, collapsed: 4, freedTokens: 9_000 }] : [],
    compactions: 0,
    plainCompactions: 1,
    faults: { raw: 3, strict: 1, ownWords: 1, cost: 2_500 },
    plainFaults: { raw: 0, strict: 0, ownWords: 0, cost: 0 },
    toolCalls: { all: calls, unknownFiles: 0, possibleChanges: 0 },
    notes: ["bad lines: 2"],
    format: "neutral",
    held: { requests: calls, calls },
    left: { requests: 0, calls: 0 },
    interrupted: { requests: 0, calls: 0 },
    read: { requests: calls, calls },
    copied: 0,
    unreadLines: 0,
    recorded: {
      model: null,
      prices: "anthropic",
      usdPerMillion: null,
      compactedAt: null,
      scale: 1,
      window: 200_000,
      fixedTokens: 4_000,
      hiddenTokens: 0,
      requests: 0,
      tokens: 0,
      plainTokens: 0,
      output: 0,
      cost: 0,
      from: null,
      to: null,
    },
    series,
  };
}

let files = 0;

/** Writes the page of a report, and gives its address. */
async function written(report: ReplayReport): Promise<string> {
  files += 1;
  const path = join(folder, `replay-${files}.html`);
  writeFileSync(path, await oneFile({ replays: report }));
  return pathToFileURL(path).href;
}

describe.skipIf(noBrowser)("the page of a replay", () => {
  test("shows the sum, a table of sessions, and the first session", async () => {
    const report = await replayReport([replayed("shop", 20), replayed(lure, 40)], { window: 200_000 });
    const page = await open(await written(report));
    const text = await page.getByRole("main").textContent();
    expect(text).toContain("Layout log, prices anthropic, a window of 200k tokens.");
    expect(text).toContain("2 sessions, 60 calls, 2 epochs");
    await expect(page.locator("tr", { hasText: "shop" }).textContent()).resolves.toMatch(
      /20\s*200\.0\s%\s*12\.4k \/ 1\.25M/,
    );
    expect(await page.getByRole("region", { name: "Chosen session" }).textContent()).toContain(
      "Of the file: bad lines: 2.",
    );
    await shoot(page, "replay");
  });

  test("sorts by a heading, and shows a session on a click", async () => {
    const page = await open(await written(await replayReport([replayed("a", 16), replayed("b", 30)])));
    const names = page.locator("tbody .name");
    expect(await names.allInnerTexts()).toEqual(["a", "b"]);
    await page.getByRole("button", { name: "calls", exact: true }).press("Enter");
    expect(await names.allInnerTexts()).toEqual(["b", "a"]);
    await page.getByRole("button", { name: "b", exact: true }).click();
    await page.getByRole("heading", { name: "b", exact: true }).waitFor();
  });

  test("says so where no session was replayed", async () => {
    const page = await open(await written(await replayReport([])));
    await page.getByText("No session was replayed.").waitFor();
  });

  test.each(["light", "dark"] as const)("has no serious violation of accessibility in %s", async (colorScheme) => {
    const page = await open(await written(await replayReport([replayed("shop", 20)])), { colorScheme });
    await page.getByText("1 epoch", { exact: true }).click();
    expect(await violations(page)).toEqual([]);
    await shoot(page, `replay-${colorScheme}`);
  });

  test("fits into 380 pixels", async () => {
    const page = await open(await written(await replayReport([replayed("shop", 20)])), {
      viewport: { width: 380, height: 800 },
    });
    await page.getByRole("heading", { name: "shop" }).waitFor();
    expect(await overhang(page)).toBe(0);
    await shoot(page, "replay-380");
  });
});
