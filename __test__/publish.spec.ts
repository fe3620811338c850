// A release to a registry on loopback that fails at each step in turn: what is there stays, and the next run goes on.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { serveRegistry } from "../scripts/lib/registry.js";
import { run } from "../scripts/lib/run.js";
import { root } from "../scripts/setup.js";

const version = "1.2.3";
const platforms = ["palimpsest-darwin-arm64", "palimpsest-linux-x64-gnu"];
const origin = {
  repository: "github:someone/palimpsest",
  homepage: "https://example.org",
  bugs: "https://example.org/bugs",
};

/** A folder with the tarballs of a release of stubs. */
function release(more: Record<string, unknown>): string {
  const folder = mkdtempSync(join(tmpdir(), "palimpsest-publish-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const optionalDependencies = Object.fromEntries(platforms.map((name) => [name, version]));
  for (const name of ["palimpsest", ...platforms]) {
    const manifest = { name, version, ...more, ...(name === "palimpsest" && { optionalDependencies }) };
    mkdirSync(join(folder, "package"), { recursive: true });
    writeFileSync(join(folder, "package", "package.json"), JSON.stringify(manifest));
    spawnSync("tar", ["-czf", `${name}-${version}.tgz`, "package"], { cwd: folder });
  }
  return folder;
}

test("a release goes on after a failure at each step", { timeout: 120_000 }, async () => {
  const folder = release(origin);
  const refused = new Set<string>();
  // Each package once.
  const refuses = (name: string) => !refused.has(name) && refused.add(name).has(name);
  const { taken, url, token, close } = await serveRegistry({ refuses });
  onTestFinished(close);
  writeFileSync(join(folder, "npmrc"), `registry=${url}\n${token}`);
  const publish = async (...args: string[]) => {
    const env = { ...process.env, npm_config_userconfig: join(folder, "npmrc"), npm_config_registry: url };
    return run(process.execPath, [join(root, "scripts", "publish.js"), ...args, folder], env);
  };
  expect((await publish("--check")).stdout).toContain(`palimpsest@${version} would be published`);
  const order = [...platforms, "palimpsest"];
  for (const at of order.keys()) {
    expect((await publish()).code).toBe(1);
    expect(taken).toEqual(order.slice(0, at));
  }
  const last = await publish();
  expect([last.code, taken]).toEqual([0, order]);
  expect((await publish()).stdout.trim().split("\n")).toEqual(order.map((name) => `${name}@${version} is there`));
});

test("nothing is published that does not say where it comes from", async () => {
  const { code, stderr } = await run(process.execPath, [join(root, "scripts", "publish.js"), release({})]);
  expect([code, stderr]).toEqual([
    1,
    "palimpsest does not say where it comes from: set `repository`, `homepage`, `bugs` in package.json\n",
  ]);
});
