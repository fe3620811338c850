// A store that cannot be written for a while: the disk is full, read-only or faulty, or another program holds the file. Pi's own
// messages go out, the user is told once, and afterwards nothing is lost. A preloaded library (tests/fixtures/failing-disk.c) makes the
// addon's writes fail.
import { spawnSync } from "node:child_process";
import { realpathSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { openStore } from "../../index.js";
import { type Sandbox, startPiRpc } from "../../scripts/lib/pi.js";
import type { RequestBody, ScriptedModel } from "../../scripts/lib/scripted-model.js";
import { root } from "../../scripts/setup.js";
import {
  contextToolNames,
  expectPairedCalls,
  extension,
  missing,
  start,
  temporaryFolder,
  toolNames,
} from "./support.ts";

type Pi = ReturnType<typeof startPiRpc>;

const files = { "a.txt": Array.from({ length: 200 }, (_, at) => `line ${at + 1}\n`).join("") };

/** Every turn reads the file and says a word. */
async function started() {
  const reads = ({ body }: { body: RequestBody }) =>
    body.messages.at(-1)?.role === "tool"
      ? { text: "Read." }
      : { calls: [{ name: "read", args: { path: "a.txt", limit: 40 } }] };
  return start(reads, { files, palimpsest: { prices: "openai", deadlineSeconds: 2 } });
}

function storeFile(sandbox: Sandbox): string {
  return join(sandbox.agentDir, "palimpsest", "store.sqlite");
}

const warnings = (pi: Pi) =>
  pi.records.filter(({ notifyType }) => notifyType === "warning").map(({ message }) => String(message));
const status = (pi: Pi) =>
  pi.records
    .filter(({ statusKey }) => statusKey === "palimpsest")
    .map(({ statusText }) => String(statusText))
    .at(-1);

/** The last request holds all that was said and read. */
function expectWhole(model: ScriptedModel, prompts: string[]): void {
  const texts = JSON.stringify(model.requests.at(-1)?.body.messages);
  for (const prompt of prompts) {
    expect(texts).toContain(prompt);
  }
  expectPairedCalls(model);
}

/** What the store holds of the newest session: its calls, and those of them that failed. */
async function calls(sandbox: Sandbox): Promise<{ called: number; failed: number; messages: number }> {
  const store = await openStore({ path: storeFile(sandbox), create: false });
  const [{ id, chatId }] = await store.sessions();
  const events = (await store.items(id)).map((item) => JSON.parse(item) as { event: string; calls?: unknown[] });
  const messages = (await store.items(chatId)).length;
  await store.close();
  const failed = events.flatMap(({ event, calls }) => (event === "failed_open" ? (calls ?? []) : []));
  return { called: events.filter(({ event }) => event === "called").length, failed: failed.length, messages };
}

/** Plays three turns; in the second one the store cannot be written. */
async function threeTurns(pi: Pi, fail: () => void, mend: () => void): Promise<{ failing: string | undefined }> {
  await pi.prompt("the first turn");
  fail();
  await pi.prompt("the second turn");
  const failing = status(pi);
  mend();
  await pi.prompt("the third turn");
  return { failing };
}

const errors = [
  ["full", 28, /NO_SPACE/],
  ["read-only", 30, /READ_ONLY|STORE_UNAVAILABLE/],
  ["faulty", 5, /STORE_UNAVAILABLE/],
] as const;

describe.skipIf(process.platform !== "linux" || missing("cc"))("a disk that is", () => {
  /** The environment of a Pi whose addon's writes fail while the flag exists. */
  function failing(errno: number) {
    const folder = realpathSync(temporaryFolder());
    const [library, flag] = [join(folder, "failing-disk.so"), join(folder, "flag")];
    const source = join(root, "tests", "fixtures", "failing-disk.c");
    expect(spawnSync("cc", ["-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"]).status).toBe(0);
    const env = { LD_PRELOAD: library, FAILING_WHILE: flag, FAILING_ERRNO: String(errno), FAILING_CALLER: ".node" };
    return { env, fail: () => writeFileSync(flag, ""), mend: () => rmSync(flag) };
  }

  test.each(errors)("%s sends Pi's own messages, and loses nothing", async (_how, errno, code) => {
    const { model, sandbox } = await started();
    const { env, fail, mend } = failing(errno);
    const pi = startPiRpc(sandbox, ["-e", extension], { env });
    const { failing: shown } = await threeTurns(pi, fail, mend);
    expect(shown).toMatch(/^palimpsest failing: /);
    expect(status(pi)).toBe("palimpsest on");
    const told = warnings(pi);
    expect(told, told.join("\n")).toHaveLength(2);
    expect(told[0]).toMatch(code);
    expect(told[1]).toContain("it works again");
    expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });
    expectWhole(model, ["the first turn", "the second turn", "the third turn"]);
    const { called, failed, messages } = await calls(sandbox);
    expect({ all: called + failed, failed }).toEqual({ all: model.requests.length, failed: 2 });
    // Three turns of a prompt, a call, a result and a word, of which no request had the last.
    expect(messages).toBe(12);
  });

  test.each(errors)("%s at the start turns it off until `/context on`", async (_how, errno, code) => {
    const { model, sandbox } = await started();
    const { env, fail, mend } = failing(errno);
    fail();
    const pi = startPiRpc(sandbox, ["-e", extension], { env });
    await pi.prompt("the first turn");
    expect(status(pi)).toMatch(/^palimpsest off: /);
    expect(toolNames(model.requests[0].body)).not.toContain(contextToolNames[0]);
    mend();
    await pi.send({ type: "prompt", message: "/context on" });
    await pi.prompt("the second turn");
    expect(status(pi)).toBe("palimpsest on");
    expect(warnings(pi)).toEqual([expect.stringMatching(code)]);
    expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });
    expectWhole(model, ["the first turn", "the second turn"]);
    expect(await calls(sandbox)).toMatchObject({ called: 2, failed: 0 });
  });
});

test("a locked store sends Pi's own messages, and loses nothing", async () => {
  const { model, sandbox } = await started();
  const pi = startPiRpc(sandbox, ["-e", extension]);
  let other: DatabaseSync | undefined;
  const { failing: shown } = await threeTurns(
    pi,
    () => {
      other = new DatabaseSync(storeFile(sandbox));
      other.exec("BEGIN EXCLUSIVE");
    },
    () => other?.close(),
  );
  expect(shown).toMatch(/^palimpsest failing: /);
  expect(status(pi)).toBe("palimpsest on");
  const told = warnings(pi);
  expect(told, told.join("\n")).toHaveLength(2);
  expect(told[1]).toContain("it works again");
  expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });
  expectWhole(model, ["the first turn", "the second turn", "the third turn"]);
  const { called, failed } = await calls(sandbox);
  expect({ all: called + failed, failed }).toEqual({ all: model.requests.length, failed: 2 });
});
