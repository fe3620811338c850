// Memory in the real Pi over sessions: entries whose cited files changed are marked, memory files have versions in the store, and
// memory faults are traced.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openMemory, openStore } from "../../index.js";
import { runPi, startPiRpc } from "../../scripts/lib/pi.js";
import type { Step } from "../../scripts/lib/scripted-model.js";
import { keptFolder } from "../kept.ts";
import { extension, start } from "./support.ts";

/** What a request's system prompt says of memory. */
function memoryOf({ body }: { body: unknown }): string {
  const [first] = (body as { messages: { content: unknown }[] }).messages;
  const text = typeof first?.content === "string" ? first.content : JSON.stringify(first?.content);
  return /<memory>\n([\s\S]*?)\n<\/memory>/.exec(text)?.[1] ?? "";
}

const call = (name: string, args: object): Step => ({ calls: [{ name, args }] });

test("an entry is marked while a cited file is newer than it", async () => {
  const mark = "(cited file changed)";
  const { model, sandbox } = await start([
    call("edit", { path: "a.txt", edits: [{ oldText: "one", newText: "two" }] }),
    { text: "Done." },
    call("edit", {
      path: ".pi/memory/MEMORY.md",
      edits: [{ oldText: "`a.txt` says one", newText: "`a.txt` says two" }],
    }),
    { text: "Done." },
    { text: "Yes." },
  ]);
  const folder = join(sandbox.projectDir, ".pi", "memory");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "MEMORY.md"), "- A: `a.txt` says one\n- B: `b.txt` stays\n");
  writeFileSync(join(sandbox.projectDir, "a.txt"), "one\n");
  writeFileSync(join(sandbox.projectDir, "b.txt"), "b\n");
  const facts = join(folder, "page-facts.jsonl");
  const pi = async (prompt: string) =>
    expect(await runPi(sandbox, ["-p", "-e", extension, prompt])).toMatchObject({ code: 0, stderr: "" });

  await pi("Edit it.");
  expect(memoryOf(model.requests[0])).not.toContain(mark);
  expect(existsSync(facts)).toBe(false);
  await pi("Correct memory.");
  const memory = memoryOf(model.requests[2]);
  expect(memory).toContain(`- A: \`a.txt\` says one ${mark}\n- B: \`b.txt\` stays`);
  // What is known of the entries goes into git with the entry that was written.
  expect(readFileSync(facts, "utf8").split("\n")).toHaveLength(3);
  await pi("And now?");
  expect(memoryOf(model.requests[4])).toContain("- A: `a.txt` says two\n- B:");

  const store = await openStore({ agentDir: sandbox.agentDir });
  const history = await store.history(".pi/memory/MEMORY.md", { cwd: sandbox.projectDir });
  await store.close();
  expect(history).toHaveLength(2);
});

test("memory faults of a session are traced", async () => {
  const read = call("read", { path: ".pi/memory/build.md" });
  const { sandbox } = await start([read, read, { text: "One." }, { text: "Two." }]);
  const folder = join(sandbox.projectDir, ".pi", "memory");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "MEMORY.md"), "- [Build](build.md)\n");
  writeFileSync(join(folder, "build.md"), "# Build\n\nhow\n");
  const pi = startPiRpc(sandbox, ["-e", extension]);
  await pi.prompt("Look twice.");
  await pi.prompt("Again.");
  expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });
  const memory = openMemory({ agentDir: sandbox.agentDir, project: sandbox.projectDir, trusted: true });
  const faults = (await memory.faults()).filter(({ inTraces }) => inTraces > 0);
  expect(faults).toMatchObject([{ fault: "duplicate_tool", inTraces: 1 }]);
  const kinds = (await memory.traces()).map(({ kind }) => kind);
  expect(kinds).toEqual(["fault", "residency"]);
  const local = readFileSync(join(keptFolder(sandbox), "page-facts.local.jsonl"), "utf8");
  expect(local).toMatch(/"uses":1,"used":"\d{4}-\d\d-\d\d"/);
});
