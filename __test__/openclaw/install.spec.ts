// Installing as users do: the packed tarball, the platform's package from a registry, no scripts. What it makes of OpenClaw, what a wrong
// configuration is answered, and what stays when it is uninstalled.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import {
  configure,
  createOpenClawSandbox,
  installPlugin,
  type OpenClawSandbox,
  readConfig,
  runLocal,
  runOpenClaw,
  uninstallPlugin,
} from "../../scripts/lib/openclaw.js";
import { startGateway } from "../../scripts/lib/openclaw-gateway.js";
import type { Packed } from "../../scripts/lib/packages.js";
import { serveRegistry } from "../../scripts/lib/registry.js";
import { palimpsest, toolNames } from "../e2e/support.ts";
import { packRelease } from "../release.ts";
import { call, continues, fromNow, isPaired, lines, type Puppet, startPuppet } from "./support.ts";

const files = { "log.sh": "i=0; while [ $i -lt 900 ]; do i=$((i + 1)); echo case number $i; done\n" };
const runLog = call("exec", { command: "sh log.sh" });
let folder: string;
let packed: Packed;
let registry: Awaited<ReturnType<typeof serveRegistry>>;
let model: Puppet;
let sandbox: OpenClawSandbox;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "palimpsest-release-"));
  packed = packRelease(folder);
  registry = await serveRegistry({ folder });
  model = await startPuppet();
  sandbox = await createOpenClawSandbox({ baseUrl: model.baseUrl, files });
});

afterAll(async () => {
  registry?.close();
  await model?.close();
  await sandbox?.remove();
  rmSync(folder, { recursive: true, force: true });
});

const results = (body: Parameters<typeof lines>[0]) => lines(body).filter((line) => line.startsWith("tool: "));

/** One turn in a process of its own; resolves to its requests. */
async function local(message: string, ...steps: Parameters<Puppet["play"]>) {
  const since = fromNow(model);
  model.play(...steps);
  const finished = await runLocal(sandbox, { message });
  expect(finished, finished.stderr).toMatchObject({ code: 0 });
  return { requests: since(), ...finished };
}

const install = () => installPlugin(sandbox, packed.main, { registry: registry.url, deadlineMs: 200_000 });

test("the tarball installs with its binary and takes the slot", async () => {
  const before = readConfig(sandbox);
  const installed = await install();
  expect(installed, installed.stdout + installed.stderr).toMatchObject({ code: 0 });
  expect(registry.asked).toEqual(packed.platforms.map((file) => basename(file)));
  const { plugins, ...others } = readConfig(sandbox);
  expect(plugins).toMatchObject({ slots: { contextEngine: "palimpsest" }, entries: { palimpsest: { enabled: true } } });
  expect({ ...others, meta: undefined }).toEqual({ ...before, plugins: undefined, meta: undefined });
});

test("invalid settings are named, and nothing else stops", async () => {
  const file = join(sandbox.stateDir, "openclaw.json");
  const before = readFileSync(file, "utf8");
  const config = { previewTokens: "many", layuot: "log", prices: "acme", excludeAlso: [5] };
  configure(sandbox, { plugins: { entries: { palimpsest: { config } } } });
  const { requests, stderr } = await local("hi", { text: "zero" });
  expect(toolNames(requests[0])).toContain("activate");
  for (const key of Object.keys(config)) {
    expect(stderr).toContain(`\`${key}\``);
  }
  writeFileSync(file, before);
});

test("turns with and without a gateway use Palimpsest", async () => {
  const { requests: one, stderr } = await local("run", runLog, { text: "one" });
  expect(toolNames(one[0])).toEqual(expect.arrayContaining(["activate", "deactivate", "pin", "unpin"]));
  expect(results(one[1])[0]).toMatch(/… \d+ lines between \(t1:/);
  expect(stderr).not.toContain("[plugins] Palimpsest: ");

  configure(sandbox, { plugins: { entries: { palimpsest: { config: { previewTokens: 100_000 } } } } });
  const gateway = await startGateway(sandbox);
  onTestFinished(async () => void (await gateway.stop()));
  const since = fromNow(model);
  model.play(call("activate", { name: "t1", lines: "5" }), runLog, { text: "two" });
  expect(await gateway.agent({ message: "look" })).toMatchObject({ status: "ok", text: "two" });
  const two = since();
  expect(results(two[1])[1]).toContain("case number 5");
  // As the setting says.
  expect(results(two[2])[2]).toContain("case number 450\n");
  expect([...one, ...two].every(isPaired)).toBe(true);
  // What OpenClaw has evaluated is a copy (host.spec.ts: of several).
  expect(readdirSync(join(sandbox.stateDir, "tmp", "plugin-captures"))).not.toEqual([]);
  const mapped = readFileSync(`/proc/${gateway.pid}/maps`, "utf8").match(/\S+palimpsest\S*\.node/g);
  expect([...new Set(mapped)]).toHaveLength(1);
});

test("uninstalling restores OpenClaw and keeps the store", async () => {
  const sessions = palimpsest<{ sessions: { id: string }[] }>(sandbox, "sessions").sessions;
  const uninstalled = await uninstallPlugin(sandbox, "palimpsest");
  expect(uninstalled, uninstalled.stderr).toMatchObject({ code: 0 });
  const { requests, stderr } = await local("without", runLog, { text: "three" });
  expect(toolNames(requests[0])).not.toContain("activate");
  // What was shown in part stays so in the transcript; a new output is whole.
  expect(results(requests[1])[0]).toMatch(/… \d+ lines between \(t1:/);
  expect(results(requests[1]).at(-1)).toContain("case number 450\n");
  expect(stderr).not.toMatch(/\[plugins\] palimpsest|context engine/i);
  expect(existsSync(sandbox.store)).toBe(true);
  expect(palimpsest<{ sessions: { id: string }[] }>(sandbox, "sessions").sessions).toEqual(sessions);
});

test("installed again, it finds the session again", async () => {
  expect((await install()).code).toBe(0);
  // OpenClaw keeps that it was uninstalled, as a plugin that is turned off.
  expect(readConfig(sandbox).plugins.entries.palimpsest).toMatchObject({ enabled: false });
  const enabled = await runOpenClaw(sandbox, ["plugins", "enable", "palimpsest", "--accept-capabilities"]);
  expect(enabled, enabled.stderr).toMatchObject({ code: 0 });
  expect(readConfig(sandbox).plugins.slots).toEqual({ contextEngine: "palimpsest" });
  const { requests } = await local("again", call("activate", { name: "t1", lines: "7" }), { text: "four" });
  expect(results(requests[1]).at(-1)).toContain("case number 7");
  const { sessions } = palimpsest<{ sessions: { id: string }[] }>(sandbox, "sessions");
  expect(sessions).toHaveLength(1);
  expect(continues(requests[0], requests[1])).toBe(true);
});
