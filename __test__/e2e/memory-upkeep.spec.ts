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

test("the model asks memory, and the person sees what it did", async () => {
  const steps: Step[] = [];
  const { model, sandbox } = await start(() => steps.shift() ?? { text: "Ten." });
  const ask = (name: string) => call("activate", { name });
  const facts = Array.from({ length: 60 }, (_, at) => `- fact ${at} #important\n`).join("");
  const folder = join(sandbox.projectDir, ".pi", "memory");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "MEMORY.md"), `${facts}- Limit: ten calls, see \`limits.ts\`\n`);
  writeFileSync(join(folder, "config.json"), '{ "maxMemoryTokens": 300 }');
  writeFileSync(join(sandbox.projectDir, "limits.ts"), "export const limit = 10;\n");
  const memory = openMemory({ agentDir: sandbox.agentDir, project: sandbox.projectDir, trusted: true });
  const id = (await memory.pages()).find(({ key }) => key === "Limit")?.id;
  writeFileSync(join(sandbox.projectDir, "limits.ts"), "export const most = 20;\n");
  steps.push(ask("memory: limit of calls"), ask(`memory: confirm ${id}`), ask("memory: limit"));
  expect(await runPi(sandbox, ["-p", "-e", extension, "How many calls?"])).toMatchObject({ code: 0, stderr: "" });
  const [first, ...later] = model.requests.map(({ body }) => JSON.stringify(body));
  expect(first).toContain("- activate with name `memory: WORDS` searches all of it");
  const found = `.pi/memory/MEMORY.md:61 ${id}`;
  expect(later[0]).toContain(`${found} (cited file changed)\\n- Limit: ten calls, see \`limits.ts\``);
  expect(later[1]).toContain("MEMORY.md:61 is taken to hold with limits.ts as now; the user sees that you checked it.");
  expect(later[2]).toContain(`${found}\\n- Limit: ten calls`);
  const [doubtful] = await memory.stale();
  expect(doubtful).toMatchObject({ page: { id }, reasons: [{ reason: "checked_by_model" }] });
  const told = await runPi(sandbox, ["-p", "-e", extension, "/memory stale"]);
  expect(told.stderr).toContain("the model checked it on ");
  expect(told.stderr).toContain("nobody has confirmed it");
});
