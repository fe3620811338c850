// Pi's compaction in the real Pi: not at the threshold while our request fits, without a model call after an overflow, by `/compact` as
// Pi does it, and as always where Palimpsest is off or fails.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { runPiJson, startPiRpc } from "../../scripts/lib/pi.js";
import type { RequestBody, Step } from "../../scripts/lib/scripted-model.js";
import { copyOfPackage, entryOf, expectPairedCalls, extension, isSummary, start } from "./support.ts";
import { allText, hasTools, startWire } from "./wires.ts";

const timeout = 120_000;
const contextWindow = 40_000;

function text(body: RequestBody | undefined): string {
  return JSON.stringify((body?.messages ?? []).filter((message) => message.role !== "system"));
}

/** Pi cuts what one command prints; this many tokens it shows. */
const mostTokens = 7_000;

/** A step whose outputs have about this many tokens in all. */
function output(number: number, tokens: number): Step {
  const parts = Math.ceil(tokens / mostTokens);
  const lines = Math.ceil(tokens / parts / 12);
  const command = (part: number) =>
    `for i in $(seq 1 ${lines}); do echo "run ${number}.${part} case $i is as it was before"; done`;
  return { calls: Array.from({ length: parts }, (_, part) => ({ name: "bash", args: { command: command(part) } })) };
}

interface Played {
  events: { type: string; reason?: unknown; result?: unknown; aborted?: unknown; [key: string]: unknown }[];
}

const starts = ({ events }: Played) => events.filter((event) => event.type === "compaction_start").length;
const ends = ({ events }: Played) => events.filter((event) => event.type === "compaction_end");

describe("at the threshold", () => {
  /** Outputs of 36,000 tokens in one step, which pass Pi's threshold at once, and some small ones after it. */
  async function play(args: string[], palimpsest: Record<string, unknown> = {}, usage?: null) {
    let done = 0;
    const { model, sandbox } = await start(
      ({ body }): Step => {
        if (isSummary(body)) {
          return { text: "What happened so far: commands ran." };
        }
        done += 1;
        const step = done < 8 ? output(done, done === 2 ? 36_000 : 3_000) : { text: "Done." };
        return usage === undefined ? step : { ...step, usage };
      },
      { contextWindow, palimpsest: { prices: "openai", previewTokens: 0, ...palimpsest } },
    );
    const played = await runPiJson(sandbox, [...args, "-p", "go"], { deadlineMs: timeout });
    return { ...played, model, sandbox };
  }

  test("Pi does not compact while our request fits", { timeout }, async () => {
    const played = await play(["-e", extension]);
    expect(played).toMatchObject({ code: 0, stderr: "" });
    expect(played.model.errors).toEqual([]);
    expect(starts(played)).toBeGreaterThan(0);
    expect(starts(played)).toBeLessThan(played.model.requests.length);
    expect(ends(played).every((event) => event.aborted === true)).toBe(true);
    expect(played.model.requests.filter(({ body }) => isSummary(body))).toEqual([]);
    expect(played.model.requests).toHaveLength(8);
    for (const { body } of played.model.requests) {
      expect(text(body).length / 4).toBeLessThan(contextWindow * 0.75);
      expect(text(body)).not.toContain("What happened so far");
    }
    expectPairedCalls(played.model);
  });

  test("Pi compacts in the end if no provider reports token counts", { timeout }, async () => {
    const played = await play(["-e", extension], {}, null);
    expect(played).toMatchObject({ code: 0, stderr: expect.stringContaining("reports no tokens for its calls") });
    expect(
      ends(played)
        .slice(0, 4)
        .map((event) => event.aborted),
    ).toEqual([true, true, true, false]);
    expect(played.model.requests.filter(({ body }) => isSummary(body)).length).toBeGreaterThan(0);
    expectPairedCalls(played.model);
  });

  test.each([
    ["is off", { enabled: false }, [extension]],
    ["is not there", {}, []],
  ])("Pi compacts as always where Palimpsest %s", { timeout }, async (_name, settings, extensions) => {
    const played = await play(
      extensions.flatMap((path) => ["-e", path]),
      settings,
    );
    expect(played.code).toBe(0);
    expect(ends(played).some((event) => event.result !== undefined)).toBe(true);
    expect(played.model.requests.some(({ body }) => isSummary(body))).toBe(true);
    expect(text(played.model.requests.at(-1)?.body)).toContain("What happened so far");
  });

  test.each([
    ["answerCompaction", "Pi compacts as without Palimpsest: answerCompaction is broken"],
    ["transformContext", "a call went out with Pi's own messages: transformContext is broken"],
  ])("Pi compacts as always where %s fails", { timeout }, async (method, told) => {
    const copy = copyOfPackage();
    const index = join(copy, "index.js");
    const broken = `${readFileSync(index, "utf8")}
import { Session as Broken } from "./lib/session.js";
Broken.prototype.${method} = async () => {
  throw new Error("${method} is broken");
};
`;
    writeFileSync(index, broken);
    const played = await play(["-e", entryOf(copy)]);
    expect(played.code).toBe(0);
    expect(played.stderr).toContain(told);
    expect(ends(played).some((event) => event.result !== undefined)).toBe(true);
    expect(played.model.requests.some(({ body }) => isSummary(body))).toBe(true);
  });
});

test("after an overflow the retry fits, and content can come back", { timeout }, async () => {
  const said = "The release branch is called amber-falcon.";
  let done = 0;
  let refused = 0;
  const { model, sandbox } = await start(
    ({ body }): Step => {
      const sent = text(body);
      if (sent.includes("bring it back")) {
        const note = /\[(s\d+)\] turns? 1/.exec(sent);
        const isBack = body.messages.some(
          (message) => message.role === "tool" && text({ ...body, messages: [message] }).includes("amber-falcon"),
        );
        return isBack || note === null
          ? { text: "There it is." }
          : { calls: [{ name: "activate", args: { name: String(note[1]) } }] };
      }
      // This provider takes less than Pi believes.
      if (sent.length > 60_000 * 4) {
        refused += 1;
        return { status: 400, error: "prompt is too long: 65000 tokens > 60000 maximum" };
      }
      done += 1;
      return done < 20 && refused === 0 ? output(done, 5_000) : { text: "Done." };
    },
    { contextWindow: 200_000, palimpsest: { previewTokens: 0, prices: "anthropic" } },
  );
  const pi = startPiRpc(sandbox, ["-e", extension], { deadlineMs: timeout });
  await pi.prompt(said);
  await pi.prompt("bring it back");
  expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });
  expect(refused).toBe(1);
  expect(model.requests.filter(({ body }) => isSummary(body))).toEqual([]);
  const events = pi.records as Played["events"];
  expect(ends({ events })).toMatchObject([{ reason: "overflow", aborted: false, willRetry: true }]);
  const at = model.requests.findIndex(({ body }) => text(body).length > 60_000 * 4);
  const retry = text(model.requests[at + 1]?.body);
  expect(retry.length).toBeLessThan(60_000 * 4);
  expect(retry).toContain("All of them are kept word for word:\\n[s1] turn 1 in full");
  expect(retry).toContain(`turn 1: ${said}`);
  const back = (model.requests.at(-1)?.body.messages ?? []).filter((message) => message.role === "tool");
  expect(JSON.stringify(back)).toContain(`user, turn 1:\\n${said}`);
  expectPairedCalls(model);
});

test("`/compact` is Pi's own, and compacted content can come back", { timeout }, async () => {
  const { model, sandbox } = await start(
    ({ body }): Step => {
      const sent = text(body);
      if (isSummary(body)) {
        return { text: "They talked." };
      }
      const note = /\[(s\d+)\] turns 1-2 in full/.exec(sent);
      if (sent.includes("bring it back") && note !== null && !sent.includes("amber-falcon")) {
        return { calls: [{ name: "activate", args: { name: String(note[1]) } }] };
      }
      return { text: sent.includes("bring it back") ? "There." : "I keep that in mind." };
    },
    { settings: { compaction: { keepRecentTokens: 1 } } },
  );
  const pi = startPiRpc(sandbox, ["-e", extension], { deadlineMs: timeout });
  await pi.prompt("The release branch is called amber-falcon.");
  await pi.prompt("and then");
  // No call has what a person ran, and behind it the last answer is not among what stays.
  await pi.send({ type: "bash", command: "echo copper-otter" });
  await pi.send({ type: "compact", customInstructions: "Mind the branches." });
  await pi.prompt("bring it back");
  expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });
  const summaries = model.requests.filter(({ body }) => isSummary(body));
  expect(summaries.some(({ body }) => JSON.stringify(body).includes("Mind the branches."))).toBe(true);
  const sent = text(model.requests.at(-1)?.body);
  expect(sent).toContain("They talked.");
  expect(sent).toContain("user, turn 1:\\nThe release branch is called amber-falcon.");
  expect(sent.match(/I keep that in mind\./g)).toHaveLength(2);
  expectPairedCalls(model);
});

describe("in Anthropic's format", { timeout }, () => {
  const palimpsest = { prices: "anthropic", previewTokens: 0 };

  test("Pi does not compact at the threshold while our request fits", async () => {
    let done = 0;
    const script = ({ body }: { body: Record<string, unknown> }): Step => {
      if (!hasTools(body)) {
        return { text: "What happened so far: commands ran." };
      }
      done += 1;
      return done < 8 ? output(done, done === 2 ? 36_000 : 3_000) : { text: "Done." };
    };
    const { bodies, sandbox } = await startWire("anthropic", script, { contextWindow, palimpsest });
    const played = await runPiJson(sandbox, ["-e", extension, "-p", "go"], { deadlineMs: timeout });
    expect(played).toMatchObject({ code: 0, stderr: "" });
    expect(starts(played)).toBeGreaterThan(0);
    expect(ends(played).every((event) => event.aborted === true)).toBe(true);
    expect(bodies().every(hasTools)).toBe(true);
    for (const body of bodies()) {
      expect(allText(body).length / 4).toBeLessThan(contextWindow * 0.75);
    }
  });

  test("after an overflow the retry fits, without a summary", async () => {
    let done = 0;
    let refused = 0;
    const script = ({ body }: { body: Record<string, unknown> }): Step => {
      if (allText(body).length > 60_000 * 4) {
        refused += 1;
        return { status: 400, error: "prompt is too long: 65000 tokens > 60000 maximum" };
      }
      done += 1;
      return done < 20 && refused === 0 ? output(done, 5_000) : { text: "Done." };
    };
    const { bodies, sandbox } = await startWire("anthropic", script, { contextWindow: 200_000, palimpsest });
    const played = await runPiJson(sandbox, ["-e", extension, "-p", "Call it amber-falcon."], { deadlineMs: timeout });
    expect(played).toMatchObject({ code: 0, stderr: expect.stringContaining("reports nothing from a cache") });
    expect(refused).toBe(1);
    expect(bodies().every(hasTools)).toBe(true);
    expect(ends(played)).toMatchObject([{ reason: "overflow", aborted: false, willRetry: true }]);
    const retry = allText(bodies().at(-1));
    expect(retry.length).toBeLessThan(60_000 * 4);
    expect(retry).toContain("turn 1: Call it amber-falcon.");
  });
});
