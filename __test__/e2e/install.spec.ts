// Installing: `pi install <clone>`, and a packed package with its platform package beside it where no clone is at hand.
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { expect, test } from "vitest";
import { runPi } from "../../scripts/lib/pi.js";
import { isOnPath, pinnedNode, root } from "../../scripts/setup.js";
import { contextToolNames, start, temporaryFolder, toolNames } from "./support.ts";

const builtIns = ["read", "bash", "edit", "write"];

test("pi install with the clone's path serves an ordinary session", async () => {
  const { model, sandbox } = await start([{ text: "ok" }]);
  expect(await runPi(sandbox, ["install", root])).toMatchObject({ code: 0 });
  expect(await runPi(sandbox, ["-p", "hi"])).toMatchObject({ code: 0, stdout: "ok\n", stderr: "" });
  expect(toolNames(model.requests[0].body)).toEqual([...builtIns, ...contextToolNames]);
  expect(existsSync(join(sandbox.agentDir, "palimpsest", "store.sqlite"))).toBe(true);
});

test("a packed package serves a session with neither cargo nor the clone at hand", { timeout: 240_000 }, async () => {
  // Packing a debug build of the addon takes most of a minute.
  const packed = temporaryFolder();
  const [main, platform] = packBoth(packed);
  const { model, sandbox } = await start([{ text: "ok" }]);
  const env = { PATH: pathWithoutCargo(), npm_config_offline: "true", npm_config_cache: join(packed, "cache") };

  const installed = await runPi(sandbox, ["install", `npm:palimpsest@file:${main}`], { env });
  expect(installed, installed.stderr).toMatchObject({ code: 0 });
  const prefix = join(sandbox.agentDir, "npm");
  npm(prefix, ["install", "--prefix", prefix, "--legacy-peer-deps", "--no-save", `file:${platform}`], env);

  expect(await runPi(sandbox, ["-p", "hi"], { env })).toMatchObject({ code: 0, stdout: "ok\n", stderr: "" });
  expect(toolNames(model.requests[0].body)).toEqual([...builtIns, ...contextToolNames]);
  const command = join(prefix, "node_modules", "palimpsest", "bin", "palimpsest.js");
  const agent = { ...env, PI_CODING_AGENT_DIR: sandbox.agentDir };
  const listed = spawnSync(pinnedNode(), [command, "sessions"], { encoding: "utf8", env: agent });
  expect(listed).toMatchObject({ status: 0, stderr: "" });
  expect(listed.stdout).toMatch(/^session:/);
});

/** Packs this package and, with the binary at hand, the package of this platform; returns both files. */
function packBoth(into: string): [string, string] {
  const napi = join(root, "node_modules", "@napi-rs", "cli", "dist", "cli.js");
  // The command insists on writing below the manifest that it reads.
  cpSync(join(root, "package.json"), join(into, "package.json"));
  const dirs = join(into, "npm");
  const made = spawnSync(pinnedNode(), [napi, "create-npm-dirs"], { cwd: into, encoding: "utf8" });
  expect(made.status, made.stdout).toBe(0);
  const binary = readdirSync(root).find((name) => name.endsWith(".node"));
  if (binary === undefined) {
    throw new Error("the addon is not built");
  }
  const platform = binary.split(".")[1];
  cpSync(join(root, binary), join(dirs, platform, binary));
  return [pack(root, into), pack(join(dirs, platform), into)];
}

function pack(folder: string, into: string): string {
  const output = npm(folder, ["pack", "--json", "--ignore-scripts", "--pack-destination", into]);
  const [{ filename, files }] = JSON.parse(output) as [{ filename: string; files: { path: string }[] }];
  if (folder === root) {
    expect(files.filter((file) => file.path.endsWith(".node"))).toEqual([]);
    const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { main: string };
    expect(files.map((file) => file.path)).toContain(manifest.main);
  }
  return join(into, filename);
}

function npm(cwd: string, args: string[], env: Record<string, string> = {}): string {
  const result = spawnSync("npm", args, { cwd, encoding: "utf8", env: { ...process.env, ...env } });
  expect(result.status, `npm ${args.join(" ")}\n${result.stderr}`).toBe(0);
  return result.stdout;
}

/** The pinned Node, npm and the system's programs. */
function pathWithoutCargo(): string {
  const kept = (process.env.PATH ?? "")
    .split(delimiter)
    .filter((folder) => folder !== "" && !folder.startsWith(root) && !isOnPath("cargo", { PATH: folder }));
  return [dirname(pinnedNode()), ...kept].join(delimiter);
}
