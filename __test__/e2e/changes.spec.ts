// The real Pi while files change under its model: by people, by commands, by another session on the same store. What the
// model is told is read from the request bodies.
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openStore } from "../../index.js";
import { runPi, type Sandbox, startPiRpc } from "../../scripts/lib/pi.js";
import type { RequestBody, ScriptedModel, Step } from "../../scripts/lib/scripted-model.js";
import { expectPairedCalls, extension, missing, start } from "./support.ts";

const numbered = (count: number) => Array.from({ length: count }, (_, at) => `line ${at + 1}\n`).join("");
const files = { "a.txt": numbered(30) };

function call(name: string, args: unknown) {
  return { name, args };
}

const read = (path = "a.txt"): Step => ({ calls: [call("read", { path })] });
const bash = (command: string): Step => ({ calls: [call("bash", { command })] });
const edit = (oldText: string, newText: string, path = "a.txt"): Step => ({
  calls: [call("edit", { path, edits: [{ oldText, newText }] })],
});

/** The texts of the tool results and user messages of a request, in order. */
function texts(body: RequestBody): string[] {
  const said = body.messages.filter(({ role }) => role === "tool" || role === "user");
  return said.map(({ content }) =>
    typeof content === "string" ? content : (content as { text?: string }[]).map(({ text }) => text ?? "").join("\n"),
  );
}

/** What the newest message of a request says. */
function newest(model: ScriptedModel, n: number): string {
  return texts(model.requests[n].body).at(-1) ?? "";
}

/** How often the requests to a model say something, the newest of them. */
function count(model: ScriptedModel, words: string): number {
  return (
    texts(model.requests[model.requests.length - 1].body)
      .join("\n")
      .split(words).length - 1
  );
}

function change(sandbox: Sandbox, from: string, to: string, path = "a.txt") {
  const file = join(sandbox.projectDir, path);
  writeFileSync(file, readFileSync(file, "utf8").replace(from, to));
}

/** Starts a model whose n-th request may do something before it is answered. */
async function startWith(steps: Step[], deeds: Record<number, (sandbox: Sandbox) => void>, given = files) {
  let sandbox: Sandbox | undefined;
  const started = await start(
    ({ n }: { n: number }) => {
      if (sandbox !== undefined) {
        deeds[n]?.(sandbox);
      }
      return steps[n] ?? { status: 400 };
    },
    { files: given },
  );
  sandbox = started.sandbox;
  return started;
}

const run = (sandbox: Sandbox, ...args: string[]) => runPi(sandbox, ["-e", extension, ...args, "-p", "go"]);

describe("a file that the model has read", () => {
  const head = "[f1] a.txt changed on disk after t1 (+1 -1):";

  test("is reported once if it changes between two calls", async () => {
    const steps = [read(), bash("true"), bash("true"), { text: "Done." }];
    const { model, sandbox } = await startWith(steps, { 1: (it) => change(it, "line 7\n", "line seven\n") });
    expect(await run(sandbox)).toMatchObject({ code: 0, stderr: "" });
    expect(newest(model, 2)).toContain(`${head}\n@@`);
    expect(newest(model, 2)).toContain("\n-line 7\n+line seven\n");
    expect(count(model, "changed on disk")).toBe(1);
    expectPairedCalls(model);
  });

  test.each([
    { name: "sed -i", command: "sed -i 's/^line 7$/line seven/' a.txt" },
    { name: "a formatter", command: "sh format.sh" },
    { name: "a rewrite of the same size and time", command: "sh keep.sh" },
  ])("is reported after $name", async ({ command }) => {
    const scripts = {
      "format.sh": "for file in *.txt; do sed 's/^line 7$/line seven/' $file > $file.new && mv $file.new $file; done\n",
      "keep.sh": "cp -p a.txt old && sed -i 's/^line 7$/line X/' a.txt && touch -r old a.txt && rm old\n",
    };
    const steps = [read(), bash(command), bash("true"), { text: "Done." }];
    const { model, sandbox } = await start(steps, { files: { ...files, ...scripts } });
    expect(await run(sandbox)).toMatchObject({ code: 0, stderr: "" });
    expect(newest(model, 2)).toContain(head);
    expect(newest(model, 2)).toMatch(/\n-line 7\n\+line (seven|X)\n/);
    expect(count(model, "changed on disk")).toBe(1);
    expectPairedCalls(model);
  });

  test("is reported in the user's message if a checkout changes it", async () => {
    if (missing("git")) {
      return;
    }
    const { model, sandbox } = await start([read(), { text: "Read." }, { text: "Done." }], { files });
    const git = (...args: string[]) => {
      const author = ["-c", "user.name=x", "-c", "user.email=x@example.org"];
      const { status, stderr } = spawnSync("git", [...author, ...args], { cwd: sandbox.projectDir, env: sandbox.env });
      expect({ status, stderr: status === 0 ? "" : String(stderr) }).toEqual({ status: 0, stderr: "" });
    };
    git("init", "--quiet", "--initial-branch", "main");
    git("add", ".");
    git("commit", "--quiet", "--message", "first");
    git("checkout", "--quiet", "-b", "other");
    change(sandbox, "line 7\n", "line seven\n");
    git("commit", "--quiet", "--all", "--message", "second");
    git("checkout", "--quiet", "main");
    const pi = startPiRpc(sandbox, ["-e", extension]);
    await pi.prompt("go");
    git("checkout", "--quiet", "other");
    await pi.prompt("and now?");
    expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });
    expect(newest(model, 2)).toContain(head);
    expect(newest(model, 2)).toContain("and now?");
  });
});

test("a written file that a command changed is stored and told", async () => {
  const held: (string | null)[] = [];
  const steps = [
    { calls: [call("write", { path: "b.txt", content: "one\n" })] },
    bash("sed -i s/one/two/ b.txt"),
    { text: "Done." },
  ];
  const { model, sandbox } = await start(
    async ({ n }: { n: number }) => {
      if (n === 2) {
        const store = await openStore({ path: join(sandbox.agentDir, "palimpsest", "store.sqlite") });
        held.push(await store.content(join(sandbox.projectDir, "b.txt")));
        await store.close();
      }
      return steps[n];
    },
    { files },
  );
  expect(await run(sandbox)).toMatchObject({ code: 0, stderr: "" });
  expect(held).toEqual(["two\n"]);
  expect(count(model, "b.txt changed on disk")).toBe(1);
  expect(newest(model, 2)).toContain("-one\n+two");
});

describe("an edit that fails", () => {
  test("reports the change and the nearest lines in its error", async () => {
    const steps = [read(), edit("line 7\n", "line VII\n"), edit("line seven\n", "line VII\n"), { text: "Done." }];
    const { model, sandbox } = await startWith(steps, { 1: (it) => change(it, "line 7\n", "line seven\n") });
    expect(await run(sandbox)).toMatchObject({ code: 0, stderr: "" });
    const error = newest(model, 2);
    expect(error).toMatch(/^Could not find the exact text in a\.txt\. /);
    expect(error).toContain("\n\n[f1] a.txt changed on disk after t1 (+1 -1):\n@@");
    expect(error).toContain("\n-line 7\n+line seven\n");
    expect(error).toMatch(/\n\[f1\] a\.txt · lines \d+-\d+, nearest to oldText:\nline \d+\n/);
    expect(newest(model, 3)).toContain("Successfully replaced");
    expect(readFileSync(join(sandbox.projectDir, "a.txt"), "utf8")).toContain("line 6\nline VII\nline 8\n");
    expect(count(model, "changed on disk")).toBe(1);
    expectPairedCalls(model);
  });

  test("of a text that stands several times names the places", async () => {
    const { model, sandbox } = await start([edit("line 1", "x"), { text: "Done." }], { files });
    expect(await run(sandbox)).toMatchObject({ code: 0, stderr: "" });
    expect(newest(model, 1)).toMatch(/^Found 11 occurrences of the text/);
    expect(newest(model, 1)).toContain("\n\n[f1] a.txt · oldText stands 11 times: lines 1, 10, 11,");
  });

  test("of an excluded file says what Pi says, and nothing else", async () => {
    const steps = [edit("KEY=two", "KEY=three", ".env"), { text: "Done." }];
    const { model, sandbox } = await start(steps, { files: { ".env": "KEY=one\n" } });
    expect(await run(sandbox)).toMatchObject({ code: 0, stderr: "" });
    expect(newest(model, 1)).toMatch(/^Could not find the exact text in \.env\. [^\n]*$/);
  });
});

describe("two sessions on one store", () => {
  test("tell each other's edits as such", async () => {
    const reading: Step[] = [read(), { text: "Read." }, edit("line 7\n", "line VII\n"), { text: "Done." }];
    const { model, sandbox } = await start(
      ({ n, body }: { n: number; body: RequestBody }) => {
        if (JSON.stringify(body.messages).includes("I am the other")) {
          return JSON.stringify(body.messages).includes("Successfully")
            ? { text: "Edited." }
            : edit("line 7\n", "line seven\n");
        }
        return reading[n > 1 ? n - 2 : n];
      },
      { files },
    );
    const pi = startPiRpc(sandbox, ["-e", extension]);
    await pi.prompt("go");
    const other = await runPi(sandbox, ["-e", extension, "-p", "I am the other"]);
    expect(other).toMatchObject({ code: 0, stdout: "Edited.\n", stderr: "" });
    await pi.prompt("and now?");
    expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });
    expect(newest(model, 4)).toContain("[f1] a.txt changed on disk after t1, by another session (+1 -1):");
    expect(newest(model, 5)).toContain("Could not find the exact text");
    expect(count(model, "by another session")).toBe(1);
    expect(count(model, "changed on disk")).toBe(1);
  });
});
