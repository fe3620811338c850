// A disk that does not answer: Pi's calls go out in time, the user is told, and all goes on once it answers. A preloaded library
// (tests/fixtures/silent-disk.c) keeps our own looks below one folder waiting; Pi's are not touched.
import { spawnSync } from "node:child_process";
import { mkdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openStore } from "../../index.js";
import { startPiRpc } from "../../scripts/lib/pi.js";
import type { RequestBody, ScriptedModel, Step } from "../../scripts/lib/scripted-model.js";
import { root } from "../../scripts/setup.js";
import { extension, missing, said, start, temporaryFolder } from "./support.ts";

/** The deadline of the settings, and what a busy machine adds. */
const deadlineMs = 12_000;

/** Starts Pi's model and sandbox with a folder `far`, whose disk is silent while the file `silent` exists. */
async function startFar(script: (n: number, far: Far) => Step) {
  const library = join(temporaryFolder(), "silent-disk.so");
  const source = join(root, "tests", "fixtures", "silent-disk.c");
  expect(spawnSync("cc", ["-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"]).status).toBe(0);
  const dir = realpathSync(temporaryFolder());
  const far = new Far(join(dir, "far"), join(dir, "silent"));
  const palimpsest = { prices: "openai", deadlineSeconds: 2 };
  const files = { "near.txt": "near\n" };
  const started = await start(({ n }: { n: number }) => script(n, far), { files, palimpsest });
  const env = { LD_PRELOAD: library, SILENT_UNDER: far.folder, SILENT_WHILE: far.flag, SILENT_CALLER: ".node" };
  return { ...started, far, env };
}

class Far {
  constructor(
    readonly folder: string,
    readonly flag: string,
  ) {
    mkdirSync(folder);
    writeFileSync(join(folder, "a.txt"), "far\n");
  }

  silence(): void {
    writeFileSync(this.flag, "");
  }

  answer(): void {
    rmSync(this.flag);
  }
}

/** Resolves with how long `work` took. */
async function timed(work: Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work;
  return performance.now() - began;
}

function text(body: RequestBody | undefined): string {
  return JSON.stringify(body?.messages);
}

function last(model: ScriptedModel): string {
  return text(model.requests.at(-1)?.body);
}

function notices(pi: ReturnType<typeof startPiRpc>): string[] {
  return pi.records.filter((record) => record.notifyType === "warning").map((record) => String(record.message));
}

function statusLines(pi: ReturnType<typeof startPiRpc>): string[] {
  return pi.records.filter((record) => record.statusKey === "palimpsest").map((record) => String(record.statusText));
}

describe.skipIf(process.platform !== "linux" || missing("cc"))("a disk that does not answer", () => {
  test("with a file that stands is out of reach for now", async () => {
    const { model, sandbox, far, env } = await startFar((n, { folder }) => {
      const steps: Step[] = [
        { calls: [{ name: "read", args: { path: join(folder, "a.txt") } }] },
        { calls: [{ name: "read", args: { path: "near.txt" } }] },
        { text: "Both." },
        // A tool of Pi's that names it, one of ours that wants it.
        { calls: [{ name: "bash", args: { command: `cat ${folder}/a.txt near.txt` } }] },
        { calls: [{ name: "activate", args: { name: "f1" } }] },
        { text: "Gone." },
      ];
      return steps[n] ?? { text: "Ok." };
    });
    const pi = startPiRpc(sandbox, ["-e", extension], { env });
    await pi.prompt("read both");
    far.silence();
    writeFileSync(join(sandbox.projectDir, "near.txt"), "nearer\n");
    expect(await timed(pi.prompt("and now?"))).toBeLessThan(deadlineMs);
    expect(text(model.requests[3]?.body)).toContain("near.txt changed on disk");
    expect(text(model.requests[3]?.body)).toContain("out of reach");
    expect(notices(pi)).toEqual([expect.stringContaining(`${far.folder}`)]);
    expect(notices(pi)[0]).toContain("does not answer");
    expect(statusLines(pi).at(-1)).toContain("no answer from");
    expect(await timed(pi.prompt("and again?"))).toBeLessThan(1_500);
    far.answer();
    await pi.prompt("and back?");
    expect(last(model)).toContain("within reach again");
    far.silence();
    expect(await timed(pi.close())).toBeLessThan(deadlineMs);
    expect(pi.outcome.stderr).toBe("");
  });

  test("under the store sends Pi's own messages, and records that", async () => {
    const { model, sandbox, far, env } = await startFar((n) => {
      const read: Step = { calls: [{ name: "read", args: { path: "near.txt" } }] };
      return n === 0 ? read : { text: "Ok." };
    });
    const store = join(far.folder, "store.sqlite");
    const pi = startPiRpc(sandbox, ["-e", extension], { env: { ...env, PALIMPSEST_STORE: store } });
    await pi.prompt("read it");
    far.silence();
    expect(await timed(pi.prompt("and now?"))).toBeLessThan(2 * deadlineMs);
    expect(last(model)).toContain("and now?");
    expect(notices(pi)).toEqual([expect.stringContaining("NO_ANSWER")]);
    expect(statusLines(pi).at(-1)).toMatch(/^palimpsest failing: /);
    // What hangs is not waited for again.
    expect(await timed(pi.prompt("and again?"))).toBeLessThan(1_500);
    far.answer();
    await pi.prompt("and back?");
    expect(notices(pi).at(-1)).toContain("works again");
    expect(await said(pi, "/context")).toContain("2 calls with Pi's own messages");
    far.silence();
    expect(await timed(pi.close())).toBeLessThan(deadlineMs);
    expect(pi.outcome.stderr).toContain("could not store the end of this session");
    // What was given up was not written later: of five calls, two failed.
    far.answer();
    const recorded = await openStore({ path: store, create: false });
    const [session] = await recorded.query("type = session");
    const events = (await recorded.items(session.id)).map((item) => JSON.parse(item));
    await recorded.close();
    expect(events.filter(({ event }) => event === "called")).toHaveLength(model.requests.length - 2);
  });
});
