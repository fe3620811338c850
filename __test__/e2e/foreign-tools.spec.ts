// Tools of other extensions, such as those of a sandbox, stay theirs whatever the order in which extensions are loaded.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runPi } from "../../scripts/lib/pi.js";
import { extension, start } from "./support.ts";

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
