// A release to a registry on loopback that fails at each step in turn: what is there stays, and the next run goes on.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
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

/** A registry that takes packages, and refuses each once. */
async function registry() {
  const taken: string[] = [];
  const refused = new Set<string>();
  const server = createServer((request, response) => {
    const name = decodeURIComponent(request.url ?? "").slice(1);
    const answer = (status: number, body: unknown) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    request.resume();
    request.on("end", () => {
      if (request.method === "PUT" && !refused.has(name)) {
        refused.add(name);
        answer(400, { error: "not now" });
      } else if (request.method === "PUT") {
        taken.push(name);
        answer(201, { ok: true });
      } else if (taken.includes(name)) {
        answer(200, { name, "dist-tags": { latest: version }, versions: { [version]: { name, version } } });
      } else {
        answer(404, { error: "not found" });
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { taken, url: `http://127.0.0.1:${port}/`, host: `//127.0.0.1:${port}/` };
}

test("a release goes on after a failure at each step", { timeout: 120_000 }, async () => {
  const folder = release(origin);
  const { taken, url, host } = await registry();
  writeFileSync(join(folder, "npmrc"), `registry=${url}\n${host}:_authToken=none\n`);
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
