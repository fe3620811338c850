// The real Pi while files are deleted, moved and made again under its model, also while Pi was away. What the model is told is
// read from the request bodies.
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openStore } from "../../index.js";
import { runPi, type Sandbox, startPiRpc } from "../../scripts/lib/pi.js";
import type { RequestBody, ScriptedModel, Step } from "../../scripts/lib/scripted-model.js";
import { expectPairedCalls, extension, start } from "./support.ts";

const numbered = (name: string) => Array.from({ length: 30 }, (_, at) => `line ${at + 1} of ${name}\n`).join("");
const files = { "a.txt": numbered("a"), "b.txt": numbered("b"), "c.txt": numbered("c") };

const read = (path: string): Step => ({ calls: [{ name: "read", args: { path } }] });
const bash = (command: string): Step => ({ calls: [{ name: "bash", args: { command } }] });
const done: Step = { text: "Done." };

function texts(body: RequestBody): string {
  const said = body.messages.map(({ content }) =>
    typeof content === "string"
      ? content
      : ((content ?? []) as { text?: string }[]).map(({ text }) => text ?? "").join("\n"),
  );
  return said.join("\n");
}

/** Lines of the n-th request that tell of files. */
function notes(model: ScriptedModel, n: number): string[] {
  return texts(model.requests[n].body)
    .split("\n")
    .filter((line) => /^\[f\d+\] \S+ (is|changed)/.test(line));
}

const at = (sandbox: Sandbox, path: string) => join(sandbox.projectDir, path);

describe("the model is told", () => {
  test("of deleted and moved files, and need not read them again", async () => {
    const steps = [read("a.txt"), read("b.txt"), bash("rm a.txt && mkdir sub && mv b.txt sub/new.txt")];
    const { model, sandbox } = await start([...steps, read("sub/new.txt"), done], { files });
    expect(await runPi(sandbox, ["-e", extension, "-p", "go"])).toMatchObject({ code: 0, stderr: "" });
    const told = ["[f1] a.txt is no longer on disk; its text of t1 is kept as f1.", "[f2] b.txt is now sub/new.txt"];
    expect(notes(model, 3).sort()).toEqual(told);
    expect(notes(model, 4).sort()).toEqual(told);
    expect(texts(model.requests[4].body)).toContain("f2 unchanged; lines 1-30 stand in the read result above (t2).");
    expectPairedCalls(model);
    const store = await openStore({ path: join(sandbox.agentDir, "palimpsest", "store.sqlite") });
    const moved = await store.history(at(sandbox, "sub/new.txt"));
    expect(moved.length).toBeGreaterThan(1);
    await store.close();
  });

  test("of moves by other programs, and of new files in their place", async () => {
    const steps = [read("a.txt"), done, done, read("a.txt"), done];
    const { model, sandbox } = await start(steps, { files });
    const pi = startPiRpc(sandbox, ["-e", extension]);
    await pi.prompt("go");
    renameSync(at(sandbox, "a.txt"), at(sandbox, "moved.txt"));
    await pi.prompt("and now?");
    writeFileSync(at(sandbox, "a.txt"), "made anew\n");
    await pi.prompt("read it again");
    expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });
    expect(notes(model, 2)).toEqual(["[f1] a.txt is now moved.txt"]);
    expect(notes(model, 4)).toEqual(notes(model, 2));
    expect(texts(model.requests[4].body)).toContain("made anew");
    expectPairedCalls(model);
  });

  test("of what became of files while Pi was away", async () => {
    const steps = [read("a.txt"), read("b.txt"), read("c.txt"), done, done];
    const { model, sandbox } = await start(steps, { files });
    expect(await runPi(sandbox, ["-e", extension, "-p", "go"])).toMatchObject({ code: 0, stderr: "" });
    rmSync(at(sandbox, "a.txt"));
    renameSync(at(sandbox, "b.txt"), at(sandbox, "moved.txt"));
    writeFileSync(at(sandbox, "c.txt"), numbered("c").replace("line 7 of", "LINE SEVEN of"));
    expect(await runPi(sandbox, ["-e", extension, "--continue", "-p", "and?"])).toMatchObject({ code: 0, stderr: "" });
    expect(notes(model, 4)).toEqual([
      "[f1] a.txt is no longer on disk; its text of t1 is kept as f1.",
      "[f2] b.txt is now moved.txt",
      "[f3] c.txt changed on disk after t3 (+1 -1):",
    ]);
    expect(texts(model.requests[4].body)).toContain("\n-line 7 of c\n+LINE SEVEN of c\n");
    expectPairedCalls(model);
  });
});
