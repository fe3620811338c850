// An agent in a sandbox and one on the host, on one store: they meet in the same files, each sees its own paths, and what is
// not mapped is never looked for on the host.
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type createSandbox, runPi } from "../../scripts/lib/pi.js";
import type { ScriptedModel } from "../../scripts/lib/scripted-model.js";
import { pinnedNode } from "../../scripts/setup.js";
import { program } from "../command.ts";
import { extension, start, temporaryFolder } from "./support.ts";

type Sandbox = ReturnType<typeof createSandbox>;

interface FileObject {
  id: string;
  source: { filesystemId: string; path: string };
}

/** What a command of `palimpsest` prints on the host. */
function run(sandbox: Sandbox, ...args: string[]): string {
  const options = { cwd: sandbox.projectDir, env: sandbox.env, encoding: "utf8", timeout: 50_000 } as const;
  const { status, stdout, stderr } = spawnSync(pinnedNode(), [program, ...args], options);
  expect(status, stdout + stderr).toBe(0);
  return stdout;
}

function cli<T>(sandbox: Sandbox, ...args: string[]): T {
  return JSON.parse(run(sandbox, ...args, "--json"));
}

function fileObjects(sandbox: Sandbox): FileObject[] {
  return cli<{ objects: FileObject[] }>(sandbox, "objects", "--type", "file").objects;
}

function versionsOf(sandbox: Sandbox, name: string): string[] {
  const { versions } = cli<{ versions: { txId: number }[] }>(sandbox, "history", name);
  return versions.map(({ txId }) => run(sandbox, "show", `${name}@${txId}`));
}

const call = (name: string, args: unknown) => ({ calls: [{ name, args }] });

/** The texts of a request's last message. */
function newest(model: ScriptedModel, request: number): string {
  return JSON.stringify(model.requests[request].body.messages.at(-1)?.content);
}

/**
 * An extension whose file tools work in a container: `/workspace` and `/shared` are the host's folders, all else lies under
 * `root`.
 */
function sandboxedTools(dir: string, mounts: Record<string, string>, root: string): string {
  const path = join(dir, "sandbox.ts");
  writeFileSync(
    path,
    `import { access, mkdir, readFile, writeFile } from "node:fs/promises";
import { createEditToolDefinition, createReadToolDefinition, createWriteToolDefinition } from "@earendil-works/pi-coding-agent";
// Without Pi's context, which would have paths count from the host's folder.
const there = (tool) => ({ ...tool, execute: (id, args, signal, update) => tool.execute(id, args, signal, update) });
const mounts = ${JSON.stringify(mounts)};
function inside(path) {
  for (const [at, folder] of Object.entries(mounts)) {
    if (path === at || path.startsWith(at + "/")) return folder + path.slice(at.length);
  }
  return ${JSON.stringify(root)} + path;
}
const operations = {
  access: (path) => access(inside(path)),
  readFile: (path) => readFile(inside(path)),
  writeFile: (path, text) => writeFile(inside(path), text),
  mkdir: async (path) => { await mkdir(inside(path), { recursive: true }); },
};
export default function (pi) {
  pi.registerTool(there(createReadToolDefinition("/workspace", { operations })));
  pi.registerTool(there(createWriteToolDefinition("/workspace", { operations })));
  pi.registerTool(there(createEditToolDefinition("/workspace", { operations })));
}
`,
  );
  return path;
}

test("sandbox and host share objects under their own paths", async () => {
  const edit = (path: string, oldText: string, newText: string) =>
    call("edit", { path, edits: [{ oldText, newText }] });
  const { model, sandbox } = await start(
    [
      // On the host.
      call("read", { path: "src/a.txt" }),
      { text: "read" },
      // In the sandbox.
      call("read", { path: "/workspace/src/a.txt" }),
      edit("src/a.txt", "two", "2"),
      call("read", { path: "/shared/notes.md" }),
      { text: "edited" },
      // On the host again, which then changes the shared file.
      { text: "told" },
      edit("src/a.txt", "three", "3"),
      { text: "edited too" },
      // In the sandbox again, after somebody changed the notes.
      { text: "told too" },
    ],
    { files: { "src/a.txt": "one\ntwo\nthree\n" } },
  );
  const shared = join(sandbox.dir, "shared");
  mkdirSync(shared);
  writeFileSync(join(shared, "notes.md"), "first\n");
  const mounts = { "/workspace": sandbox.projectDir, "/shared": shared };
  const tools = sandboxedTools(sandbox.dir, mounts, join(sandbox.dir, "container"));
  const mappings = Object.entries(mounts).map(([agentPrefix, canonicalPrefix]) => ({ agentPrefix, canonicalPrefix }));
  const env = { PALIMPSEST_MOUNTS: JSON.stringify(mappings), PALIMPSEST_SANDBOX: "box" };
  const host = (...args: string[]) => runPi(sandbox, ["-e", extension, "--session-id", "host", ...args]);
  const boxed = (...args: string[]) =>
    runPi(sandbox, ["-e", extension, "-e", tools, "--session-id", "boxed", ...args], { env });

  expect(await host("-p", "go")).toMatchObject({ code: 0, stdout: "read\n" });
  expect(await boxed("-p", "go")).toMatchObject({ code: 0, stdout: "edited\n" });
  expect(await host("-p", "what changed?")).toMatchObject({ stdout: "told\n", stderr: "" });
  expect(newest(model, 6)).toContain("src/a.txt changed on disk");
  expect(newest(model, 6)).toContain("+2");
  expect(await host("-p", "go on")).toMatchObject({ stdout: "edited too\n", stderr: "" });
  writeFileSync(join(shared, "notes.md"), "second\n");
  expect(await boxed("-p", "what changed?")).toMatchObject({ stdout: "told too\n", stderr: "" });
  expect(newest(model, 9)).toContain("/shared/notes.md changed on disk");
  expect(newest(model, 9)).toContain("src/a.txt changed on disk");
  expect(JSON.stringify(model.requests[9].body.messages.slice(1))).not.toContain(sandbox.dir);

  const found = fileObjects(sandbox).map(({ source }) => source.path);
  expect(found.sort()).toEqual([join(sandbox.projectDir, "src/a.txt"), join(shared, "notes.md")].sort());
  expect(versionsOf(sandbox, join(sandbox.projectDir, "src/a.txt"))).toEqual([
    "one\n2\n3\n",
    "one\n2\nthree\n",
    "one\ntwo\nthree\n",
  ]);
});

test("unmapped paths of a sandbox are never opened on the host", async () => {
  // Absolute paths that are there on both sides.
  const own = realpathSync(temporaryFolder());
  const { model, sandbox } = await start(
    [
      call("read", { path: "/workspace/a.txt" }),
      call("read", { path: join(own, "conf") }),
      call("read", { path: join(own, "pipe") }),
      call("read", { path: join(own, "conf"), offset: 2, limit: 1 }),
      call("read", { path: join(own, "part"), offset: 2, limit: 2 }),
      call("write", { path: join(own, "new"), content: "made in the sandbox\n" }),
      call("activate", { name: join(own, "conf") }),
      call("activate", { name: join(own, "part") }),
      { text: "ok" },
    ],
    { files: { "a.txt": "mapped\n" } },
  );
  const root = join(sandbox.dir, "container");
  const inside = (name: string, text: string) => {
    mkdirSync(join(root, own), { recursive: true });
    writeFileSync(join(root, own, name), text);
  };
  inside("conf", "one\nof the container\nthree\n");
  inside("pipe", "no pipe in here\n");
  inside("part", "1\n2\n3\n4\n5\n");
  writeFileSync(join(own, "conf"), "one\nSECRETOFTHEHOST\nthree\n");
  writeFileSync(join(own, "part"), "SECRETOFTHEHOST\n");
  writeFileSync(join(own, "new"), "SECRETOFTHEHOST\n");
  expect(spawnSync("mkfifo", [join(own, "pipe")]).status).toBe(0);
  const mapping = { agentPrefix: "/workspace", canonicalPrefix: sandbox.projectDir };
  writeFileSync(join(sandbox.agentDir, "palimpsest.json"), JSON.stringify({ mounts: [mapping], sandbox: "box" }));
  const tools = sandboxedTools(sandbox.dir, { "/workspace": sandbox.projectDir }, root);
  const finished = await runPi(sandbox, ["-e", extension, "-e", tools, "-p", "go"]);
  expect(finished).toMatchObject({ code: 0, stdout: "ok\n", stderr: "" });
  expect(readFileSync(join(root, own, "new"), "utf8")).toBe("made in the sandbox\n");
  expect(newest(model, 7)).toContain("of the container");
  expect(newest(model, 8)).toContain("of it lines 2-3 are known");
  expect(JSON.stringify(model.requests)).not.toContain("SECRETOFTHEHOST");

  const found = new Map(fileObjects(sandbox).map(({ id, source }) => [source.path, { id, ...source }]));
  // printf box | sha256sum
  const box = "26f8567f2569182294c3fa5b9f9cb2270b554eef628b4c149cf82a42888ff4ae";
  const ofBox = [...found.values()].filter(({ filesystemId }) => filesystemId === box).map(({ path }) => path);
  expect(ofBox.sort()).toEqual(["conf", "new", "part", "pipe"].map((name) => join(own, name)));
  expect(found.get(join(sandbox.projectDir, "a.txt"))?.filesystemId).not.toBe(box);
  const content = (name: string) => run(sandbox, "show", found.get(join(own, name))?.id ?? name);
  expect(content("conf")).toBe("one\nof the container\nthree\n");
  expect(content("pipe")).toBe("no pipe in here\n");
  expect(content("new")).toBe("made in the sandbox\n");
  expect(versionsOf(sandbox, found.get(join(own, "conf"))?.id ?? "")).toHaveLength(1);
  expect(
    cli<{ objects: unknown[] }>(sandbox, "objects", "--type", "file", "--query", "partial = true").objects,
  ).toHaveLength(1);
  expect(cli<{ hits: unknown[] }>(sandbox, "search", "SECRETOFTHEHOST").hits).toEqual([]);
});

/** Whether a mount namespace of its own may be made here. */
const mayMount = spawnSync("unshare", ["--mount", "true"]).status === 0;

test.skipIf(!mayMount)("Pi wholly in a container meets an agent on the host", async () => {
  const { model, sandbox } = await start(
    [
      call("read", { path: "a.txt" }),
      { text: "read" },
      call("edit", { path: "a.txt", edits: [{ oldText: "one", newText: "1" }] }),
      call("read", { path: "/mnt/workspace/a.txt" }),
      { text: "edited" },
      { text: "told" },
    ],
    { files: { "a.txt": "one\ntwo\n" } },
  );
  const at = "/mnt/workspace";
  const enter = `mount -t tmpfs none /mnt && mkdir ${at} && mount --bind "$0" ${at} && cd ${at} && exec "$@"`;
  const launcher = ["unshare", "--mount", "sh", "-c", enter, sandbox.projectDir];
  const mapping = { agentPrefix: at, canonicalPrefix: sandbox.projectDir, clientPrefix: at };
  const env = { PALIMPSEST_MOUNTS: JSON.stringify([mapping]) };
  const host = (...args: string[]) => runPi(sandbox, ["-e", extension, "--session-id", "host", ...args]);
  expect(await host("-p", "go")).toMatchObject({ code: 0, stdout: "read\n" });
  const boxed = await runPi(sandbox, ["-e", extension, "--session-id", "boxed", "-p", "go"], { launcher, env });
  expect(boxed).toMatchObject({ code: 0, stdout: "edited\n" });
  expect(await host("-p", "what changed?")).toMatchObject({ stdout: "told\n", stderr: "" });
  expect(newest(model, 5)).toContain("a.txt changed on disk");
  expect(fileObjects(sandbox).map(({ source }) => source.path)).toEqual([join(sandbox.projectDir, "a.txt")]);
  expect(versionsOf(sandbox, "a.txt")).toEqual(["1\ntwo\n", "one\ntwo\n"]);
});
