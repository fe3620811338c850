// Installing: `pi install <clone>`, and the packages of a release from a registry, where neither clone nor compiler is at hand.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, delimiter, dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { oldestNode } from "../../scripts/lib/node-versions.js";
import type { Packed } from "../../scripts/lib/packages.js";
import { runPi } from "../../scripts/lib/pi.js";
import { manifestOf } from "../../scripts/lib/publish.js";
import { pinnedNode, root } from "../../scripts/setup.js";
import { packRelease } from "../release.ts";
import { startRegistry } from "./registry.ts";
import { contextToolNames, missing, start, temporaryFolder, toolNames } from "./support.ts";
import { terminal } from "./terminal.ts";

const builtIns = ["read", "bash", "edit", "write"];

test("pi install serves a session, and pi remove undoes it", async () => {
  const { model, sandbox } = await start([{ text: "ok" }, { text: "ok" }]);
  const settings = join(sandbox.agentDir, "settings.json");
  const before = JSON.parse(readFileSync(settings, "utf8")) as object;
  expect(await runPi(sandbox, ["install", root])).toMatchObject({ code: 0 });
  expect(await runPi(sandbox, ["-p", "hi"])).toMatchObject({ code: 0, stdout: "ok\n", stderr: "" });
  expect(toolNames(model.requests[0].body)).toEqual([...builtIns, ...contextToolNames]);
  expect(existsSync(join(sandbox.agentDir, "palimpsest", "store.sqlite"))).toBe(true);

  expect(await runPi(sandbox, ["remove", root])).toMatchObject({ code: 0 });
  expect(JSON.parse(readFileSync(settings, "utf8"))).toEqual({ ...before, packages: [] });
  expect(await runPi(sandbox, ["--continue", "-p", "hi"])).toMatchObject({ code: 0, stdout: "ok\n", stderr: "" });
  expect(toolNames(model.requests[1].body)).toEqual(builtIns);
});

describe("the packages of a release", () => {
  let folder: string;
  let packed: Packed;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "palimpsest-release-"));
    packed = packRelease(folder);
  }, 240_000);

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("the package names all platforms and holds no binary", () => {
    const manifest = manifestOf(packed.main);
    const { napi } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { napi: { targets: string[] } };
    const names = Object.keys(manifest.optionalDependencies ?? {});
    expect(names).toHaveLength(napi.targets.length);
    expect(Object.values(manifest.optionalDependencies ?? {})).toEqual(names.map(() => manifest.version));
    expect(packed.platforms.map((file) => manifestOf(file).name)).toEqual(
      names.filter((name) => !packed.missing.includes(name)),
    );
    const files = list(packed.main);
    expect(files.filter((file) => file.endsWith(".node"))).toEqual([]);
    for (const file of ["index.js", "index.d.ts", "extensions/index.ts", "bin/palimpsest.js", "README.md", "LICENSE"]) {
      expect(files).toContain(`package/${file}`);
    }
    const [platform] = packed.platforms;
    expect(list(platform).filter((file) => file.endsWith(".node"))).toHaveLength(1);
    expect(manifestOf(platform)).not.toHaveProperty("keywords");
  });

  test.each([
    ["22", oldestNode],
    ["24", pinnedNode],
  ])("install without a compiler and serve a session on Node %s", async (major, path) => {
    const node = path();
    expect(spawnSync(node, ["--version"], { encoding: "utf8" }).stdout).toMatch(new RegExp(`^v${major}\\.`));
    const { url, asked } = await startRegistry(folder);
    const { model, sandbox } = await start([{ text: "ok" }]);
    const env = { PATH: barePath(node), npm_config_registry: url, npm_config_cache: temporaryFolder() };
    const options = { env, node, deadlineMs: 120_000 };

    const installed = await runPi(sandbox, ["install", "npm:palimpsest"], options);
    expect(installed, installed.stderr).toMatchObject({ code: 0 });
    expect(asked.sort()).toEqual([packed.main, ...packed.platforms].map((file) => basename(file)).sort());

    expect(await runPi(sandbox, ["-p", "hi"], options)).toMatchObject({ code: 0, stdout: "ok\n", stderr: "" });
    expect(toolNames(model.requests[0].body)).toEqual([...builtIns, ...contextToolNames]);
    const command = join(sandbox.agentDir, "npm", "node_modules", "palimpsest", "bin", "palimpsest.js");
    const agent = { ...env, PI_CODING_AGENT_DIR: sandbox.agentDir };
    const listed = spawnSync(node, [command, "sessions"], { encoding: "utf8", env: agent });
    expect(listed).toMatchObject({ status: 0, stderr: "" });
    expect(listed.stdout).toMatch(/^session:/);
  });

  test("without the platform's package Pi works and prints one line", async () => {
    const { url } = await startRegistry(folder);
    const { model, sandbox } = await start([{ text: "ok" }]);
    const env = { PATH: barePath(pinnedNode()), npm_config_registry: url, npm_config_cache: temporaryFolder() };
    const withoutOptional = { ...env, npm_config_omit: "optional" };
    expect(await runPi(sandbox, ["install", "npm:palimpsest"], { env: withoutOptional })).toMatchObject({ code: 0 });
    const finished = await runPi(sandbox, ["-p", "hi"], { env });
    expect(finished).toMatchObject({ code: 0, stdout: "ok\n" });
    expect(finished.stderr.trimEnd().split("\n")).toEqual([
      expect.stringMatching(
        /^Palimpsest: off for this session, .*: the package `palimpsest-[\w-]+` with the native addon is not installed \(NO_ADDON\); hint: install palimpsest again, with optional dependencies/,
      ),
    ]);
    expect(toolNames(model.requests[0].body)).toEqual(builtIns);
  });

  test.skipIf(missing("tmux"))("Pi shows it by the package's name", async () => {
    const { url } = await startRegistry(folder);
    const { sandbox } = await start([], { settings: { quietStartup: false } });
    const env = { npm_config_registry: url, npm_config_cache: temporaryFolder() };
    expect(await runPi(sandbox, ["install", "npm:palimpsest"], { env })).toMatchObject({ code: 0 });
    const pi = terminal(sandbox, { loads: [] });
    await pi.shows(/^palimpsest on$/m);
    const screen = await pi.shows(/\[Extensions\]\s+palimpsest$/m);
    expect(screen).not.toContain("pi-extension");
  });
});

function list(tarball: string): string[] {
  return spawnSync("tar", ["-tzf", tarball], { encoding: "utf8" }).stdout.trimEnd().split("\n");
}

/** A path with this Node, npm and a shell, and nothing else. */
function barePath(node: string): string {
  const programs = temporaryFolder();
  const folders = (process.env.PATH ?? "").split(delimiter);
  for (const name of ["npm", "sh", "env"]) {
    const folder = folders.find((each) => existsSync(join(each, name)));
    symlinkSync(realpathSync(join(folder ?? "", name)), join(programs, name));
  }
  return [dirname(node), programs].join(delimiter);
}
