// Drives the real Pi without any extension: what the other end-to-end tests stand on.
import { describe, expect, onTestFinished, test } from "vitest";
import { createSandbox, runPi, runPiJson, startPiRpc } from "../../scripts/lib/pi.js";
import { type Step, startScriptedModel } from "../../scripts/lib/scripted-model.js";

const readThenAnswer: Step[] = [
  { thinking: "The user wants a file.", calls: [{ name: "read", args: { path: "a.txt" } }] },
  { text: "It says hello." },
];

async function start(script: Parameters<typeof startScriptedModel>[0]) {
  const model = await startScriptedModel(script);
  const sandbox = createSandbox({ baseUrl: model.baseUrl, files: { "a.txt": "hello\n" } });
  onTestFinished(async () => {
    await model.close();
    sandbox.remove();
  });
  return { model, sandbox };
}

describe("plain pi against the scripted model", () => {
  test("print mode runs the tool and prints the last text", async () => {
    const { model, sandbox } = await start(readThenAnswer);
    const { code, stdout } = await runPi(sandbox, ["-p", "read a.txt"]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: "It says hello.\n" });
    const [first, second] = model.requests;
    expect(first.body.tools?.map((tool) => tool.function.name)).toEqual(["read", "bash", "edit", "write"]);
    expect(second.body.messages.slice(2)).toMatchObject([
      { role: "assistant", tool_calls: [{ id: "call_0_0", function: { name: "read" } }] },
      { role: "tool", tool_call_id: "call_0_0", content: "hello\n" },
    ]);
    expect(model.errors).toEqual([]);
  });

  test("json mode reports every event", async () => {
    const { sandbox } = await start(readThenAnswer);
    const { code, events } = await runPiJson(sandbox, ["read a.txt"]);
    expect(code).toBe(0);
    const types = events.map((event) => event.type);
    expect(types[0]).toBe("session");
    expect(types).toContain("tool_execution_end");
    expect(types).toContain("agent_settled");
  });

  test("rpc mode accepts several prompts and ends with its input", async () => {
    const { model, sandbox } = await start([...readThenAnswer, { text: "Again: hello." }]);
    const pi = startPiRpc(sandbox);
    await pi.prompt("read a.txt");
    await pi.prompt("and again");
    const { code } = await pi.close();
    expect(code).toBe(0);
    expect(model.requests.map((request) => request.body.messages.length)).toEqual([2, 4, 6]);
  });

  test("a session continues in a new process", async () => {
    const { model, sandbox } = await start([{ text: "one" }, { text: "two" }]);
    await runPi(sandbox, ["-p", "first"]);
    await runPi(sandbox, ["-p", "--continue", "second"]);
    const texts = model.requests[1].body.messages.map((message) => message.role);
    expect(texts).toEqual(["system", "user", "assistant", "user"]);
  });

  test("a scripted failure is reported and not retried", async () => {
    const { model, sandbox } = await start([{ status: 400 }]);
    const { code, stderr } = await runPi(sandbox, ["-p", "hi"]);
    expect(code).toBe(1);
    expect(stderr).toContain("scripted status 400");
    expect(model.requests).toHaveLength(1);
  });

  test("a process that passes its deadline is killed and told apart", async () => {
    const { sandbox } = await start(() => new Promise(() => {}));
    await expect(runPi(sandbox, ["-p", "wait"], { deadlineMs: 2_000 })).rejects.toThrow(
      "passed its deadline of 2000 ms",
    );
  });
});
