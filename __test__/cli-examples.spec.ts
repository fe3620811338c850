// The examples in the help of every command: each is run as it stands there, in a folder that has what it names.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { expect, test } from "vitest";
import { commands } from "../bin/commands.js";
import { openSession, openStore } from "../index.js";
import { pinnedNode } from "../scripts/setup.js";
import { type Desk, desk, program, withSession } from "./command.ts";
import { learnable } from "./learnable.ts";
import { patient, step, user } from "./sessions.ts";
import { noXtdb, startNode } from "./xtdb/nodes.ts";

/** Commands whose examples need a server of XTDB. */
const onServer = ["sync", "migrate"];

const all = commands.map(({ name, examples }) => ({ name, examples }));

test.each(all.filter(({ name }) => !onServer.includes(name)))(
  "the examples of $name work",
  async ({ name, examples }) => {
    const at = await furnished();
    const serves = (example: string) => name === "open" && !example.includes("--html");
    expectAllToWork(
      at,
      examples.filter((example) => !serves(example)),
    );
    for (const example of examples.filter(serves)) {
      await expectToServe(at, example);
    }
  },
);

test.skipIf(noXtdb).each(all.filter(({ name }) => onServer.includes(name)))(
  "the examples of $name work",
  { timeout: 120_000 },
  async ({ examples }) => {
    const [at, node] = await Promise.all([furnished(), startNode()]);
    const url = node.database();
    const store = join(at.folder, "..", ".pi", "agent", "palimpsest", "store.sqlite");
    at.run("migrate", at.store, store);
    expect(at.run("sync", "push", "0189ab12", "--url", url).stderr).toBe("");
    at.env.PALIMPSEST_XTDB_URL = url;
    expectAllToWork(
      at,
      examples.map((example) => example.replace("http://127.0.0.1:3000", url)),
    );
  },
);

function expectAllToWork(at: Desk, examples: readonly string[]): void {
  for (const example of examples) {
    const { status, stdout, stderr } = inShell(at, example);
    expect({ example, status, stderr: status === 0 ? "" : stderr }).toEqual({ example, status: 0, stderr: "" });
    expect(`${stdout}${stderr}`).not.toMatch(/^(?:palimpsest: .*)?$/);
  }
}

/** Serves until Ctrl-C, as it says. */
async function expectToServe(at: Desk, example: string): Promise<void> {
  const { DISPLAY: _, WAYLAND_DISPLAY: __, ...env } = environment(at);
  const child = spawn("sh", ["-c", `exec ${example}`], { cwd: at.folder, env, timeout: 50_000 });
  const ended = once(child, "exit");
  const [address] = await Promise.race([once(child.stdout, "data"), ended]);
  child.kill("SIGINT");
  expect({ example, address: String(address), ended: await ended }).toEqual({
    example,
    address: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/\w+\/\n$/),
    ended: [0, null],
  });
}

function inShell(at: Desk, line: string) {
  return spawnSync("sh", ["-c", line], { cwd: at.folder, env: environment(at), encoding: "utf8", timeout: 50_000 });
}

function environment(at: Desk): NodeJS.ProcessEnv {
  return { ...at.env, PATH: `${join(at.folder, "..", "bin")}${delimiter}${at.env.PATH}` };
}

/** A desk with files of several versions, a vault, sessions in the store and in the host's folder, and an archive. */
async function furnished(): Promise<Desk> {
  const at = desk();
  const bin = join(at.folder, "..", "bin");
  mkdirSync(bin);
  script(join(bin, "palimpsest"), `exec "${pinnedNode()}" "${program}" "$@"`);
  script(join(bin, "less"), "exec cat");
  for (const version of ["one", "two", "three"]) {
    at.write("src/main.rs", `fn main() {}\n// ${version}\n`);
    at.write("README.md", `# ${version}\n`);
    at.write("notes/plan.md", `# Plan ${version}\n\nSee [[plan]]. To transform context.\n`);
    at.write(".env", `KEY=${version}`);
    at.run("index", ".", "--all");
  }
  await withSession(at, "0189ab12-5c01-7abc-8def-0123456789ab");
  await withSession(at, "0198c2f1-5c01-7abc-8def-0123456789ab");
  await withManyOutputs(at);
  at.run("export", "backup.jsonl.zst");
  const inFolders = [
    "../.pi/agent/sessions/a.jsonl",
    "../.pi/agent/sessions/b.jsonl",
    "../.openclaw/agents/main/sessions/a.jsonl",
  ];
  for (const path of [...inFolders, "a.jsonl", "b.jsonl"]) {
    at.write(path, learnable(path, true));
  }
  return at;
}

/** A session that has a result `t17`. */
async function withManyOutputs(at: Desk): Promise<void> {
  const store = await openStore({ path: at.store });
  const session = await openSession(store, { harness: "test", sessionId: "many", cwd: at.folder, settings: patient });
  const steps = Array.from({ length: 17 }, (_, at) => step(at + 1, `cargo test ${at}\n`));
  await session.transformContext([user("Run them."), ...steps.flat()]);
  await session.close();
  await store.close();
}

function script(path: string, line: string): void {
  writeFileSync(path, `#!/bin/sh\n${line}\n`);
  chmodSync(path, 0o755);
}
