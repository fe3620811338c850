// The class `Memory` of the addon: staging, flushing and checking, their shapes and codes. What they decide is tested in Rust.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openMemory, openSession, openStore } from "../index.js";
import { afterTool, beforeTool, type Guarded } from "../lib/memory-tools.js";
import { keptFolder } from "./kept.ts";

function places() {
  const dir = mkdtempSync(join(tmpdir(), "palimpsest-memory-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  mkdirSync(join(dir, "project"));
  return { agentDir: join(dir, "agent"), project: join(dir, "project") };
}

test("an entry is staged, listed and flushed, and not repeated", async () => {
  const { agentDir, project } = places();
  const memory = openMemory({ agentDir, project, trusted: true });
  expect(await memory.waiting()).toEqual([]);
  expect(await memory.flush()).toEqual([]);
  expect(existsSync(agentDir)).toBe(false);
  expect(await memory.remember("project", " CI: green ")).toEqual({
    id: "w1",
    scope: "project",
    findings: [],
    restsOn: [],
  });
  await memory.remember("local", "Port: 4711", "Machine");
  const file = join(project, ".pi", "memory", "MEMORY.md");
  const local = join(project, ".pi", "memory", "MEMORY.local.md");
  const [waiting] = await memory.waiting();
  expect(waiting).toMatchObject({ scope: "project", interrupted: false, files: [local, file] });
  expect(waiting.operations[0]).toEqual({
    id: "w1",
    scope: "project",
    at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    file: "MEMORY.md",
    text: "CI: green",
    by: "person",
    status: "staged",
  });
  const [flushed] = await memory.flush();
  expect(flushed).toMatchObject({ scope: "project", refused: [], held: [], proposed: [], resumed: false, lost: [] });
  expect(flushed.committed).toMatchObject([
    { id: "w2", status: "committed", line: 3, heading: "Machine" },
    { id: "w1", status: "committed", line: 3 },
  ]);
  expect(readFileSync(file, "utf8")).toBe("## Notes\n\n- CI: green\n");
  expect(readFileSync(local, "utf8")).toBe("## Machine\n\n- Port: 4711\n");
  expect(await memory.waiting()).toEqual([]);
});

test("staging and flush say why an entry is refused", async () => {
  const { agentDir, project } = places();
  const memory = openMemory({ agentDir, project, trusted: true });
  mkdirSync(join(agentDir, "memory"), { recursive: true });
  writeFileSync(join(agentDir, "memory", "MEMORY.md"), "- CI: green\n- tabs\n");
  const contradicting = await memory.remember("global", "CI: red");
  expect(contradicting.findings).toMatchObject([{ code: "CONTRADICTION" }]);
  const double = await memory.remember("global", "Tabs.");
  const words = 'it stands there already: line 2, "tabs"';
  expect(double.findings).toEqual([{ code: "DUPLICATE", words, file: null, line: null }]);
  const beside = await memory.remember("project", "tabs");
  expect(beside.findings).toMatchObject([{ code: "NEAR_DUPLICATE", words: 'the global memory says the same: "tabs"' }]);
  const [global, inProject] = await memory.flush();
  expect(global.committed.map(({ text }) => text)).toEqual(["CI: red"]);
  expect(global.refused).toMatchObject([{ id: "g2", status: "refused", code: "DUPLICATE", reason: words }]);
  expect(inProject.committed).toHaveLength(1);
});

test("what waits can be taken back, and only what waits", async () => {
  const { agentDir, project } = places();
  const memory = openMemory({ agentDir, project, trusted: true });
  await memory.remember("project", "one");
  await memory.remember("global", "two");
  await memory.remember("local", "three");
  const waiting = (await memory.waiting()).flatMap(({ operations }) => operations);
  expect(waiting.map(({ id, scope }) => `${id} ${scope}`)).toEqual(["g1 global", "w1 project", "w2 local"]);
  for (const { id, scope } of waiting) {
    expect(await memory.withdraw(id)).toBe(scope);
  }
  for (const id of ["w1", "g1", "w9", "x", ""]) {
    await expect(memory.withdraw(id)).rejects.toMatchObject({ code: "NO_OPERATION" });
    await expect(memory.accept(id)).rejects.toMatchObject({ code: "NO_OPERATION" });
  }
  expect(await memory.waiting()).toEqual([]);
});

test("what may not be remembered is refused with its code", async () => {
  const { agentDir, project } = places();
  const memory = openMemory({ agentDir, project, trusted: false });
  const secret = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8";
  const refusals: [string, string, string][] = [
    ["global", `token ${secret}`, "SECRET"],
    ["global", " \n", "INVALID_ARGUMENT"],
    ["global", "x".repeat(70_000), "INVALID_ARGUMENT"],
    ["project", "x", "INVALID_ARGUMENT"],
    ["local", "x", "INVALID_ARGUMENT"],
    ["team", "x", "INVALID_ARGUMENT"],
  ];
  for (const [scope, text, code] of refusals) {
    const refused = memory.remember(scope as "global", text);
    await expect(refused, `${scope} ${text.slice(0, 20)}`).rejects.toMatchObject({ code });
  }
  expect([existsSync(agentDir), existsSync(join(project, ".pi"))]).toEqual([false, false]);
});

test("a folder that cannot be written does not stop the others", async () => {
  const { agentDir, project } = places();
  const memory = openMemory({ agentDir, project, trusted: true });
  await memory.remember("global", "one");
  await memory.remember("project", "two");
  const kept = keptFolder({ agentDir, projectDir: project });
  const journal = join(kept, "writeback-journal.jsonl");
  rmSync(join(kept, ".lock"));
  mkdirSync(join(kept, ".lock"));
  const [global, inProject] = await memory.flush();
  expect(global.committed).toHaveLength(1);
  expect(inProject).toMatchObject({ committed: [], failed: { code: "UNWRITABLE" } });
  expect(readFileSync(journal, "utf8")).toContain("two");
});

test("a host's tool call is checked before and explained after it", async () => {
  const { agentDir, project } = places();
  const memory = openMemory({ agentDir, project, trusted: true });
  const path = ".pi/memory/MEMORY.md";
  const content = "- token ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8\n";
  expect(await memory.checkWrite("write", { path, content }, project)).toContain("memory never keeps secrets");
  expect(await memory.checkWrite("write", { path: "a.md", content }, project)).toBeNull();
  mkdirSync(join(project, ".pi", "memory"), { recursive: true });
  writeFileSync(join(project, path), "- a\n- a\n");
  const explained = await memory.explainWrite("write", { path, content: "- a\n- a\n" }, project);
  expect(explained).toContain(`${path}:2: the entry says the same as line 1: "a"`);
  expect(await memory.explainWrite("read", { path }, project)).toBeNull();
  expect(existsSync(join(project, ".pi", "memory", ".gitignore"))).toBe(false);
  expect(await memory.explainWrite("write", { path: ".pi/memory/MEMORY.local.md", content: "" }, project)).toBeNull();
  expect(readFileSync(join(project, ".pi", "memory", ".gitignore"), "utf8")).toContain("\nMEMORY.local.md\n");
  await expect(memory.checkWrite("write", {}, 5 as never)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
});

test("an import shows, then stages, and takes nothing twice", async () => {
  const { agentDir, project } = places();
  const theirs = join(project, "theirs");
  mkdirSync(theirs, { recursive: true });
  const token = "token ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8";
  writeFileSync(join(theirs, "MEMORY.md"), `## Build\n- [Quirks](quirks.md)\n- CI: green\n- ${token}\n`);
  writeFileSync(join(theirs, "quirks.md"), "# Quirks\n\nsccache\n");
  const memory = openMemory({ agentDir, project, trusted: true });
  const dry = await memory.importFrom({ path: theirs });
  expect(dry.items.map(({ file, verdict, id }) => [file, verdict, id])).toEqual([
    ["MEMORY.md", "take", null],
    ["MEMORY.md", "take", null],
    ["MEMORY.md", "refused", null],
    ["quirks.md", "take", null],
  ]);
  expect(dry.items[2].reason).toContain("github_token");
  expect(existsSync(join(project, ".pi"))).toBe(false);
  const taken = await memory.importFrom({ path: theirs, apply: true });
  expect(taken.items.map(({ id }) => id)).toEqual(["w1", "w2", null, "w3"]);
  expect(taken.items[0].origin).toBe("theirs, MEMORY.md:2");
  const verdicts = async () => (await memory.importFrom({ path: theirs })).items.map(({ verdict }) => verdict);
  expect(await verdicts()).toEqual(["duplicate", "duplicate", "refused", "duplicate"]);
  await memory.flush();
  expect(readFileSync(join(project, ".pi", "memory", "MEMORY.md"), "utf8")).toBe(
    "## Build\n\n- [Quirks](quirks.md)\n- CI: green\n",
  );
  expect(readFileSync(join(project, ".pi", "memory", "quirks.md"), "utf8")).toBe("# Quirks\n\nsccache\n");
  expect(await verdicts()).toEqual(["duplicate", "duplicate", "refused", "duplicate"]);
  const facts = readFileSync(join(project, ".pi", "memory", "page-facts.jsonl"), "utf8");
  expect(facts).toContain('"origin":"theirs, MEMORY.md:2"');
  expect(facts).toContain('"origin":"theirs, quirks.md"');
  await memory.ended();
  expect(await memory.importFrom()).toEqual({ items: [], files: [], findings: [] });
  await expect(memory.importFrom({ from: "x" as "notes" })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
});

test("only a model that the user names proposes entries", async () => {
  const { agentDir, project } = places();
  const memory = openMemory({ agentDir, project, trusted: true });
  expect(await memory.captureModel()).toBeNull();
  const folders = { user: join(agentDir, "memory"), project: join(project, ".pi", "memory") };
  mkdirSync(folders.user, { recursive: true });
  mkdirSync(folders.project, { recursive: true });
  writeFileSync(join(folders.project, "config.json"), '{"captureModel": "theirs/x"}');
  expect(await memory.captureModel()).toBeNull();
  const [warning] = await memory.check();
  expect(warning).toMatchObject({ code: "INVALID_SETTINGS", path: join(folders.project, "config.json") });
  writeFileSync(join(folders.user, "config.json"), '{"captureModel": "router/some/model"}');
  expect(await memory.captureModel()).toEqual({ provider: "router", id: "some/model" });
  const said = { role: "user", content: "No. We use pnpm here, since npm breaks the workspace. ".repeat(9) };
  expect(await memory.capturePrompt([said])).toContain("Person: No. We use pnpm here");
  expect(await memory.capturePrompt([])).toBeNull();
  const [proposed] = await memory.propose('[{"scope": "project", "text": "Package manager: pnpm"}]');
  expect(proposed).toEqual({ id: "w1", scope: "project", findings: [], restsOn: [] });
  const [flushed] = await memory.flush();
  expect(flushed).toMatchObject({ committed: [], proposed: [{ id: "w1", by: "capture", status: "proposed" }] });
  expect(await memory.propose('[{"scope": "project", "text": "package manager: PNPM"}]')).toEqual([]);
  expect(await memory.accept("w1")).toBe("project");
  await memory.flush();
  expect(readFileSync(join(folders.project, "MEMORY.md"), "utf8")).toBe("## Notes\n\n- Package manager: pnpm\n");
  await expect(memory.capturePrompt(5 as never)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
});

test("a failed step around a tool call does not stop the others", async () => {
  const { agentDir, project } = places();
  const memory = openMemory({ agentDir, project, trusted: true });
  const store = await openStore({ path: ":memory:" });
  const session = await openSession(store, { harness: "t", sessionId: "s", cwd: project });
  await session.close();
  const reports: string[] = [];
  const guarded: Guarded = (what, work) =>
    work().catch(({ code }) => {
      reports.push(`${what}: ${code}`);
      return undefined;
    });
  const behind = { memory, session, guarded };
  const path = join(".pi", "memory", "MEMORY.md");
  const write = (content: string) => ({ toolName: "write", args: { path, content }, cwd: project });
  const untold = "the model is not told what changed in memory: CLOSED";
  const secret = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8";
  expect(await beforeTool(behind, write(`- Key: ${secret}\n`))).toContain("memory never keeps secrets");
  expect(reports).toEqual([untold]);
  mkdirSync(join(project, ".pi", "memory"), { recursive: true });
  writeFileSync(join(project, path), "- CI: green\n- CI: red\n");
  const ran = { ...write("- CI: green\n- CI: red\n"), toolCallId: "c1", isError: false };
  expect(await afterTool(behind, ran)).toContain("the entry gives its key another value than line 1");
  expect(reports).toEqual([untold, untold]);
  // Without a session, and with a tool whose arguments are none of its own.
  expect(await beforeTool({ memory, guarded }, { ...write(""), args: { path: 1 } })).toBeNull();
  expect(await afterTool({ memory, guarded }, { ...ran, isError: true })).toBeUndefined();
  expect(reports).toHaveLength(2);
  await store.close();
});
