// MCP tools in the real Pi 1.5, over stdio, in each way in which they reach the model: declared, found by `tool_search`, called from a
// script. Their results have several blocks, images and structured content, and long ones lack their middle.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { runPi, type Sandbox, startPiRpc } from "../../../scripts/lib/pi.js";
import type { ScriptedModel, Step } from "../../../scripts/lib/scripted-model.js";
import { pinnedNode } from "../../../scripts/setup.js";
import { useModel } from "../providers.ts";
import {
  contextToolNames,
  conversation,
  expectPairedCalls,
  extension,
  ledgerOf,
  resultsOf,
  start,
  toolNames,
} from "../support.ts";

const call = (name: string, args: unknown = {}): Step => ({ calls: [{ name, args }] });
const report = call("mcp__reports__report", { rows: 9 });
const done: Step = { text: "Done." };

/** Lets a sandbox's Pi have the server of the tests, and a model that takes images. */
function configure(sandbox: Sandbox, baseUrl: string, exposure: string) {
  const server = { command: pinnedNode(), args: [join(import.meta.dirname, "mcp-server.js")], exposure };
  writeFileSync(join(sandbox.agentDir, "mcp.json"), JSON.stringify({ mcpServers: { reports: server } }));
  const models = [{ id: "seeing", input: ["text", "image"], contextWindow: 1_000_000, maxTokens: 8_000 }];
  useModel(sandbox, { baseUrl, api: "openai-completions", apiKey: "none", models });
}

async function run(exposure: string, steps: Step[], args = ["-e", extension]) {
  const { model, sandbox } = await start(steps);
  configure(sandbox, model.baseUrl, exposure);
  expect(await runPi(sandbox, [...args, "-p", "go"])).toMatchObject({ code: 0, stdout: "Done.\n", stderr: "" });
  expectPairedCalls(model);
  return { model, sandbox };
}

const fromScript = `
  const { content, structuredContent } = await tools.mcp__reports__report({ rows: 9 });
  image(content[2]);
  return structuredContent.rows.filter((row) => row.startsWith("row 7"))`;

/** What the model does in each way in which it reaches the tools. */
const ways: Record<string, Step[]> = {
  direct: [report, call("mcp__reports__list", { rows: 4 }), call("mcp__reports__fail"), done],
  deferred: [call("tool_search", { query: "report" }), report, call("mcp__reports__fail"), done],
  codemode: [call("codemode", { code: fromScript }), done],
};

describe("with tools that are exposed as", () => {
  test.each(Object.keys(ways))("%s, what is short goes out as from plain Pi", async (exposure) => {
    const ours = await run(exposure, ways[exposure]);
    const plain = await run(exposure, ways[exposure], []);
    // Each run has times of its own, and Pi saves images to files.
    const same = ({ model, sandbox }: typeof ours) =>
      JSON.stringify(conversation(model, sandbox.dir))
        .replaceAll(/Wall time [\d.]+ seconds/g, "Wall time")
        .replaceAll(/pi-codemode-\w+/g, "pi-codemode");
    expect(same(ours)).toBe(same(plain));
    expect(same(ours)).toContain("row 7 of the report, in words");
    expect(same(ours)).toContain("image_url");
    const others = (model: ScriptedModel) =>
      toolNames(model.requests.at(-1)?.body ?? { model: "", messages: [] }).filter(
        (name) => !contextToolNames.includes(name),
      );
    expect(others(ours.model)).toEqual(others(plain.model));
  });
});

test("a long result is kept whole although Pi truncates it", async () => {
  const long = call("mcp__reports__long", { rows: 3_000 });
  const pattern = call("activate", { name: "t1", pattern: "^row 15(00|01) " });
  const { model } = await run("direct", [long, pattern, call("activate", { name: "t1" }), done]);
  const [shown, found, again] = resultsOf(model);
  expect(shown).toContain("Total output lines: 3000\n");
  const rows = [1498, 1499, 1500, 1501, 1502, 1503].map((row) => `row ${row} of the report, in words`);
  expect(found.split("\n")).toEqual(["[t1] mcp__reports__long · lines 1498-1503 of 3,000", ...rows]);
  const [heading, ...lines] = again.split("\n");
  const [, last, first] = /^\[t1\] mcp__reports__long · lines 1-(\d+), (\d+)-3000 of 3,000$/.exec(heading) ?? [];
  expect(Number(last), heading).toBeGreaterThan(100);
  expect(Number(first), heading).toBeGreaterThan(Number(last));
  const expected = [...Array(Number(last)).keys(), ...Array.from(Array(3_000).keys()).slice(Number(first) - 1)];
  expect(lines.filter((line) => line.startsWith("row "))).toEqual(
    expected.map((row) => `row ${row + 1} of the report, in words`),
  );
});

test("tools that tool_search adds cost one call and then stay", async () => {
  const steps = [
    call("bash", { command: "true" }),
    call("tool_search", { query: "report" }),
    report,
    done,
    report,
    done,
  ];
  const { model, sandbox } = await start(steps);
  configure(sandbox, model.baseUrl, "deferred");
  const pi = startPiRpc(sandbox, ["-e", extension]);
  await pi.prompt("go");
  await pi.prompt("and on");
  expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });
  const tools = model.requests.map(({ body }) => JSON.stringify(body.tools));
  expect(tools[1]).toBe(tools[0]);
  expect(tools[2]).not.toBe(tools[1]);
  expect(tools.slice(3)).toEqual([tools[2], tools[2], tools[2]]);
  const { perCall } = ledgerOf(sandbox);
  for (const side of ["ours", "plain"] as const) {
    const cached = perCall.map((line) => line[side].cached);
    expect(cached[1], side).toBeGreaterThan(0);
    // The declarations stand before all else.
    expect(cached[2], side).toBe(0);
    expect(cached[3], side).toBeGreaterThan(0);
  }
});
