// Writing memory in the real Pi: what its own tools may put there and are told of it, and what was staged, which is written at the end
// of a session or at the start of the next.
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openMemory } from "../../index.js";
import { runPi, startPiRpc } from "../../scripts/lib/pi.js";
import { root } from "../../scripts/setup.js";
import { keptFolder } from "../kept.ts";
import { copyOfPackage, entryOf, extension, resultsOf, start } from "./support.ts";

type Places = Awaited<ReturnType<typeof start>>["sandbox"];

const secret = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8";

function indexOf({ projectDir }: Places): string {
  return join(projectDir, ".pi", "memory", "MEMORY.md");
}

function write(content: string, path = ".pi/memory/MEMORY.md") {
  return { calls: [{ name: "write", args: { path, content } }] };
}

/** What another session leaves: an entry that waits. */
async function stage({ agentDir, projectDir }: Places, scope: "global" | "project", text: string): Promise<void> {
  await openMemory({ agentDir, project: projectDir, trusted: true }).remember(scope, text);
}

/** A call that stages an entry while Pi runs, as a command of a person would. */
function staging({ agentDir, projectDir }: Places, text: string) {
  const memory = `openMemory(${JSON.stringify({ agentDir, project: projectDir, trusted: true })})`;
  const script = `import("${root}/index.js").then((it) => it.${memory}.remember("project", "${text}"))`;
  return { calls: [{ name: "bash", args: { command: `'${process.execPath}' -e '${script}' && echo staged` } }] };
}

/** A copy of the package in which a statement changes each `memory` that is opened. */
function copyWith(statement: string): string {
  const copy = copyOfPackage();
  renameSync(join(copy, "index.js"), join(copy, "real.js"));
  writeFileSync(
    join(copy, "index.js"),
    `import { existsSync } from "node:fs";
    import { setTimeout } from "node:timers/promises";
    import * as real from "./real.js";
    export * from "./real.js";
    export function openMemory(...given) {
      const memory = real.openMemory(...given);
      ${statement}
      return memory;
    }`,
  );
  return copy;
}

test("a secret blocks `write` and `edit` on a memory file", async () => {
  const edit = { path: ".pi/memory/MEMORY.md", edits: [{ oldText: "clean", newText: secret }] };
  const { model, sandbox } = await start([
    write(`- Deploy key: ${secret}\n`),
    write("- CI: green\n- clean\n"),
    { calls: [{ name: "edit", args: edit }] },
    write("- CI: green\n- clean\n- CI: red\n"),
    write('{"enabeld": true}', ".pi/memory/config.json"),
    write(`key ${secret}\n`, "notes.txt"),
    { text: "Done." },
  ]);
  expect(await runPi(sandbox, ["-e", extension, "-p", "go"])).toMatchObject({ code: 0, stdout: "Done.\n", stderr: "" });
  const results = resultsOf(model);
  expect(results[0]).toContain("memory never keeps secrets: nothing was written to `.pi/memory/MEMORY.md`");
  expect(results[0]).toContain("github_token");
  expect(results[1]).not.toContain("memory found");
  expect(results[2]).toContain("memory never keeps secrets");
  expect(results[3]).toContain(
    '.pi/memory/MEMORY.md:3: the entry gives its key another value than line 1: "CI: green"',
  );
  expect(results[4]).toContain("`enabeld` is not a setting, `enabled` is");
  expect(results[5]).not.toContain("secret");
  expect(readFileSync(indexOf(sandbox), "utf8")).toBe("- CI: green\n- clean\n- CI: red\n");
});

test("waiting entries are written before the next session starts", async () => {
  const { model, sandbox } = await start([{ text: "Yes." }]);
  await stage(sandbox, "project", "Tests: make check");
  await stage(sandbox, "global", "Answers: short");
  expect(await runPi(sandbox, ["-e", extension, "-p", "go"])).toMatchObject({ code: 0, stdout: "Yes.\n", stderr: "" });
  expect(readFileSync(indexOf(sandbox), "utf8")).toBe("## Notes\n\n- Tests: make check\n");
  const prompt = JSON.stringify(model.requests[0].body.messages[0]);
  expect(prompt).toContain("Tests: make check");
  expect(prompt).toContain("Answers: short");
});

test("Pi's first prompt and end wait for that, but not its start", async () => {
  const copy = copyWith(`const flush = memory.flush.bind(memory);
    memory.flush = async () => {
      while (!existsSync("go")) await setTimeout(20);
      return flush();
    };`);
  for (const isPrompted of [true, false]) {
    const { model, sandbox } = await start([{ text: "Yes." }]);
    await stage(sandbox, "project", "Tests: make check");
    const pi = startPiRpc(sandbox, ["-e", entryOf(copy)]);
    await pi.send({ type: "get_state" });
    expect(existsSync(indexOf(sandbox))).toBe(false);
    const prompted = isPrompted ? pi.prompt("go") : undefined;
    const closed = isPrompted ? undefined : pi.close();
    writeFileSync(join(sandbox.projectDir, "go"), "");
    await prompted;
    expect(await (closed ?? pi.close())).toMatchObject({ code: 0, stderr: "" });
    expect(readFileSync(indexOf(sandbox), "utf8")).toBe("## Notes\n\n- Tests: make check\n");
    expect(JSON.stringify(model.requests[0]?.body.messages[0] ?? "").includes("Tests: make check")).toBe(isPrompted);
  }
});

test.each(["print", "rpc"])("what is staged in a session is written at its end: %s", async (mode) => {
  const script: Parameters<typeof start>[0] = [];
  const { sandbox } = await start(script);
  script.push(staging(sandbox, "Staged late"), { text: "Done." });
  if (mode === "rpc") {
    const pi = startPiRpc(sandbox, ["-e", extension]);
    await pi.prompt("go");
    expect(existsSync(indexOf(sandbox))).toBe(false);
    expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });
  } else {
    expect(await runPi(sandbox, ["-e", extension, "-p", "go"])).toMatchObject({ code: 0, stderr: "" });
  }
  expect(readFileSync(indexOf(sandbox), "utf8")).toBe("## Notes\n\n- Staged late\n");
});

test("what is not written is told, with the reason", async () => {
  const { sandbox } = await start([{ text: "Yes." }]);
  mkdirSync(join(sandbox.projectDir, ".pi", "memory"), { recursive: true });
  writeFileSync(indexOf(sandbox), "- x y\n<<<<<<< HEAD\n- a\n=======\n>>>>>>> b\n");
  await stage(sandbox, "project", "Waits for a merge");
  const { code, stderr } = await runPi(sandbox, ["-e", extension, "-p", "go"]);
  expect(code).toBe(0);
  expect(stderr).toContain('Palimpsest: "Waits for a merge" waits to be remembered: ');
  expect(stderr).toContain('MEMORY.md:2: a merge is not finished: this side says "- a", the other nothing');
});

test("a secret in a memory file is reported but not shown", async () => {
  const { sandbox } = await start([{ text: "Yes." }]);
  mkdirSync(join(sandbox.projectDir, ".pi", "memory"), { recursive: true });
  writeFileSync(indexOf(sandbox), `- x y\n- Deploy key: ${secret}\n`);
  const pi = startPiRpc(sandbox, ["-e", extension]);
  const words = "MEMORY.md, line 2: the line looks like it holds a secret";
  const told = pi.waitFor((record) => String(record.message).includes(words));
  await Promise.all([pi.prompt("go"), told]);
  expect(await pi.close()).toMatchObject({ code: 0 });
  const notices = pi.records.filter(({ type }) => type === "extension_ui_request");
  expect(JSON.stringify(notices)).not.toContain("ghp_");
});

test("a session that is killed loses nothing that was staged", async () => {
  const script: Parameters<typeof start>[0] = [];
  const { sandbox } = await start(script);
  const killing = { calls: [{ name: "bash", args: { command: "kill -9 $PPID; sleep 5" } }] };
  script.push(staging(sandbox, "Staged before the kill"), killing, { text: "Yes." });
  expect(await runPi(sandbox, ["-e", extension, "-p", "go"])).toMatchObject({ signal: "SIGKILL" });
  expect(existsSync(indexOf(sandbox))).toBe(false);
  expect(await runPi(sandbox, ["-e", extension, "-p", "again"])).toMatchObject({ code: 0, stderr: "" });
  expect(readFileSync(indexOf(sandbox), "utf8")).toBe("## Notes\n\n- Staged before the kill\n");
});

test("Pi's tools still write if any of this fails", async () => {
  const methods = ["checkWrite", "explainWrite", "waiting", "flush", "check", "captureModel", "ended"];
  const copy = copyWith(`for (const method of ${JSON.stringify(methods)}) {
    memory[method] = async () => { throw new Error(method + " is broken"); };
  }`);
  const { sandbox } = await start([write("- CI: green\n- CI: red\n"), { text: "Done." }]);
  const finished = await runPi(sandbox, ["-e", entryOf(copy), "-p", "go"]);
  expect(finished).toMatchObject({ code: 0, stdout: "Done.\n" });
  expect(finished.stderr.match(/Palimpsest:/g)).toHaveLength(1);
  expect(readFileSync(indexOf(sandbox), "utf8")).toBe("- CI: green\n- CI: red\n");
  const log = readFileSync(join(sandbox.agentDir, "palimpsest", "palimpsest.log"), "utf8");
  for (const method of ["checkWrite", "explainWrite", "waiting", "captureModel"]) {
    expect(log).toContain(`${method} is broken`);
  }
});

test("nothing is written in an untrusted project", async () => {
  const { sandbox } = await start([write("- CI: green\n- CI: red\n"), { text: "Done." }], {
    files: { ".pi/settings.json": "{}" },
  });
  await stage(sandbox, "project", "Not for now");
  await runPi(sandbox, ["-e", extension, "-p", "--no-approve", "go"]);
  expect(readFileSync(indexOf(sandbox), "utf8")).toBe("- CI: green\n- CI: red\n");
  const journal = readFileSync(join(keptFolder(sandbox), "writeback-journal.jsonl"), "utf8");
  expect(journal).not.toContain("commit");
});

test("a configured model proposes entries for approval", async () => {
  const prompt = "No. We use pnpm here, since npm breaks the workspace, and it took hours to find out. ".repeat(4);
  const answer = '[{"scope": "project", "text": "Package manager: pnpm, since npm breaks the workspace"}]';
  const { model, sandbox } = await start([{ text: "Understood." }, { text: answer }, { text: "Yes." }, { text: "[]" }]);
  const folder = join(sandbox.agentDir, "memory");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "config.json"), JSON.stringify({ captureModel: "scripted/scripted-1" }));
  const first = await runPi(sandbox, ["-e", extension, "-p", prompt]);
  expect(first).toMatchObject({ code: 0, stdout: "Understood.\n" });
  expect(first.stderr).toContain(
    "an entry is proposed for memory: `/memory waiting` shows what waits for your decision",
  );
  const asked = model.requests[1].body.messages;
  expect(asked.map(({ role }) => role)).toEqual(["user"]);
  expect(JSON.stringify(asked)).toContain("Person: No. We use pnpm here");
  expect(existsSync(indexOf(sandbox))).toBe(false);
  const memory = openMemory({ agentDir: sandbox.agentDir, project: sandbox.projectDir, trusted: true });
  const [{ operations }] = await memory.waiting();
  expect(operations).toMatchObject([{ id: "w1", by: "capture", status: "proposed" }]);
  // What was said in the session before is not looked at again, and hardly anything was said in this one.
  await runPi(sandbox, ["-e", extension, "-p", "--continue", "ok?"]);
  expect(model.requests).toHaveLength(3);
});

test("what was said before a kill is looked at once resumed", async () => {
  const prompt = "No. We use pnpm here, since npm breaks the workspace, and it took hours to find out. ".repeat(4);
  const answer = '[{"scope": "local", "text": "Package manager: pnpm"}]';
  const kill = { calls: [{ name: "bash", args: { command: "kill -9 $PPID; sleep 5" } }] };
  let killed = false;
  const { model, sandbox } = await start(({ body }) => {
    if (JSON.stringify(body).includes("Answer with a JSON array")) {
      return { text: answer };
    }
    const first = !killed;
    killed = true;
    return first ? kill : { text: "Yes." };
  });
  const folder = join(sandbox.agentDir, "memory");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "config.json"), JSON.stringify({ captureModel: "scripted/scripted-1" }));
  await runPi(sandbox, ["-e", extension, "-p", prompt]);
  const asked = () => model.requests.filter(({ body }) => JSON.stringify(body).includes("Answer with a JSON array"));
  expect(asked()).toEqual([]);
  expect(await runPi(sandbox, ["-e", extension, "-p", "--continue", "ok?"])).toMatchObject({ code: 0 });
  expect(asked().length).toBe(1);
  expect(JSON.stringify(asked()[0].body.messages)).toContain("Person: No. We use pnpm here");
  const memory = openMemory({ agentDir: sandbox.agentDir, project: sandbox.projectDir, trusted: true });
  const [{ operations }] = await memory.waiting();
  expect(operations).toMatchObject([{ scope: "local", text: "Package manager: pnpm", status: "proposed" }]);
});

test("the model is asked after a compaction, in the background", async () => {
  const prompt = "No. We use pnpm here, since npm breaks the workspace, and it took hours to find out. ".repeat(4);
  const answer = '[{"scope": "global", "text": "Answers: without praise"}]';
  const { model, sandbox } = await start(
    ({ body }) => ({ text: JSON.stringify(body).includes("Answer with a JSON array") ? answer : "Understood." }),
    { settings: { compaction: { keepRecentTokens: 1 } } },
  );
  const folder = join(sandbox.agentDir, "memory");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "config.json"), JSON.stringify({ captureModel: "scripted/scripted-1" }));
  const pi = startPiRpc(sandbox, ["-e", extension]);
  await pi.prompt(prompt);
  await pi.prompt("and then");
  const told = pi.waitFor((record) => String(record.message).includes("an entry is proposed for memory"));
  await pi.send({ type: "compact" });
  await told;
  expect(await pi.close()).toMatchObject({ code: 0 });
  expect(JSON.stringify(model.requests.at(-1)?.body.messages)).toContain("Person: No. We use pnpm here");
});

test("nothing is asked without a model that Pi knows", async () => {
  const prompt = "No. We use pnpm here, since npm breaks the workspace, and it took hours to find out. ".repeat(4);
  const { model, sandbox } = await start([{ text: "Understood." }, { text: "Understood." }]);
  expect(await runPi(sandbox, ["-e", extension, "-p", prompt])).toMatchObject({ code: 0, stderr: "" });
  const folder = join(sandbox.agentDir, "memory");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "config.json"), JSON.stringify({ captureModel: "scripted/other" }));
  const { code, stderr } = await runPi(sandbox, ["-e", extension, "-p", prompt]);
  expect(code).toBe(0);
  expect(stderr).toContain("Pi knows no model `scripted/other`, which `captureModel` names");
  expect(model.requests).toHaveLength(2);
});
