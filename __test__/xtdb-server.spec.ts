// `npm run xtdb`: that it says where it answers, and ends with whoever started it. What the server answers is tested in `tests/xtdb`.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test, vi } from "vitest";
import { isEverything } from "../scripts/lib/tiers.js";
import { prepareXtdb } from "../scripts/lib/xtdb.js";
import { root } from "../scripts/setup.js";
import { missing, temporaryFolder } from "./e2e/support.ts";

const script = join(root, "scripts", "xtdb.js");
const noXtdb = !isEverything || missing("java", "mvn");

/** Starts the command in a process group of its own, as a terminal does. */
async function start(...args: string[]): Promise<{ url: string; command: ChildProcess }> {
  expect(prepareXtdb()).toBeUndefined();
  const place = ["--config", "memory", "--port", "0", "--data", temporaryFolder()];
  const command = spawn(process.execPath, [script, ...place, ...args], {
    detached: true,
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => {
    command.kill("SIGKILL");
  });
  const [line] = await once(createInterface({ input: command.stdout }), "line");
  const url = /^XTDB answers at (http:\/\/127\.0\.0\.1:\d+) \(memory, .*Ctrl-C/.exec(line)?.[1];
  expect(url, line).toBeDefined();
  return { url: `${url}/_xtdb/status`, command };
}

const status = async (url: string, headers = {}) => (await fetch(url, { headers })).status;

test.skipIf(noXtdb)("it answers those who bring the token, and Ctrl-C ends it", async () => {
  const tokenFile = join(temporaryFolder(), "token");
  writeFileSync(tokenFile, "secret\n");
  const { url, command } = await start("--token-file", tokenFile);
  expect(await status(url, { authorization: "Bearer secret" })).toBe(200);
  expect(await status(url)).toBe(401);

  process.kill(-(command.pid ?? 0), "SIGINT");
  const [code] = await once(command, "exit");
  expect(code).toBe(0);
  await expect(fetch(url)).rejects.toThrow();
});

test.skipIf(noXtdb)("the server ends when the command is killed", async () => {
  const { url, command } = await start();
  expect(await status(url)).toBe(200);
  command.kill("SIGKILL");
  await vi.waitFor(() => expect(fetch(url)).rejects.toThrow(), { timeout: 20_000, interval: 100 });
});

test("without a JDK it says in one line what to do", () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "java"), "#!/bin/sh\nexit 1\n");
  chmodSync(join(folder, "java"), 0o755);
  const { status, stderr } = spawnSync(process.execPath, [script], { env: { PATH: folder }, encoding: "utf8" });
  expect(status).toBe(1);
  expect(stderr).toMatch(/^missing: java 17 or later \(.*apt-get install openjdk-17.*\)\n$/);
});

test("names an unknown option and lists the known ones", () => {
  const { status, stderr } = spawnSync(process.execPath, [script, "--prot", "1"], { encoding: "utf8" });
  expect(status).toBe(1);
  expect(stderr).toMatch(/--prot.*\n.*--config standalone\|memory\|postgres\|FILE/s);
});
