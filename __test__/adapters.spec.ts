// The adapter of docs/adapters.md, at work between a scripted harness and the addon.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { root } from "../scripts/setup.js";
import { attach } from "./adapter-example.ts";
import { temporaryFolder } from "./e2e/support.ts";
import { type ChatMessage, Harness } from "./harness.ts";

/** A harness with the adapter, in a folder with one file. */
async function attached() {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, "notes.txt"), "first line\nsecond line\n");
  const harness = new Harness(cwd);
  const session = await attach(harness, ":memory:");
  onTestFinished(() => harness.onClose());
  return { harness, session, cwd };
}

const last = (request: ChatMessage[]) => request[request.length - 1];

test("the document shows the tested adapter in at most 75 lines", () => {
  const example = readFileSync(join(root, "__test__", "adapter-example.ts"), "utf8");
  expect(readFileSync(join(root, "docs", "adapters.md"), "utf8")).toContain(`\`\`\`ts\n${example}\`\`\``);
  expect(example.trimEnd().split("\n").length).toBeLessThanOrEqual(75);
});

test("what is not changed goes out as the harness has it", async () => {
  const { harness } = await attached();
  await harness.prompt("Look at the notes.", [
    { tool: "open_file", args: { file: "notes.txt" } },
    { text: "Two lines." },
  ]);
  expect(harness.requests[1]).toEqual([
    { id: "m0", role: "user", content: "Look at the notes." },
    {
      id: "m1",
      role: "assistant",
      content: null,
      tool_calls: [{ id: "call_1", function: { name: "open_file", arguments: `{"file":"notes.txt"}` } }],
    },
    { id: "m2", role: "tool", content: "first line\nsecond line\n", tool_call_id: "call_1" },
  ]);
});

test("tracks files through the harness's own tool names", async () => {
  const { harness, session, cwd } = await attached();
  await harness.prompt("Look at the notes.", [
    { tool: "open_file", args: { file: "notes.txt" } },
    { text: "Two lines." },
  ]);
  const { index, active } = await session.sets();
  const file = index.find(({ type }) => type === "file");
  expect(file).toMatchObject({ handle: "f1", path: join(cwd, "notes.txt") });
  expect(active).toContain("f1");
  writeFileSync(join(cwd, "notes.txt"), "first line\nanother line\n");
  await harness.prompt("And now?", [{ text: "It changed." }]);
  expect(last(harness.requests[2]).content).toMatch(/notes\.txt changed on disk[\s\S]*another line\nAnd now\?$/);
});

test("shows part of a long output, and `activate` shows all of it", async () => {
  const { harness } = await attached();
  const output = Array.from({ length: 2_000 }, (_, line) => `line ${line} of a long output`).join("\n");
  await harness.prompt("Run it.", [
    { tool: "run_command", args: { command: "make", output } },
    { tool: "activate", args: { name: "t1", lines: "1000-1001" } },
    { text: "Done." },
  ]);
  const shown = last(harness.requests[1]).content ?? "";
  expect(shown.length).toBeLessThan(output.length / 4);
  expect(last(harness.requests[2]).content).toContain("line 1000 of a long output");
});

test("a line that stands for content is not written into a file", async () => {
  const { harness, cwd } = await attached();
  const output = Array.from({ length: 2_000 }, (_, line) => `line ${line} of a long output`).join("\n");
  await harness.prompt("Run it.", [{ tool: "run_command", args: { command: "make", output } }, { text: "Done." }]);
  const marker = (last(harness.requests[1]).content ?? "").split("\n").find((line) => line.includes("t1")) ?? "";
  expect(marker, last(harness.requests[1]).content ?? "").not.toBe("");
  await harness.prompt("Save it.", [
    { tool: "save_file", args: { file: "notes.txt", text: marker } },
    { text: "I could not." },
  ]);
  expect(readFileSync(join(cwd, "notes.txt"), "utf8")).toBe("first line\nsecond line\n");
});

test("what the provider reports is in the ledger", async () => {
  const { harness, session } = await attached();
  await harness.prompt("Hello.", [{ text: "Hello." }]);
  await harness.prompt("Again.", [{ text: "Hello again." }]);
  expect((await session.ledger()).reported).toMatchObject({ calls: 2, input: 200, output: 20 });
});

test("a call without arguments turns nothing off", async () => {
  const { harness, session } = await attached();
  await harness.prompt("Run it.", [{ tool: "run_command", args: {} }, { text: "Done." }]);
  await harness.prompt("Look at the notes.", [
    { tool: "open_file", args: { file: "notes.txt" } },
    { text: "Two lines." },
  ]);
  expect([...harness.warnings]).toEqual([]);
  expect((await session.sets()).active).toContain("f1");
});

test("a turn goes on where Palimpsest does not, and says so once", async () => {
  const { harness, session } = await attached();
  await session.close();
  await harness.prompt("Look at the notes.", [
    { tool: "open_file", args: { file: "notes.txt" } },
    { text: "Two lines." },
  ]);
  expect(last(harness.requests[1]).content).toBe("first line\nsecond line\n");
  expect([...harness.warnings]).toEqual(["Palimpsest: the session is closed"]);
});

test("a command that failed is said to have failed", async () => {
  const { harness } = await attached();
  const output = Array.from({ length: 2_000 }, (_, line) => `line ${line}`).join("\n");
  const run = { tool: "run_command", args: { command: "make deploy", output } };
  await harness.prompt("Deploy.", [
    { ...run, args: { ...run.args, fails: true } },
    { ...run, args: { ...run.args, command: "make test" } },
    { tool: "activate", args: { name: "turn 1" } },
    { text: "It failed." },
  ]);
  expect(last(harness.requests[3]).content).toMatch(/^\[t1\] failed/m);
});
