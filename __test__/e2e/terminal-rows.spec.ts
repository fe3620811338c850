// What Pi's terminal shows of our tools' calls and of what the model is told besides.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { piVersion, runPi } from "../../scripts/lib/pi.js";
import { oldestPi } from "../../scripts/lib/pi-versions.js";
import type { Step } from "../../scripts/lib/scripted-model.js";
import { extension, missing, start } from "./support.ts";
import { terminal } from "./terminal.ts";
import { loaded } from "./wires.ts";

const lines = (word: string, count: number) => Array.from({ length: count }, (_, at) => `${word} ${at + 1}\n`).join("");
const call = (name: string, args: unknown) => ({ name, args });
const odd = `日本語\u001b[31mの\tとても長い\n名前${"x".repeat(300)}`;
const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

test.skipIf(missing("tmux"))("our calls and notes take one line each, also when resumed", async () => {
  const steps: Step[] = [
    { calls: [call("read", { path: "a.txt" })] },
    { calls: [call("bash", { command: "cat big.txt" })] },
    { calls: [call("read", { path: "p.png" }), call("read", { path: "c.txt" })] },
    {
      calls: [
        call("activate", { name: "f1", lines: "4-8" }),
        call("activate", { name: "t2", pattern: "word 40" }),
        call("activate", { name: "t3" }),
        call("pin", { name: "a.txt" }),
        call("activate", { name: "f1", pattern: "nothing" }),
        call("activate", { name: odd }),
      ],
    },
    // Pi runs the calls of a message beside each other.
    { calls: [call("unpin", { name: "f1" }), call("deactivate", { name: "t2" })] },
    { calls: [call("edit", { path: "a.txt", edits: [{ oldText: "line 12x\nline 13", newText: "no" }] })] },
    { text: "Done." },
  ];
  const { sandbox } = await start(
    ({ n }) => {
      if (n === 3) {
        writeFileSync(join(sandbox.projectDir, "a.txt"), lines("line", 30).replace("line 7\n", "line seven\n"));
        writeFileSync(join(sandbox.projectDir, "c.txt"), lines("other", 30).replace("other 7\n", "other seven\n"));
      }
      return steps[n] ?? { text: "Again." };
    },
    { files: { "a.txt": lines("line", 30), "big.txt": lines("word", 412), "c.txt": lines("other", 30) } },
  );
  writeFileSync(join(sandbox.projectDir, "p.png"), png);
  const models = join(sandbox.agentDir, "models.json");
  writeFileSync(
    models,
    readFileSync(models, "utf8").replace('"id": "scripted-1"', '"id": "scripted-1", "input": ["text", "image"]'),
  );
  const rows = [
    /^ activate f1 · a\.txt · lines 4-8 of 30 · \d+ tokens$/m,
    /^ activate t2 \/word 40\/ · f2 · big\.txt · lines 38-42, 398-411 of 412 · \d+ tokens$/m,
    /^ pin a\.txt · f1 · lines 1-30 of 30 · \d+ tokens$/m,
    /^ unpin f1 · done$/m,
    /^ deactivate t2 · 1,\d+ tokens$/m,
    /^ activate f1 \/nothing\/ · a\.txt · no line matches `nothing`$/m,
    /^ the model was told: \[f\d\] c\.txt changed on disk after t4 \(\+1 -1\)$/m,
  ];
  let pi = terminal(sandbox, { rows: 250 });
  await pi.shows(/^palimpsest on$/m);
  await pi.command("go");
  // Pi draws a long screen in parts: each row is waited for.
  const check = async (what: RegExp) => {
    await pi.shows(what);
    for (const row of rows) {
      await pi.shows(row);
    }
    // The name does nothing to the terminal, and its row stays short.
    await pi.shows(/^ activate 日本語\\u001b\[31mの とても長い 名前x+…\n nothing is named/m);
    await pi.shows(/^ activate t3 · .*1 image.* · [\d.,k]+ tokens$/m);
    if (piVersion !== oldestPi) {
      await pi.shows(
        /whitespace and newlines\.\s+the model was told: \[f1\] a\.txt · lines 7-17, nearest to oldText$/m,
      );
      await pi.lacks(/^ line 1[0-9]$/m);
    }
  };
  await check(/Done\./);
  pi.press("C-o");
  await pi.shows(/^ \[f1\] a\.txt · lines 4-8 of 30\n line 4\n/m);
  await pi.shows(/^ the model was told:\n \[f\d\] c\.txt changed on disk/m);
  pi.press("C-o");
  await check(/collapsed/);
  if (piVersion !== oldestPi) {
    // The older one draws the transcript before our tools are there.
    await pi.command("/reload");
    await check(/Reloaded/);
  }
  await pi.quit();
  pi = terminal(sandbox, { rows: 250, args: ["--continue"] });
  await check(/Done\./);
  pi.resize(50);
  const narrow = await pi.shows(/lines\s+38-42,\s+398-411 of\s+412/);
  expect(narrow.split("\n").filter((line) => line.length > 50)).toEqual([]);
});

// The older one cannot be told how to draw a tool that nobody registered yet.
test.skipIf(missing("tmux") || piVersion === oldestPi)("calls by our longer names are drawn as ours", async () => {
  const { sandbox } = await start(
    [
      { calls: [call("read", { path: "a.txt" })] },
      { calls: [call("palimpsest_activate", { name: "f1", lines: "4-8" }), call("palimpsest_pin", { name: "f1" })] },
      { text: "Done." },
    ],
    { files: { "a.txt": lines("line", 30) } },
  );
  const foreign = loaded(
    sandbox,
    "activates",
    `export default (pi) => pi.registerTool({ name: "activate", label: "activate", description: "Turns a feature on.",
      parameters: { type: "object", properties: {} }, execute: async () => ({ content: [] }) });`,
  );
  const { code } = await runPi(sandbox, ["-e", extension, ...foreign, "-p", "go"]);
  expect(code).toBe(0);
  for (const others of [[], foreign]) {
    const pi = terminal(sandbox, { args: [...others, "--continue"] });
    await pi.shows(/^ palimpsest_activate f1 · a\.txt · .*lines 4-8.* · [\d.,k]+ tokens$/m);
    await pi.shows(/^ palimpsest_pin f1 · a\.txt · .* · [\d.,k]+ tokens$/m);
    await pi.quit();
  }
});
