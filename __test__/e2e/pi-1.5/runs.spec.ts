// How runs start in the real Pi 1.5: by a message of another extension, without a prompt, and in a session that is resumed, whose tools
// Pi restores.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runPi, startPiRpc } from "../../../scripts/lib/pi.js";
import type { Step } from "../../../scripts/lib/scripted-model.js";
import {
  contextToolNames,
  conversation,
  expectPairedCalls,
  extension,
  numbered,
  start,
  toolNames,
} from "../support.ts";

const files = { "a.txt": numbered("a") };
const read: Step = { calls: [{ name: "read", args: { path: "a.txt" } }] };
const done: Step = { text: "Done." };

/** An extension whose command starts a run by a message, and that notes how runs start. */
const waking = `
import { appendFileSync } from "node:fs";
export default function (pi) {
  pi.on("before_agent_start", ({ messageType, prompt }) => {
    appendFileSync(process.env.STARTS, JSON.stringify([messageType, prompt ?? null]) + "\\n");
  });
  pi.registerCommand("wake", {
    description: "start a run by a message",
    handler: async () => {
      pi.sendMessage({ customType: "alarm", content: "The build has ended.", display: true }, { triggerTurn: true });
    },
  });
}
`;

test("a run that another extension starts is as in plain Pi", async () => {
  const run = async (args: string[]) => {
    const { model, sandbox } = await start([read, done, { ...read, text: "Again." }, done], { files });
    const wake = join(sandbox.dir, "wake.js");
    const starts = join(sandbox.dir, "starts.jsonl");
    writeFileSync(wake, waking);
    const pi = startPiRpc(sandbox, [...args, "-e", wake], { env: { STARTS: starts } });
    await pi.prompt("go");
    await pi.prompt("/wake");
    expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });
    expectPairedCalls(model);
    const noted = readFileSync(starts, "utf8").trimEnd().split("\n");
    expect(noted.map((line) => JSON.parse(line))).toEqual([
      ["user", "go"],
      ["custom", null],
    ]);
    return conversation(model, sandbox.dir) as { content: unknown }[][];
  };
  const [ours, plain] = [await run(["-e", extension]), await run([])];
  expect(ours.slice(0, 3)).toEqual(plain.slice(0, 3));
  expect(JSON.stringify(plain[2].at(-1))).toContain("The build has ended.");
  expect(ours[3].slice(0, -1)).toEqual(plain[3].slice(0, -1));
  expect(ours[3].at(-1)?.content).toBe("f1 unchanged; lines 1-40 stand in the read result above (t1).");
});

test.each([
  ["as by default", undefined],
  ["with code mode and tool_search", ["+codemode", "+tool_search"]],
])("a resume keeps the prompt: %s", async (_, defaultTools) => {
  const { model, sandbox } = await start([read, done, done, done], { files, settings: { defaultTools } });
  for (const args of [
    ["-p", "go"],
    ["--continue", "-p", "on"],
    ["--continue", "-p", "on"],
  ]) {
    expect(await runPi(sandbox, ["-e", extension, ...args])).toMatchObject({ code: 0, stdout: "Done.\n", stderr: "" });
  }
  const [first, ...others] = model.requests.map(({ body }) => JSON.stringify([body.messages[0], body.tools]));
  expect(others).toEqual([first, first, first]);
  expect(toolNames(model.requests[3].body)).toEqual(expect.arrayContaining(contextToolNames));
});
