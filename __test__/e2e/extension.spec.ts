// The extension inside the real Pi: what goes to the model, which tools are on, and that a session outlives its process.
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { runPi, runPiJson, startPiRpc } from "../../scripts/lib/pi.js";
import type { Step } from "../../scripts/lib/scripted-model.js";
import {
  asOtherUserWithoutReading,
  cloneIsPublic,
  contextToolNames,
  conversation,
  expectPairedCalls,
  extension,
  missing,
  missingOtherUser,
  start,
  toolNames,
} from "./support.ts";

const files = { "a.txt": "hello\n", "src/b.txt": "one\ntwo\nthree\n" };

const shortSession: Step[] = [
  { thinking: "Two things at once.", calls: [call("read", { path: "a.txt" }), call("bash", { command: "echo hi" })] },
  { calls: [call("edit", { path: "a.txt", edits: [{ oldText: "hello", newText: "bye" }] })] },
  { text: "Done." },
];

function call(name: string, args: unknown) {
  return { name, args };
}

describe("a short session", () => {
  test("reaches the model as without the extension, in print mode", async () => {
    const plain = await start(shortSession, { files });
    await runPi(plain.sandbox, ["-p", "go"]);
    const ours = await start(shortSession, { files });
    const finished = await runPi(ours.sandbox, ["-e", extension, "-p", "go"]);
    expect(finished).toMatchObject({ code: 0, stdout: "Done.\n", stderr: "" });
    expect(conversation(ours.model, ours.sandbox.dir)).toEqual(conversation(plain.model, plain.sandbox.dir));
    expectPairedCalls(ours.model);
    expect(readFileSync(join(ours.sandbox.projectDir, "a.txt"), "utf8")).toBe("bye\n");
  });

  test("runs in json mode", async () => {
    const { model, sandbox } = await start(shortSession, { files });
    const { code, events, stderr } = await runPiJson(sandbox, ["-e", extension, "go"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(events.filter((event) => event.type === "tool_execution_end" && event.isError)).toEqual([]);
    expectPairedCalls(model);
  });

  test("runs in rpc mode and shows the status line", async () => {
    const { model, sandbox } = await start([...shortSession, { text: "Still here." }], { files });
    const pi = startPiRpc(sandbox, ["-e", extension]);
    await pi.prompt("go");
    await pi.prompt("and now?");
    expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });
    const shown = pi.records.filter((record) => record.statusKey === "palimpsest").map((record) => record.statusText);
    // Figures about so little would only alarm.
    expect(new Set(shown)).toEqual(new Set(["palimpsest on"]));
    expectPairedCalls(model);
  });

  test("leaves no store behind without a session file", async () => {
    const { sandbox } = await start(shortSession, { files });
    await runPi(sandbox, ["-e", extension, "--no-session", "-p", "go"]);
    expect(() => readFileSync(join(sandbox.agentDir, "palimpsest", "store.sqlite"))).toThrow("ENOENT");
  });

  test("goes on after the session was cloned in place", async () => {
    const { model, sandbox } = await start([...shortSession, { text: "In the clone." }], { files });
    const pi = startPiRpc(sandbox, ["-e", extension]);
    await pi.prompt("go");
    await pi.send({ type: "clone" });
    await pi.prompt("and now?");
    expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });
    expect(pi.records.filter((record) => record.type === "extension_error")).toEqual([]);
    expect(model.requests[3].body.messages.at(-1)).toMatchObject({ role: "user" });
    expectPairedCalls(model);
  });
});

describe("the user's set of enabled tools", () => {
  const cases: { name: string; args?: string[]; settings?: Record<string, unknown>; expected: string[] }[] = [
    { name: "by default", expected: ["read", "bash", "edit", "write", ...contextToolNames] },
    { name: "--tools", args: ["--tools", "read,ls"], expected: ["read", "ls"] },
    { name: "--tools with ours", args: ["--tools", "grep,activate"], expected: ["grep", "activate"] },
    {
      name: "--exclude-tools",
      args: ["--exclude-tools", "write,pin"],
      expected: ["read", "bash", "edit", "activate", "deactivate", "unpin"],
    },
    { name: "--no-builtin-tools", args: ["--no-builtin-tools"], expected: contextToolNames },
    { name: "--no-tools", args: ["--no-tools"], expected: [] },
    {
      name: "the setting defaultTools",
      settings: { defaultTools: ["bash", "ls"] },
      expected: ["bash", "ls", ...contextToolNames],
    },
  ];

  test.each(cases)("stays as it was: $name", async ({ args = [], settings, expected }) => {
    const { model, sandbox } = await start([{ text: "ok" }], { settings });
    await runPi(sandbox, ["-e", extension, ...args, "-p", "hi"]);
    expect(toolNames(model.requests[0].body)).toEqual(expected);
  });

  test("keeps its descriptions and its lines in the system prompt", async () => {
    const plain = await start([{ text: "ok" }]);
    await runPi(plain.sandbox, ["-p", "hi"]);
    const ours = await start([{ text: "ok" }]);
    await runPi(ours.sandbox, ["-e", extension, "-p", "hi"]);
    const [plainBody, ourBody] = [plain.model.requests[0].body, ours.model.requests[0].body];
    expect(ourBody.tools?.slice(0, 4)).toEqual(plainBody.tools);
    const plainLines = systemLines(plainBody, plain.sandbox.dir);
    expect(systemLines(ourBody, ours.sandbox.dir)).toEqual(expect.arrayContaining(plainLines));
  });
});

function systemLines(body: { messages: { role: string; content?: unknown }[] }, dir: string): string[] {
  return String(body.messages[0].content).replaceAll(dir, "<sandbox>").split("\n");
}

describe("tools", () => {
  test("an unknown name is an error with a code, not the end", async () => {
    const { model, sandbox } = await start([{ calls: [call("activate", { name: "t99" })] }, { text: "ok" }]);
    expect(await runPi(sandbox, ["-e", extension, "-p", "go"])).toMatchObject({ code: 0, stdout: "ok\n" });
    expect(model.requests[1].body.messages.at(-1)?.content).toContain("UNKNOWN_NAME");
  });

  test("ls answers as Pi's own does", async () => {
    const steps = [{ calls: [call("ls", { path: "src" })] }, { text: "ok" }];
    const { model, sandbox } = await start(steps, { files });
    await runPi(sandbox, ["-e", extension, "--tools", "ls", "-p", "go"]);
    expect(model.requests[1].body.messages.at(-1)?.content).toBe("b.txt");
  });

  test.skipIf(missing("rg", "fd"))("grep and find answer as Pi's own do", async () => {
    const steps = [{ calls: [call("find", { pattern: "*.txt" }), call("grep", { pattern: "two" })] }, { text: "ok" }];
    // Outside a repository Pi passes fd an option that Debian 12's fd (8.6) does not know.
    const repository = { ...files, ".git/HEAD": "ref: refs/heads/main\n" };
    const plain = await start(steps, { files: repository });
    await runPi(plain.sandbox, ["--tools", "grep,find", "-p", "go"]);
    const ours = await start(steps, { files: repository });
    const finished = await runPi(ours.sandbox, ["-e", extension, "--tools", "grep,find", "-p", "go"]);
    expect(finished).toMatchObject({ code: 0, stderr: "" });
    expect(conversation(ours.model, ours.sandbox.dir)).toEqual(conversation(plain.model, plain.sandbox.dir));
    const [found, matched] = ours.model.requests[1].body.messages.slice(-2).map((message) => message.content);
    expect(found).toContain("src/b.txt");
    expect(matched).toContain("src/b.txt:2: two");
  });

  test("reads of what is not text answer as Pi's own do", async () => {
    const odd = { "nul.txt": "a\0b\n", "folder/x": "" };
    const paths = ["nul.txt", "latin1.txt", "folder", "absent.txt", "a.txt"];
    const steps = [...paths.map((path) => ({ calls: [call("read", { path })] })), { text: "ok" }];
    const plain = await start(steps, { files: { ...files, ...odd } });
    const ours = await start(steps, { files: { ...files, ...odd } });
    for (const { sandbox } of [plain, ours]) {
      writeFileSync(join(sandbox.projectDir, "latin1.txt"), Buffer.from([0x63, 0x61, 0x66, 0xe9, 0x0a]));
    }
    await runPi(plain.sandbox, ["-p", "go"]);
    const finished = await runPi(ours.sandbox, ["-e", extension, "-p", "go"]);
    expect(finished).toMatchObject({ code: 0, stdout: "ok\n", stderr: "" });
    expect(conversation(ours.model, ours.sandbox.dir)).toEqual(conversation(plain.model, plain.sandbox.dir));
  });

  test.skipIf(missingOtherUser() || !cloneIsPublic())("a file without permission is Pi's own error", async () => {
    const steps = [{ calls: [call("read", { path: "a.txt" })] }, { text: "ok" }];
    const { model, sandbox } = await start(steps, { files });
    const launcher = asOtherUserWithoutReading(sandbox.dir);
    chmodSync(join(sandbox.projectDir, "a.txt"), 0);
    const finished = await runPi(sandbox, ["-e", extension, "-p", "go"], { launcher });
    expect(finished).toMatchObject({ code: 0, stdout: "ok\n", stderr: "" });
    expect(model.requests[1].body.messages.at(-1)?.content).toContain("EACCES");
  });
});

describe("a later process", () => {
  test("continues the session with the messages the model has seen", async () => {
    const { model, sandbox } = await start([...shortSession, { text: "And on." }], { files });
    await runPi(sandbox, ["-e", extension, "-p", "go"]);
    const finished = await runPi(sandbox, ["-e", extension, "-p", "--continue", "and now?"]);
    expect(finished).toMatchObject({ code: 0, stdout: "And on.\n", stderr: "" });
    const [before, after] = [model.requests[2].body, model.requests[3].body];
    expect(after.messages.slice(0, before.messages.length)).toEqual(before.messages);
    expect(after.tools).toEqual(before.tools);
    expectPairedCalls(model);
  });
});
