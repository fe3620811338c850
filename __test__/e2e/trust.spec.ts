// What a project brings, in the real Pi: nothing of it counts, nor is anything outside of it read or written, until the person said that
// they trust it. Pi itself asks nothing here: `.pi` holds only our files.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { openStore, projectTrust, trustProject } from "../../index.js";
import { runPi, startPiRpc } from "../../scripts/lib/pi.js";
import { extension, missing, said, start } from "./support.ts";
import { terminal } from "./terminal.ts";

type Places = Awaited<ReturnType<typeof start>>["sandbox"];

const memory = {
  ".pi/memory/MEMORY.md": "- Deploys: need CLONEWORD\n",
  ".pi/memory/MEMORY.local.md": "- notes: see `~/private.txt`\n",
  ".pi/memory/topic.md": "# Topic\n\nCLONEWORD too\n",
  ".pi/memory/config.json": '{ "maxMemoryTokens": 32768 }',
  ".pi/palimpsest.json": '{ "enabled": false }',
};

/** Makes the project's folder a clone of a repository with these files and links. */
function clone({ dir, projectDir }: Places, files: Record<string, string>, links: Record<string, string> = {}): void {
  const upstream = join(dir, "upstream");
  const git = (cwd: string, ...args: string[]) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b.invalid", ...args], { cwd, stdio: "pipe" });
  const place = (path: string) => {
    mkdirSync(dirname(join(upstream, path)), { recursive: true });
    return join(upstream, path);
  };
  for (const [path, text] of Object.entries(files)) {
    writeFileSync(place(path), text);
  }
  for (const [path, to] of Object.entries(links)) {
    symlinkSync(to, place(path));
  }
  git(upstream, "init", "--quiet");
  git(upstream, "add", "--all");
  git(upstream, "commit", "--quiet", "--message", "x");
  rmSync(projectDir, { recursive: true });
  git(dir, "clone", "--quiet", upstream, projectDir);
}

/** The system prompt of a request. */
const promptOf = (request: { body: { messages: { content: unknown }[] } }) =>
  JSON.stringify(request.body.messages[0].content);

/** Every file below a folder, with what it holds and when it was changed; links by where they lead. */
function state(folder: string): Record<string, unknown> {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => !entry.isDirectory());
  const paths = names.map((entry) => join(entry.parentPath, entry.name)).filter((path) => existsSync(path));
  return Object.fromEntries(
    paths.sort().map((path) => [path, `${statSync(path).mtimeMs} ${readFileSync(path).toString("base64")}`]),
  );
}

const placesOf = ({ agentDir, projectDir }: Places) => ({ agentDir, project: projectDir });
const trustIt = (sandbox: Places) => trustProject(placesOf(sandbox), true);

test("a clone's memory and settings do not change a request", async () => {
  const { model, sandbox } = await start(() => ({ text: "ok" }), { trusted: false });
  const plain = await runPi(sandbox, ["-e", extension, "-p", "go"]);
  expect(plain).toMatchObject({ code: 0, stderr: "" });
  clone(sandbox, memory);
  const secret = join(sandbox.dir, "home", "private.txt");
  writeFileSync(secret, "PRIVATE TEXT\n");
  const before = state(sandbox.projectDir);
  const { code, stderr } = await runPi(sandbox, ["-e", extension, "-p", "go"]);
  expect(code).toBe(0);
  expect(stderr.trim().split("\n")).toEqual([
    expect.stringMatching(/^Palimpsest: 5 files of memory or settings .* are not used, .*`palimpsest trust /),
  ]);
  expect(model.requests[1].body).toEqual(model.requests[0].body);
  expect(state(sandbox.projectDir)).toEqual(before);
  const store = await openStore({ path: join(sandbox.agentDir, "palimpsest", "store.sqlite"), readOnly: true });
  await expect(store.find(secret)).rejects.toMatchObject({ code: "UNKNOWN_NAME" });
  await store.close();
});

test("a trusted clone counts, but no file outside it", async () => {
  const { model, sandbox } = await start(() => ({ text: "ok" }), { trusted: false });
  clone(sandbox, { ...memory, ".pi/palimpsest.json": "{}" });
  const secret = join(sandbox.dir, "home", "private.txt");
  writeFileSync(secret, "PRIVATE TEXT\n");
  expect(await trustIt(sandbox)).toMatchObject({ standing: "trusted", counts: true });
  for (const _ of [1, 2]) {
    expect(await runPi(sandbox, ["-e", extension, "-p", "go"])).toMatchObject({ code: 0, stderr: "" });
    expect(promptOf(model.requests.at(-1) as never)).toContain("CLONEWORD");
  }
  const store = await openStore({ path: join(sandbox.agentDir, "palimpsest", "store.sqlite"), readOnly: true });
  await expect(store.find(secret), "git has the file that cites it").rejects.toMatchObject({ code: "UNKNOWN_NAME" });
  await store.close();
});

test("a person is told that their answers cannot be read", async () => {
  const { model, sandbox } = await start(() => ({ text: "ok" }));
  clone(sandbox, { ".pi/memory/MEMORY.md": memory[".pi/memory/MEMORY.md"] });
  writeFileSync(join(sandbox.agentDir, "palimpsest", "trust.json"), "{");
  const { code, stderr } = await runPi(sandbox, ["-e", extension, "-p", "go"]);
  expect(code).toBe(0);
  expect(stderr).toMatch(/^Palimpsest: memory and settings of the project are not used: .* it is damaged.*\n$/);
  expect(promptOf(model.requests[0] as never)).not.toContain("CLONEWORD");
});

test("`--trust-memory` counts for its run alone", async () => {
  const { model, sandbox } = await start(() => ({ text: "ok" }), { trusted: false });
  clone(sandbox, { ".pi/memory/MEMORY.md": memory[".pi/memory/MEMORY.md"] });
  const trusted = await runPi(sandbox, ["-e", extension, "-p", "go", "--trust-memory"]);
  expect(trusted).toMatchObject({ code: 0, stderr: "" });
  expect(promptOf(model.requests[0] as never)).toContain("CLONEWORD");
  await runPi(sandbox, ["-e", extension, "-p", "go"]);
  expect(promptOf(model.requests[1] as never)).not.toContain("CLONEWORD");
});

test("a clone's journal moves no file and runs no command", async () => {
  const { model, sandbox } = await start(
    ({ n }) => (n === 0 ? { calls: [{ name: "bash", args: { command: "git status | head -3" } }] } : { text: "ok" }),
    { trusted: false },
  );
  const index = "- Tests need a database\n";
  const mark = join(sandbox.dir, "ran");
  const hash = createHash("sha256").update(index).digest("hex");
  const journal = [
    { op: "begin", ids: [], file: "MEMORY.md", prepared: "../../../home/id_key", before: null, after: hash },
    { op: "stage", id: "w1", at: "2026-01-01T00:00:00Z", file: "l.md", text: "../evil", by: "person" },
    { op: "stage", id: "w2", at: "2026-01-01T00:00:00Z", file: "MEMORY.md", text: "STAGEDWORD", by: "person" },
  ];
  clone(
    sandbox,
    {
      ".pi/memory/MEMORY.md": index,
      ".pi/memory/writeback-journal.jsonl": journal.map((line) => `${JSON.stringify(line)}\n`).join(""),
      "evil/objects/x": "",
      "evil/refs/x": "",
      "evil/config": `[core]\n\trepositoryformatversion = 0\n\tfsmonitor = "touch ${mark}; false"\n`,
    },
    { ".pi/memory/l.md": "../../.git/commondir", ".pi/memory/page-table.jsonl": "../../.git/config" },
  );
  const secret = join(sandbox.dir, "home", "id_key");
  writeFileSync(secret, "PRIVATE TEXT\n");
  const git = state(join(sandbox.projectDir, ".git"));
  for (const isTrusted of [false, true]) {
    if (isTrusted) {
      await trustIt(sandbox);
    }
    await runPi(sandbox, ["-e", extension, "-p", "go"]);
    const all = JSON.stringify(model.requests.map(({ body }) => body));
    expect(all).not.toMatch(/PRIVATE TEXT|STAGEDWORD/);
    expect([existsSync(secret), existsSync(mark)]).toEqual([true, false]);
    expect(existsSync(join(sandbox.projectDir, ".git", "commondir"))).toBe(false);
  }
  expect(Object.keys(state(join(sandbox.projectDir, ".git")))).toEqual(Object.keys(git));
  const pi = startPiRpc(sandbox, ["-e", extension]);
  const shown = pi.waitFor(({ message }) => String(message).startsWith("memory "));
  await pi.send({ type: "prompt", message: "/memory" });
  expect(String((await shown).message)).toMatch(/writeback-journal\.jsonl.*is not read/);
  await pi.close();
});

test("own writes need no approval, but pulled files do", async () => {
  const { model, sandbox } = await start(() => ({ text: "ok" }), { trusted: false });
  const pi = startPiRpc(sandbox, ["-e", extension]);
  await said(pi, "/memory remember project OWNWORD is mine");
  await said(pi, "/memory flush");
  await pi.close();
  expect(await projectTrust(placesOf(sandbox))).toMatchObject({ standing: "own", counts: true });
  expect(await runPi(sandbox, ["-e", extension, "-p", "go"])).toMatchObject({ code: 0, stderr: "" });
  expect(promptOf(model.requests.at(-1) as never)).toContain("OWNWORD");
  const file = join(sandbox.projectDir, ".pi", "memory", "MEMORY.md");
  writeFileSync(file, `${readFileSync(file, "utf8")}- PULLEDWORD\n`);
  const { stderr } = await runPi(sandbox, ["-e", extension, "-p", "go"]);
  expect(stderr).toMatch(/are not used/);
  expect(promptOf(model.requests.at(-1) as never)).not.toMatch(/OWNWORD|PULLEDWORD/);
});

test.skipIf(missing("tmux"))("the terminal asks once, and remembers the answer", async () => {
  const { model, sandbox } = await start(() => ({ text: "Answered." }), { trusted: false });
  clone(sandbox, { ".pi/memory/MEMORY.md": memory[".pi/memory/MEMORY.md"] });
  const first = terminal(sandbox);
  await first.shows(/→ Not now/);
  first.press("Down", "Enter");
  await first.shows(/is trusted/);
  await first.command("go");
  await first.shows(/Answered\./);
  expect(promptOf(model.requests[0] as never)).toContain("CLONEWORD");
  expect(await projectTrust(placesOf(sandbox))).toMatchObject({ standing: "trusted" });
});

test.skipIf(missing("tmux"))("no is an answer, too", async () => {
  const { model, sandbox } = await start(() => ({ text: "Answered." }), { trusted: false });
  clone(sandbox, { ".pi/memory/MEMORY.md": memory[".pi/memory/MEMORY.md"] });
  const pi = terminal(sandbox);
  await pi.shows(/→ Not now/);
  pi.press("Down", "Down", "Enter");
  await pi.shows(/is not trusted/);
  await pi.command("go");
  await pi.shows(/Answered\./);
  expect(promptOf(model.requests[0] as never)).not.toContain("CLONEWORD");
  expect(await projectTrust(placesOf(sandbox))).toMatchObject({ standing: "denied", counts: false });
});
