// What the model is told of our tools, on the wire: what it costs, that it never changes, and that a model which misunderstands it
// neither gets stuck nor does harm.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { countTokens, replayReport, tools } from "../../index.js";
import { runPi } from "../../scripts/lib/pi.js";
import type { RequestBody, Step } from "../../scripts/lib/scripted-model.js";
import { root } from "../../scripts/setup.js";
import { startProvider } from "./providers.ts";
import { contextToolNames, expectPairedCalls, extension, resultsOf, start } from "./support.ts";

type Json = Record<string, unknown>;

const call = (name: string, args: unknown): Step => ({ calls: [{ name, args }] });
const done: Step = { text: "Done." };
const lines = (name: string, count: number) =>
  Array.from({ length: count }, (_, at) => `line ${at + 1} of ${name}, and some words\n`).join("");

/** Most tokens that system prompt and tools may grow by, without memory and with an empty one, and by that alone. */
const most = { without: 450, with: 650, memory: 200 };

/** System prompt and tools of the first request of a session in this format, as they stand in its body. */
async function fixedParts(format: "openai" | "anthropic", args: string[]): Promise<string[]> {
  const run = async () => {
    if (format === "openai") {
      const { model, sandbox } = await start([done]);
      return { sandbox, first: () => model.requests[0].body as unknown as Json };
    }
    const { bodies, sandbox } = await startProvider(format, [{ text: "Done." }], { id: "claude-x", apiKey: "key" });
    return { sandbox, first: () => bodies[0] };
  };
  const { sandbox, first } = await run();
  expect(await runPi(sandbox, [...args, "-p", "hi"])).toMatchObject({ code: 0, stderr: "" });
  const { tools: declared, system, messages } = first();
  const prompt = (messages as Json[]).filter(({ role }) => role === "system" || role === "developer");
  return [JSON.stringify(declared), JSON.stringify([system ?? null, prompt])].map((part) =>
    part.replaceAll(sandbox.dir, "<sandbox>"),
  );
}

async function tokensOf(parts: string[]): Promise<number> {
  const counts = await Promise.all(parts.map(countTokens));
  return counts.reduce((sum, count) => sum + count, 0);
}

test.each(["openai", "anthropic"] as const)("in %s's format all of it is within the limit", async (format) => {
  const plain = await tokensOf(await fixedParts(format, []));
  const ours = await fixedParts(format, ["-e", extension, "--no-memory"]);
  const added = (await tokensOf(ours)) - plain;
  expect(added).toBeGreaterThan(100);
  expect(added).toBeLessThanOrEqual(most.without);
  const all = (await tokensOf(await fixedParts(format, ["-e", extension]))) - plain;
  expect(all - added).toBeGreaterThan(100);
  expect(all - added).toBeLessThanOrEqual(most.memory);
  expect(all).toBeLessThanOrEqual(most.with);
  const [declared, prompt] = ours;
  const page = readFileSync(join(root, "docs", "what-the-model-sees.md"), "utf8");
  for (const { name, description, promptSnippet, promptGuidelines } of tools()) {
    expect(declared).toContain(JSON.stringify(description));
    expect(prompt).toContain(promptSnippet === undefined ? "" : `- ${name}: ${promptSnippet}`);
    for (const guideline of promptGuidelines) {
      expect(page).toContain(`\n${guideline}\n`);
      expect(prompt.split(`- ${guideline}`), guideline).toHaveLength(2);
    }
  }
  // What replays and the ledger count.
  const texts = tools().flatMap(({ name, description, parameters, promptSnippet, promptGuidelines }) => [
    JSON.stringify({ name, description, parameters }),
    ...(promptSnippet === undefined ? [] : [`- ${name}: ${promptSnippet}\n`]),
    ...promptGuidelines.map((guideline) => `- ${guideline}\n`),
  ]);
  const { overheadTokens } = await replayReport([]);
  const counted = await tokensOf(texts);
  expect(page).toContain(`${counted} tokens`);
  expect(counted).toBeLessThanOrEqual(overheadTokens);
  expect(overheadTokens).toBeLessThanOrEqual(most.without);
});

function lastResult(body: RequestBody): string {
  return String(body.messages.findLast(({ role }) => role === "tool")?.content);
}

test("it is the same in every request, even after a resume", async () => {
  const change = call("bash", { command: "sed -i 's/line 7 of/LINE SEVEN of/' a.txt" });
  const read = call("read", { path: "a.txt" });
  const steps = [read, change, call("activate", { name: "f1" }), done, read, call("pin", { name: "t1" }), done];
  const { model, sandbox } = await start(steps, { files: { "a.txt": lines("a", 30) } });
  for (const args of [
    ["-p", "go"],
    ["--continue", "-p", "on"],
  ]) {
    expect(await runPi(sandbox, ["-e", extension, ...args])).toMatchObject({ code: 0, stderr: "" });
  }
  const [first, ...others] = model.requests.map(({ body }) => JSON.stringify([body.messages[0], body.tools]));
  expect(others).toEqual(steps.slice(1).map(() => first));
  expect(contextToolNames.filter((name) => !first.includes(`"name":"${name}"`))).toEqual([]);
});

describe("a model that", () => {
  test("repeats a call right away gets the content again", async () => {
    const [read, long, other] = [
      call("read", { path: "a.txt" }),
      call("bash", { command: "seq 1 9000" }),
      call("bash", { command: "true" }),
    ];
    const steps = [read, read, read, other, read, read, long, long, long, other, long, long, done];
    const { model, sandbox } = await start(steps, { files: { "a.txt": lines("a", 60) } });
    expect(await runPi(sandbox, ["-e", extension, "-p", "go"])).toMatchObject({ code: 0, stdout: "Done.\n" });
    const whole = lines("a", 60);
    const said = model.requests.map(({ body }) => lastResult(body));
    expect(said.slice(1, 4)).toEqual([whole, whole, whole]);
    expect(said[5]).toBe("f1 unchanged; lines 1-60 stand in the read result above (t1).");
    expect(said[6]).toContain(whole);
    const numbers = Array.from({ length: 2_000 }, (_, at) => `${at + 7_001}`).join("\n");
    const isWhole = said.slice(7).map((text) => text.startsWith(`${numbers}\n\n[Showing lines 7001-9000 of 9000. `));
    // The first of each run is shown in part, or named where it stands.
    expect(isWhole).toEqual([false, true, true, false, false, true]);
    expectPairedCalls(model);
  });

  test("sends arguments that a tool lacks hears which it has", async () => {
    const ranged = call("activate", { name: "t1", start: 40, end: 42 });
    const { model, sandbox } = await start([call("bash", { command: "seq 1 50" }), ranged, done]);
    expect(await runPi(sandbox, ["-e", extension, "-p", "go"])).toMatchObject({ code: 0, stdout: "Done.\n" });
    // Passed over, they would bring the whole.
    expect(resultsOf(model)[1]).toContain(
      "`start`, `end` are not arguments of this tool, which takes `name`, `lines` (as 40-80)",
    );
  });

  test("keeps activating the same object gets it each time", async () => {
    const again = call("activate", { name: "t1", lines: "90-92" });
    const shown = call("bash", { command: "seq 1 3000" });
    const { model, sandbox } = await start([shown, ...Array(12).fill(again), done]);
    expect(await runPi(sandbox, ["-e", extension, "-p", "go"])).toMatchObject({ code: 0, stdout: "Done.\n" });
    expect(resultsOf(model).slice(1)).toEqual(Array(12).fill("[t1] bash · lines 90-92 of 3,000\n90\n91\n92"));
    expectPairedCalls(model);
  });

  test("sends nearly valid arguments is understood", async () => {
    const numbers = call("bash", { command: "seq 1 50" });
    const given = [
      { lines: 40 },
      { lines: "40", pattern: null, start: "" },
      { lines: "", pattern: "^40$" },
      { lines: null },
    ];
    const asks = given.map((rest) => call("activate", { name: "t1", ...rest }));
    const { model, sandbox } = await start([numbers, ...asks, done]);
    expect(await runPi(sandbox, ["-e", extension, "-p", "go"])).toMatchObject({ code: 0, stdout: "Done.\n" });
    const heads = resultsOf(model).map((text) => text.split("\n")[0]);
    const one = "[t1] bash · line 40 of 50";
    const stands = "t1 unchanged; lines 1-50 stand in the bash result above (t1).";
    expect(heads.slice(1)).toEqual([one, one, "[t1] bash · lines 38-42 of 50", stands]);
  });

  test.each(["write", "edit"])("uses %s to put a line of ours into a file is refused", async (tool) => {
    const line = (body: RequestBody) => /^… [\d,]+ lines between \(t1:\d+-\d+\) …$/m.exec(lastResult(body))?.[0] ?? "";
    const filled = (text: string) =>
      tool === "write"
        ? call("write", { path: "a.txt", content: `first\n${text}\nlast\n` })
        : call("edit", { path: "a.txt", edits: [{ oldText: "line 3 of a, and some words", newText: text }] });
    let wrong = "";
    const { model, sandbox } = await start(
      ({ n, body }): Step => {
        if (n === 1) {
          wrong = line(body);
        }
        const way = [
          call("bash", { command: "seq 1 9000" }),
          filled(wrong),
          call("activate", { name: "t1", lines: "4500" }),
        ];
        return [...way, filled(lastResult(body).split("\n")[1] ?? ""), done][n];
      },
      { files: { "a.txt": lines("a", 5) } },
    );
    expect(await runPi(sandbox, ["-e", extension, "-p", "go"])).toMatchObject({ code: 0, stdout: "Done.\n" });
    expect(wrong).not.toBe("");
    const [, refused, activated] = resultsOf(model);
    expect(refused).toBe(
      `\`${wrong}\` is not text of the file: it stands for lines that are not shown here. Nothing was written. Activate it to see them, then give the real lines.`,
    );
    expect(activated).toBe("[t1] bash · line 4500 of 9,000\n4500");
    const path = join(sandbox.projectDir, "a.txt");
    expect(existsSync(path) && readFileSync(path, "utf8")).toBe(
      tool === "write" ? "first\n4500\nlast\n" : lines("a", 5).replace("line 3 of a, and some words", "4500"),
    );
  });
});
