// Code mode in the real Pi 1.5: scripts call tools, and such calls have IDs with a slash and no message. What they do to files is
// known all the same, what a script returns is an output like any other, and our own tools cannot be called from it.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openStore } from "../../../index.js";
import { runPi, type Sandbox } from "../../../scripts/lib/pi.js";
import type { RequestBody, Step } from "../../../scripts/lib/scripted-model.js";
import { storeHolds, storeOf } from "../store-bytes.ts";
import {
  contextToolNames,
  expectPairedCalls,
  extension,
  numbered,
  palimpsest,
  resultsOf,
  start,
  toolNames,
} from "../support.ts";

const files = { "a.txt": numbered("a", 30), "d.txt": numbered("d", 30) };
const done: Step = { text: "Done." };

const call = (name: string, args: unknown): Step => ({ calls: [{ name, args }] });
const script = (code: string) => call("codemode", { code });

async function run(steps: Step[], options: Parameters<typeof start>[1] = {}) {
  const settings = { defaultTools: ["+codemode"], ...options.settings };
  const { model, sandbox } = await start(steps, { files, ...options, settings });
  const finished = await runPi(sandbox, ["-e", extension, "-p", "go"]);
  // The model server counts no tools, and those of code mode are long: the person may be told of it.
  const told = expect.stringMatching(/^(Palimpsest: the tokens that the provider reports cannot be .*\n)?$/);
  expect(finished).toMatchObject({ code: 0, stdout: "Done.\n", stderr: told });
  expectPairedCalls(model);
  return { model, sandbox };
}

async function fieldsOf(sandbox: Sandbox, id: string): Promise<Record<string, unknown>> {
  const store = await openStore({ path: storeOf(sandbox.agentDir) });
  const version = await store.get(id);
  await store.close();
  return version?.fields ?? {};
}

describe("what a script did to files", () => {
  test("is known, and the model gets no note of its own edit", async () => {
    const edit = "await tools.edit({ path: 'd.txt', edits: [{ oldText: 'line 3 of d', newText: 'LINE THREE' }] })";
    const { model, sandbox } = await run([
      call("read", { path: "d.txt" }),
      script(`const text = await tools.read({ path: 'a.txt' });\n${edit};\nreturn text.split('\\n').length`),
      call("read", { path: "a.txt" }),
      call("read", { path: "d.txt" }),
      done,
    ]);
    const [, ofScript, a, d] = resultsOf(model);
    expect(ofScript).toMatch(/^Script completed\nWall time .*\nOutput:\n\n31$/);
    expect(a).toBe(files["a.txt"]);
    expect(d).toBe(files["d.txt"].replace("line 3 of d", "LINE THREE"));
    const fields = await fieldsOf(sandbox, "call_1_0");
    expect((fields.file_refs as { met: string }[]).map(({ met }) => met).sort()).toEqual(["edited", "read"]);
    // What the line for folded steps says of it.
    expect(fields.brief).toBe("read a.txt, edit d.txt");
  });

  test("is reported if the model cannot know it", async () => {
    const sed = "await tools.bash({ command: \"sed -i 's/line 3 of a/LINE THREE/' a.txt\" })";
    const edit = "await tools.edit({ path: 'a.txt', edits: [{ oldText: 'line 3 of a', newText: 'x' }] })";
    const { model } = await run([
      call("read", { path: "a.txt" }),
      script(`${sed}; try { ${edit} } catch (error) { return error.message }`),
      done,
    ]);
    const [, ofScript] = resultsOf(model);
    const [said, note] = ofScript.split("[f1] a.txt changed on disk after t1 (+1 -1):");
    expect(said).toMatch(/\n\nCould not find the exact text in a\.txt\.[^\n]*\n$/);
    expect(note).toContain("\n-line 3 of a\n+LINE THREE\n");
  });
});

/** What a long output shows around the lines that it leaves out: the line before, their range, and the line after. */
function between(text: string) {
  const found = /\n([^\n]*)\n(… [\d,]+ lines between \((t\d+):(\d+)-(\d+)\) …)\n([^\n]*)\n/.exec(text);
  expect(found, text.slice(0, 300)).not.toBeNull();
  const [, before, line, handle, first, last, after] = found as RegExpExecArray;
  return { before: Number(before), line, handle, first: Number(first), last: Number(last), after: Number(after) };
}

test("a script's result is kept whole although Pi truncates it", async () => {
  const long = "const { output } = await tools.bash({ command: 'seq 1 20000' }); return output";
  let lines = "";
  const { model, sandbox } = await start(
    ({ n, body }): Step => {
      if (n === 0) {
        return script(long);
      }
      if (n === 1) {
        const { handle, first, last } = between(toolText(body));
        lines = `${first}-${last}`;
        return call("activate", { name: handle, lines: `${first}-${first},${last}-${last},9999-10001` });
      }
      return n === 2 ? call("activate", { name: "t1", pattern: "^12345$" }) : done;
    },
    { settings: { defaultTools: ["+codemode"] } },
  );
  expect(await runPi(sandbox, ["-e", extension, "-p", "go"])).toMatchObject({ code: 0, stderr: "" });
  expect(model.errors).toEqual([]);
  const [shown, picked, found] = resultsOf(model);
  expect(shown).toContain("Warning: truncated output");
  const { before, first, last, after } = between(shown);
  expect([first, last], lines).toEqual([before + 1, after - 1]);
  expect(picked.split("\n").slice(1)).toEqual(
    expect.arrayContaining([`${first}`, `${last}`, "9999", "10000", "10001"]),
  );
  expect(found).toContain("\n12345");
});

function toolText(body: RequestBody): string {
  return String(body.messages.findLast(({ role }) => role === "tool")?.content);
}

test("a script cannot write a line of ours into a file", async () => {
  const { model, sandbox } = await start(
    ({ n, body }): Step => {
      if (n === 0) {
        return call("bash", { command: "seq 1 20000" });
      }
      if (n > 1) {
        return done;
      }
      const line = JSON.stringify(`first\n${between(toolText(body)).line}\nlast\n`);
      return script(`
        const edits = [{ oldText: "line 3 of a\\n", newText: ${line} }];
        const tried = [tools.write({ path: "new.txt", content: ${line} }), tools.edit({ path: "a.txt", edits })];
        return (await Promise.allSettled(tried)).map(({ status, reason }) => status + ": " + reason?.message)`);
    },
    { files, settings: { defaultTools: ["+codemode"] } },
  );
  expect(await runPi(sandbox, ["-e", extension, "-p", "go"])).toMatchObject({ code: 0, stderr: "" });
  const said = resultsOf(model)[1];
  const refusal =
    /rejected: `… [\d,]+ lines between [^`]*` is not text of the file: .* Nothing was written\. Activate it /;
  const tried = JSON.parse(said.slice(said.indexOf("["))) as string[];
  expect(tried).toEqual([expect.stringMatching(refusal), expect.stringMatching(refusal)]);
  expect(existsSync(join(sandbox.projectDir, "new.txt"))).toBe(false);
  expect(readFileSync(join(sandbox.projectDir, "a.txt"), "utf8")).toBe(files["a.txt"]);
});

test.each(["on", "only"])("scripts cannot call our tools: codemode.mode %s", async (mode) => {
  const { model } = await run([script("return Object.keys(tools).concat(ALL_TOOLS.map(({ name }) => name))"), done], {
    settings: { codemode: { mode } },
  });
  expect(toolNames(model.requests[0].body)).toEqual(expect.arrayContaining(contextToolNames));
  const callable = resultsOf(model)[0];
  expect(callable).toContain('"read"');
  expect(contextToolNames.filter((name) => callable.includes(`"${name}"`))).toEqual([]);
});

test.each(["on", "only"])("a record has the tools as the model had them: %s", async (mode) => {
  const settings = { defaultTools: ["+codemode", "+grep"], codemode: { mode } };
  const { model, sandbox } = await run([script("return 1"), done], { settings });
  type Tool = { name: string; description?: string };
  const named = (tools: Tool[]) => tools.map(({ name, description }) => `${name}: ${description}`).sort();
  for (const [n, { body }] of model.requests.entries()) {
    const { tools } = palimpsest<{ tools: Tool[] }>(sandbox, "context", "latest", "--call", `${n + 1}`);
    expect(named(tools)).toEqual(named((body.tools ?? []).map((tool) => tool.function)));
  }
});

test("an excluded file that a script reads is not in the store", async () => {
  const secret = "sk-7f3a9c";
  const named = "const name = ['.e', 'nv'].join('')";
  const { model, sandbox } = await run(
    [script(`${named}; return await tools.read({ path: name })`), script("return 'a control ' + 40 + 2"), done],
    { files: { ...files, ".env": `KEY=${secret}\n` } },
  );
  expect(resultsOf(model)[0]).toContain(secret);
  const store = storeOf(sandbox.agentDir);
  expect({ secret: storeHolds(store, secret), control: storeHolds(store, "a control 402") }).toEqual({
    secret: false,
    control: true,
  });
});
