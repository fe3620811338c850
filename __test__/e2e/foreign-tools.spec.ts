// Tools of other extensions, such as those of a sandbox, stay theirs whatever the order in which extensions are loaded.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runPi, startPiRpc } from "../../scripts/lib/pi.js";
import { extension, start, toolNames } from "./support.ts";

/** An extension whose `read` and `write` answer from elsewhere; it registers them when `when` says. */
function foreignTools(dir: string, when: "load" | "session_start" | "agent_start"): string {
  const path = join(dir, `foreign-${when}.ts`);
  const register = "register();";
  const body = when === "load" ? register : `pi.on(${JSON.stringify(when)}, () => { ${register} });`;
  writeFileSync(
    path,
    `import { createReadToolDefinition, createWriteToolDefinition } from "@earendil-works/pi-coding-agent";
export default function (pi) {
  const answer = (text) => async () => ({ content: [{ type: "text", text }], details: undefined });
  function register() {
    pi.registerTool({ ...createReadToolDefinition("/"), execute: answer("from the sandbox") });
    pi.registerTool({ ...createWriteToolDefinition("/"), execute: answer("written in the sandbox") });
  }
  ${body}
}
`,
  );
  return path;
}

const steps = [
  { calls: [{ name: "read", args: { path: "a.txt" } }] },
  { calls: [{ name: "write", args: { path: "a.txt", content: "lost\\n" } }] },
  { text: "ok" },
];

for (const when of ["load", "session_start", "agent_start"] as const) {
  for (const order of ["before", "after"] as const) {
    test(`foreign tools are used: ${when}, loaded ${order} ours`, async () => {
      const { model, sandbox } = await start(steps, { files: { "a.txt": "of the host\n" } });
      const foreign = foreignTools(sandbox.dir, when);
      const loaded = order === "before" ? [foreign, extension] : [extension, foreign];
      const finished = await runPi(sandbox, [...loaded.flatMap((path) => ["-e", path]), "-p", "go"]);
      expect(finished).toMatchObject({ code: 0, stdout: "ok\n", stderr: "" });
      const answers = model.requests[2].body.messages.filter((message) => message.role === "tool");
      expect(answers.map((message) => message.content)).toEqual(["from the sandbox", "written in the sandbox"]);
      expect(readFileSync(join(sandbox.projectDir, "a.txt"), "utf8")).toBe("of the host\n");
    });
  }
}

/** An extension with a tool `activate`, which it registers when `when` says. */
function foreignActivate(dir: string, when: "load" | "session_start" | "agent_end"): string {
  const path = join(dir, `activate-${when}.ts`);
  const body = when === "load" ? "register();" : `pi.on(${JSON.stringify(when)}, () => { register(); });`;
  writeFileSync(
    path,
    `export default function (pi) {
  function register() {
    pi.registerTool({
      name: "activate",
      label: "activate",
      description: "Turns a feature on.",
      promptSnippet: "Turn a feature on",
      parameters: { type: "object", properties: { name: { type: "string" } } },
      execute: async () => ({ content: [{ type: "text", text: "the feature is on\\n" + "and so it stays\\n".repeat(400) }], details: undefined }),
    });
  }
  ${body}
}
`,
  );
  return path;
}

const ours = ["activate", "deactivate", "pin", "unpin"].map((name) => `palimpsest_${name}`);

for (const when of ["load", "session_start"] as const) {
  for (const order of ["before", "after"] as const) {
    test(`an activate registered at ${when}, loaded ${order}`, async () => {
      const script = [
        { calls: [{ name: "activate", args: { name: "x" } }] },
        { calls: [{ name: "palimpsest_activate", args: { name: "t1", lines: "1-2" } }] },
        { text: "ok" },
        { calls: [{ name: "palimpsest_activate", args: { name: "t99" } }] },
        { text: "again" },
      ];
      const { model, sandbox } = await start(script);
      const foreign = foreignActivate(sandbox.dir, when);
      const loaded = order === "before" ? [foreign, extension] : [extension, foreign];
      const finished = await runPi(sandbox, [...loaded.flatMap((path) => ["-e", path]), "-p", "go"]);
      expect(finished).toMatchObject({ code: 0, stdout: "ok\n" });
      const [first, , third] = model.requests;
      const names = first.body.tools?.map((tool) => tool.function.name) ?? [];
      expect(names).toEqual(expect.arrayContaining(["activate", ...ours]));
      expect(names.filter((name) => ["deactivate", "pin", "unpin"].includes(name))).toEqual([]);
      const prompt = JSON.stringify(first.body.messages[0]);
      expect(prompt).toContain("use palimpsest_activate where");
      expect(prompt).not.toContain("use activate where");
      const answers = third.body.messages.filter(({ role }) => role === "tool").map(({ content }) => String(content));
      expect(answers[0]).toContain("the feature is on");
      expect(answers[1]).toMatch(/^\[t1\] activate · lines 1-2 of 401\nthe feature is on\n/);
      // Without the other extension the names stay for the session.
      const resumed = await runPi(sandbox, ["-e", extension, "--continue", "-p", "go on"]);
      expect(resumed).toMatchObject({ code: 0, stdout: "again\n", stderr: "" });
      const tools = model.requests[3].body.tools?.map((tool) => tool.function.name) ?? [];
      expect(tools).toEqual(expect.arrayContaining(ours));
      expect(tools).not.toContain("activate");
    });
  }
}

test("an activate registered later ends our old names", async () => {
  const { model, sandbox } = await start(() => ({ text: "ok" }));
  const foreign = foreignActivate(sandbox.dir, "agent_end");
  const pi = startPiRpc(sandbox, ["-e", foreign, "-e", extension]);
  const told = () => pi.records.filter(({ message }) => String(message).includes("a tool with a name of ours"));
  const offered = () => toolNames(model.requests[model.requests.length - 1].body);
  const plain = ["read", "bash", "edit", "write"];
  await pi.prompt("go");
  expect(offered()).toEqual([...plain, "activate", "deactivate", "pin", "unpin"]);
  expect(told()).toEqual([]);
  await pi.prompt("go on");
  expect(offered()).toEqual([...plain, "activate", ...ours]);
  // So it stays, and it is said once.
  await pi.send({ type: "prompt", message: "/context off" });
  await pi.prompt("without");
  expect(offered()).toEqual([...plain, "activate"]);
  await pi.send({ type: "prompt", message: "/context on" });
  await pi.send({ type: "prompt", message: "/context layout pools" });
  await pi.prompt("again");
  expect(offered()).toEqual([...plain, "activate", ...ours]);
  expect(told()).toHaveLength(1);
  await pi.close();
});
