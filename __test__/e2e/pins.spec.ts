// What a person pins, and the rules and skills that the model read, stand in every request of the real Pi: while outputs leave, after
// `/compact`, after a restart, and once only.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startPiRpc } from "../../scripts/lib/pi.js";
import type { RequestBody, Step } from "../../scripts/lib/scripted-model.js";
import { expectPairedCalls, extension, isSummary, said, start } from "./support.ts";

const timeout = 120_000;
const settings = { compaction: { keepRecentTokens: 1 } };

/** How often a request holds a text, system prompt aside. */
function count(body: RequestBody | undefined, text: string): number {
  const messages = (body?.messages ?? []).filter((message) => message.role !== "system");
  return JSON.stringify(messages).split(text).length - 1;
}

const rules = (name: string) =>
  Array.from({ length: 40 }, (_, at) => `${at + 1}. Rule ${at + 1} of ${name}: check item ${at + 1}.\n`).join("");

test("a pin stands after `/compact` and after a restart", {
  timeout,
}, async () => {
  let calls = 0;
  const { model, sandbox } = await start(
    ({ body }): Step => {
      if (isSummary(body)) {
        return { text: "They looked around." };
      }
      calls += 1;
      if (calls === 1) {
        return { calls: [{ name: "bash", args: { command: "echo the code is amber-falcon" } }] };
      }
      return count(body, "look again") > 0 && calls % 3 !== 0
        ? { calls: [{ name: "bash", args: { command: `seq ${calls} 900` } }] }
        : { text: "Done." };
    },
    { settings },
  );
  const output = "the code is amber-falcon\\n";
  const pi = startPiRpc(sandbox, ["-e", extension], { deadlineMs: timeout });
  await pi.prompt("What is the code?");
  expect(await said(pi, "/context pin t1")).toContain("Pinned: `t1` stays in the window");
  expect(await said(pi, "/context objects pinned")).toMatch(/^t1 +pinned +bash /);
  await pi.send({ type: "compact" });
  const before = model.requests.length;
  await pi.prompt("look again");
  await pi.prompt("look again, closely");
  expect(await said(pi, "/context objects pinned")).toMatch(/^t1 +pinned +bash /);
  expect(await said(pi, "/context")).toContain("pinned: 1");
  expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });
  const resumed = startPiRpc(sandbox, ["-e", extension, "--continue"], { deadlineMs: timeout });
  await resumed.prompt("and now?");
  expect(await resumed.close()).toMatchObject({ code: 0, stderr: "" });
  const after = model.requests.slice(before).filter(({ body }) => !isSummary(body));
  expect(after.length).toBeGreaterThan(3);
  for (const { body } of after) {
    expect(count(body, output)).toBe(1);
  }
  expect(count(after[0]?.body, "[t1] bash · line 1 of 1")).toBe(1);
  expectPairedCalls(model);
});

test("rules and skills are there again after `/compact`", {
  timeout,
}, async () => {
  const skill = "---\nname: release\ndescription: How to release.\n---\n";
  const files = {
    "pkg/AGENTS.md": rules("agents"),
    ".pi/skills/release/SKILL.md": skill + rules("skill"),
    "a.txt": rules("text"),
  };
  let calls = 0;
  const { model, sandbox } = await start(
    ({ body }): Step => {
      if (isSummary(body)) {
        return { text: "They read the rules." };
      }
      const path = Object.keys(files)[calls];
      calls += 1;
      return path === undefined ? { text: "I follow them." } : { calls: [{ name: "read", args: { path } }] };
    },
    { settings, files },
  );
  const pi = startPiRpc(sandbox, ["-e", extension], { deadlineMs: timeout });
  await pi.prompt("Follow the rules.");
  await pi.send({ type: "compact" });
  writeFileSync(join(sandbox.projectDir, "pkg", "AGENTS.md"), `${rules("agents")}41. Rule 41 of agents: be brief.\n`);
  await pi.prompt("go on");
  await pi.prompt("and on");
  expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });
  for (const { body } of model.requests.slice(-2)) {
    const found = ["Rule 7 of agents", "Rule 41 of agents", "Rule 7 of skill", "Rule 7 of text"].map((rule) =>
      count(body, rule),
    );
    expect(found).toEqual([1, 1, 1, 0]);
  }
  expectPairedCalls(model);
});
