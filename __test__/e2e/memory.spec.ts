// Memory in the real Pi: what stands in the system prompt, that it stays there byte for byte while a cache holds it, and what the model
// is told of changes meanwhile.
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { runPi, runPiJson, startPiRpc } from "../../scripts/lib/pi.js";
import type { Step } from "../../scripts/lib/scripted-model.js";
import { extension, start } from "./support.ts";

/** Writes memory files of a sandbox: `global` and `project` by their paths in the memory folder. */
function remember(
  sandbox: { agentDir: string; projectDir: string },
  files: { global?: Record<string, string>; project?: Record<string, string> },
): { global: string; project: string } {
  const folders = { global: join(sandbox.agentDir, "memory"), project: join(sandbox.projectDir, ".pi", "memory") };
  for (const scope of ["global", "project"] as const) {
    for (const [name, text] of Object.entries(files[scope] ?? {})) {
      mkdirSync(dirname(join(folders[scope], name)), { recursive: true });
      writeFileSync(join(folders[scope], name), text);
    }
  }
  return folders;
}

interface Body {
  messages: { role: string; content: unknown }[];
}

/** The system prompt of a request. */
function promptOf({ body }: { body: unknown }): string {
  const first = (body as Body).messages[0];
  expect(["system", "developer"]).toContain(first?.role);
  return typeof first?.content === "string" ? first.content : JSON.stringify(first?.content);
}

/** What it says of memory; undefined if nothing. */
function memoryOf(request: { body: unknown }): string | undefined {
  return /<memory>\n([\s\S]*?)\n<\/memory>/.exec(promptOf(request))?.[1];
}

/** The text of a request's messages behind the system prompt. */
function saidIn({ body }: { body: unknown }): string {
  return JSON.stringify((body as Body).messages.slice(1));
}

describe("the system prompt", () => {
  test.each(["print", "json", "rpc"])("has the memory of the user and of a trusted project: %s", async (mode) => {
    const { model, sandbox } = await start([{ text: "Yes." }]);
    remember(sandbox, {
      global: { "MEMORY.md": "# Memory\n\n## Style\n- Answers: short\n" },
      project: { "MEMORY.md": "- Tests: `make check`\n", "MEMORY.local.md": "- My port: 4711\n" },
    });
    if (mode === "rpc") {
      const pi = startPiRpc(sandbox, ["-e", extension]);
      await pi.prompt("What do you remember?");
      expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });
    } else {
      const run = mode === "json" ? runPiJson : runPi;
      const args = mode === "json" ? [] : ["-p"];
      expect(await run(sandbox, [...args, "-e", extension, "What do you remember?"])).toMatchObject({
        code: 0,
        stderr: "",
      });
    }
    const memory = memoryOf(model.requests[0]);
    expect(memory).toContain("\n\n## Global (MEMORY.md)\n### Style\n- Answers: short");
    expect(memory).toContain("\n\n## Project (MEMORY.md)\n- Tests: `make check`");
    expect(memory).toContain("\n\n## Yours in this project (MEMORY.local.md)\n- My port: 4711");
  });

  test("has nothing of an untrusted project, and creates no file", async () => {
    const { model, sandbox } = await start([{ text: "Yes." }]);
    const folders = remember(sandbox, {
      global: { "MEMORY.md": "- Answers: short\n" },
      project: { "MEMORY.md": "- Tests: `make check`\n", "config.json": '{"enabled": false}' },
    });
    await runPi(sandbox, ["-p", "--no-approve", "-e", extension, "Hello."]);
    const memory = memoryOf(model.requests[0]);
    expect(memory).toContain("- Answers: short");
    expect(memory).not.toContain("make check");
    expect(memory).not.toContain(".pi/memory");
    expect(memory).not.toContain("committed");
    expect(readdirSync(folders.project).sort()).toEqual(["MEMORY.md", "config.json"]);
  });

  test("says how to keep memory where there is none", async () => {
    const { model, sandbox } = await start([{ text: "Yes." }]);
    await runPi(sandbox, ["-p", "-e", extension, "Hello."]);
    expect(memoryOf(model.requests[0])).toContain("MEMORY.md");
    expect(existsSync(join(sandbox.projectDir, ".pi"))).toBe(false);
    expect(existsSync(join(sandbox.agentDir, "memory"))).toBe(false);
  });

  test("has none of it with `--no-memory` or by `config.json`", async () => {
    const { model, sandbox } = await start([{ text: "One." }, { text: "Two." }]);
    remember(sandbox, { global: { "MEMORY.md": "- Answers: short\n" } });
    await runPi(sandbox, ["-p", "Hello.", "-e", extension, "--no-memory"]);
    remember(sandbox, { global: { "config.json": '{"enabled": false}' } });
    await runPi(sandbox, ["-p", "-e", extension, "Hello."]);
    expect(model.requests.map(memoryOf)).toEqual([undefined, undefined]);
  });
});

describe("memory that changes in a session", () => {
  test("is in the newest message until the cache is cold", async () => {
    const script: Step[] = [];
    const call = (name: string, args: object): Step => ({ calls: [{ name, args }] });
    for (let turn = 0; turn < 50; turn++) {
      if (turn === 10) {
        script.push(
          call("edit", {
            path: ".pi/memory/MEMORY.md",
            edits: [{ oldText: "- Tests: slow", newText: "- Tests: fast" }],
          }),
        );
      }
      if (turn === 20) {
        script.push(call("bash", { command: "echo '- Shell: wrote this' >> .pi/memory/MEMORY.md" }));
      }
      script.push({ text: `Answer ${turn}.` });
    }
    script.push({ text: "Cold." }, { text: "Again." });
    const { model, sandbox } = await start(script, { palimpsest: { prices: "anthropic" } });
    const { global, project } = remember(sandbox, {
      global: { "MEMORY.md": "- Answers: short\n" },
      project: { "MEMORY.md": "- Tests: slow\n" },
    });
    const pi = startPiRpc(sandbox, ["-e", extension]);
    for (let turn = 0; turn < 50; turn++) {
      if (turn === 5) {
        appendFileSync(join(global, "MEMORY.md"), "- Editor: vim\n");
      }
      await pi.prompt(`Turn ${turn}: go on.`);
    }
    const warm = model.requests.slice();
    expect(new Set(warm.map(promptOf)).size).toBe(1);
    expect(memoryOf(warm[0])).toContain("- Tests: slow");
    const note = "Memory change 1: ";
    expect(warm.filter((request) => saidIn(request).includes(note))).toHaveLength(warm.length - 5);
    expect(saidIn(warm[5])).toMatch(/Memory change 1: [^"]*memory\/MEMORY\.md \(\+1 -0\):\\n\+ - Editor: vim/);
    // The model's own edit stands in its call; what its command wrote is told.
    expect(saidIn(warm.at(-1) as { body: unknown })).not.toContain("+ - Tests: fast");
    expect(saidIn(warm.at(-1) as { body: unknown })).toContain("+ - Shell: wrote this");
    // Each request begins with the one before: the cache holds it.
    for (let at = 1; at < warm.length; at++) {
      const [before, now] = [warm[at - 1], warm[at]].map(({ body }) =>
        (body as Body).messages.map((message) => JSON.stringify(message)),
      );
      expect(now.slice(0, before.length)).toEqual(before);
    }
    expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });

    const again = startPiRpc(sandbox, ["-e", extension, "--continue"]);
    await again.prompt("And now?");
    await again.close();
    const cold = model.requests.at(-1) as { body: unknown };
    expect(memoryOf(cold)).toContain("- Tests: fast\n- Shell: wrote this");
    expect(memoryOf(cold)).toContain("- Answers: short\n- Editor: vim");
    expect(saidIn(cold)).not.toContain("Memory change");
    expect(readFileSync(join(project, "MEMORY.md"), "utf8")).toBe("- Tests: fast\n- Shell: wrote this\n");
  });

  test("has entries on a file come once with its first read", async () => {
    const call = (name: string, args: object): Step => ({ calls: [{ name, args }] });
    const { model, sandbox } = await start([
      call("read", { path: "limits.ts" }),
      call("bash", { command: "cat limits.ts" }),
      { text: "Ten." },
      { text: "Still ten." },
    ]);
    const facts = Array.from({ length: 60 }, (_, at) => `- fact ${at} #important\n`).join("");
    const entry = "- Limit: ten calls in `limits.ts`, by contract";
    remember(sandbox, {
      project: { "MEMORY.md": `${facts}${entry}\n`, "config.json": '{ "maxMemoryTokens": 300 }' },
    });
    writeFileSync(join(sandbox.projectDir, "limits.ts"), "export const limit = 10;\n");
    const pi = startPiRpc(sandbox, ["-e", extension]);
    await pi.prompt("How many calls?");
    await pi.prompt("And now?");
    expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });
    const said = model.requests.map(saidIn);
    expect(memoryOf(model.requests[0])).not.toContain("by contract");
    expect(said[0]).not.toContain("Memory at hand");
    const note = `Memory at hand, limits.ts (.pi/memory/MEMORY.md:61):\\n${entry}`;
    expect(said.slice(1).map((text) => text.split(note).length - 1)).toEqual([1, 1, 1]);
  });
});
