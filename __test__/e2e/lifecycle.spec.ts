// What happens to a session in the real Pi: compaction, fork, clone, a kill, outside changes. The model must see a list that
// is whole, and the next process must go on where the last one was.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openStore } from "../../index.js";
import { runPi, startPiRpc } from "../../scripts/lib/pi.js";
import type { RequestBody, Step } from "../../scripts/lib/scripted-model.js";
import { expectPairedCalls, extension, start } from "./support.ts";

const numbered = (count: number) => Array.from({ length: count }, (_, at) => `line ${at + 1}`).join("\n");
const files = { "a.txt": `${numbered(30)}\n` };

function call(name: string, args: unknown) {
  return { name, args };
}

/** All text that a request holds, without the system prompt. */
function text(body: RequestBody | undefined): string {
  return JSON.stringify((body?.messages ?? []).filter((message) => message.role !== "system"));
}

function last(model: { requests: { body: RequestBody }[] }): RequestBody | undefined {
  return model.requests.at(-1)?.body;
}

describe("a file", () => {
  test("that changed after the model read it is reported once", async () => {
    const path = { value: "" };
    const change: Step = { calls: [call("bash", { command: "true" })] };
    const { model, sandbox } = await start(
      (request: { n: number }) => {
        if (request.n === 1) {
          writeFileSync(path.value, readFileSync(path.value, "utf8").replace("line 7\n", "line seven\n"));
        }
        const steps: Step[] = [
          { calls: [call("read", { path: "a.txt" })] },
          change,
          { text: "Done." },
          { text: "Ok." },
        ];
        return steps[request.n] ?? { text: "?" };
      },
      { files },
    );
    path.value = join(sandbox.projectDir, "a.txt");
    const pi = startPiRpc(sandbox, ["-e", extension]);
    await pi.prompt("go");
    await pi.prompt("again");
    expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });
    const told = text(last(model));
    expect(told).toContain("[f1] a.txt changed on disk after t1 (+1 -1):");
    expect(told).toContain("-line 7\\n+line seven");
    expect(told.split("changed on disk")).toHaveLength(2);
    expectPairedCalls(model);
  });

  test("cannot be written with a line that stands for lines", async () => {
    const { model, sandbox } = await start(
      [
        { calls: [call("read", { path: "a.txt", offset: 1, limit: 20 })] },
        { calls: [call("bash", { command: "true" })] },
        { calls: [call("read", { path: "a.txt", offset: 1, limit: 20 })] },
        {
          calls: [
            call("write", {
              path: "b.txt",
              content: "f1 unchanged; lines 1-20 stand in the read result above (t1).\n",
            }),
          ],
        },
        { text: "Done." },
      ],
      { files },
    );
    await runPi(sandbox, ["-e", extension, "-p", "go"]);
    const body = text(last(model));
    expect(body).toContain("f1 unchanged; lines 1-20 stand in the read result above (t1).");
    expect(body).toContain("is not text of the file");
    expect(() => readFileSync(join(sandbox.projectDir, "b.txt"))).toThrow();
  });
});

describe("a session", () => {
  test("goes on after /compact, with compacted content in reach", async () => {
    const { model, sandbox } = await start(
      (request: { body: RequestBody }) => {
        const body = text(request.body);
        if (/summar/i.test(JSON.stringify(request.body.messages[0])) || body.includes("<conversation>")) {
          return { text: "They read a.txt." };
        }
        if (body.includes("bring it back") && !body.includes("[f1] a.txt")) {
          return { calls: [call("activate", { name: "f1", lines: "7-8" })] };
        }
        return body.includes('"tool"') ? { text: "Done." } : { calls: [call("read", { path: "a.txt" })] };
      },
      { files, settings: { compaction: { keepRecentTokens: 1 } } },
    );
    const pi = startPiRpc(sandbox, ["-e", extension]);
    await pi.prompt("go");
    await pi.prompt("and then");
    await pi.send({ type: "compact" });
    await pi.prompt("bring it back");
    expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });
    const body = text(last(model));
    expect(body).toContain("They read a.txt.");
    expect(body).toContain("[f1] a.txt · lines 7-8 of 30\\nline 7\\nline 8");
    expectPairedCalls(model);
  });

  test("gives compacted words back, also when resumed", async () => {
    const said = "The release branch is called amber-falcon.";
    const asked: string[] = [];
    const { model, sandbox } = await start(
      (request: { body: RequestBody }) => {
        const body = text(request.body);
        if (/summar/i.test(JSON.stringify(request.body.messages[0])) || body.includes("<conversation>")) {
          return { text: "They talked about a release." };
        }
        const note = /\[(s\d+)\] turns 1-2 in full · \d+ messages/.exec(body);
        if (body.includes("bring it back") && note !== null && !body.includes("amber-falcon")) {
          asked.push(String(note[1]));
          return { calls: [call("activate", { name: String(note[1]) })] };
        }
        return { text: body.includes("bring it back") ? "There it is." : "I keep that in mind: copper-otter." };
      },
      { files, settings: { compaction: { keepRecentTokens: 1 } } },
    );
    const pi = startPiRpc(sandbox, ["-e", extension]);
    await pi.prompt(said);
    await pi.prompt("and then");
    await pi.send({ type: "compact" });
    await pi.prompt("bring it back");
    expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });
    expect(asked).toEqual(["s1"]);
    const results = (last(model)?.messages ?? []).filter((message) => message.role === "tool");
    expect(JSON.stringify(results)).toContain(`[s1] turns 1-2 · lines 1-6 of 6\\nuser, turn 1:\\n${said}`);
    expect(JSON.stringify(results)).toContain("copper-otter");
    const again = await runPi(sandbox, ["-e", extension, "--continue", "-p", "go on"]);
    expect(again).toMatchObject({ code: 0, stderr: "" });
    expect(text(last(model))).toContain(said);
    expectPairedCalls(model);
    const store = await openStore({ path: join(sandbox.agentDir, "palimpsest", "store.sqlite") });
    const { hits } = await store.search("copper otter", { types: ["chat_segment"] });
    expect(hits).toMatchObject([
      { type: "chat", part: "item", segment: expect.stringMatching(/^chat_segment:.*:0-2$/) },
    ]);
    expect(await store.content(String(hits[0]?.segment))).toContain(`${said}\nassistant:\nI keep that in mind`);
    await store.close();
  });

  test("goes on in the next process after a kill", async () => {
    const { model, sandbox } = await start(
      [
        { calls: [call("read", { path: "a.txt" })] },
        { calls: [call("bash", { command: "kill -9 $PPID; sleep 5" })] },
        { calls: [call("read", { path: "a.txt" })] },
        { text: "Done." },
      ],
      { files },
    );
    await runPi(sandbox, ["-e", extension, "-p", "go"]);
    const next = await runPi(sandbox, ["-e", extension, "--continue", "-p", "go on"]);
    expect(next).toMatchObject({ code: 0, stderr: "" });
    expect(text(last(model))).toContain("f1 unchanged; lines 1-30 stand in the read result above (t1).");
    expectPairedCalls(model);
  });

  test("that is forked inherits what was known", async () => {
    const { model, sandbox } = await start(
      [
        { calls: [call("read", { path: "a.txt" })] },
        { text: "Done." },
        { calls: [call("activate", { name: "t1", lines: "3" })] },
        { text: "Done." },
      ],
      { files },
    );
    const first = await runPi(sandbox, ["-e", extension, "--session-id", "first", "-p", "go"]);
    expect(first.code).toBe(0);
    const fork = await runPi(sandbox, ["-e", extension, "--fork", "first", "-p", "go on"]);
    expect(fork).toMatchObject({ code: 0, stderr: "" });
    expect(text(last(model))).toContain("[f1] a.txt · line 3 of 30\\nline 3");
    expectPairedCalls(model);
  });

  test("whose file names a device as its parent is a session", async () => {
    const { sandbox } = await start([{ text: "Done." }]);
    const header = {
      type: "session",
      version: 3,
      id: "odd",
      timestamp: "2026-01-01T00:00:00Z",
      cwd: sandbox.projectDir,
    };
    const file = join(sandbox.dir, "odd.jsonl");
    writeFileSync(file, `${JSON.stringify({ ...header, parentSession: "/dev/zero" })}\n`);
    const { code, stdout, stderr } = await runPi(sandbox, ["-e", extension, "--session", file, "-p", "go"]);
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "Done.\n", stderr: "" });
  });
});
