// Palimpsest in OpenClaw: what the model gets in a running gateway, what `/palimpsest` says, and that no session has anything of another.
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { Ledger } from "../../index.js";
import { createOpenClawSandbox, type OpenClawSandbox, runLocal } from "../../scripts/lib/openclaw.js";
import { type Gateway, startGateway } from "../../scripts/lib/openclaw-gateway.js";
import type { RequestBody, Step } from "../../scripts/lib/scripted-model.js";
import { palimpsest } from "../e2e/support.ts";
import {
  call,
  continues,
  fromNow,
  isPaired,
  lines,
  linkPalimpsest,
  type Puppet,
  rememberGlobally,
  startPuppet,
  textOf,
} from "./support.ts";

const log = (count: number) =>
  `${Array.from({ length: count }, (_, at) => `test case number ${at + 1} ... ok`).join("\n")}\ntest result: ok. ${count} passed\n`;
const files = { "log.sh": "cat log.txt\n", "log.txt": log(1500), "a.txt": "alpha\nbeta\ngamma\n" };
let model: Puppet;
let sandbox: OpenClawSandbox;
let gateway: Gateway;

beforeAll(async () => {
  model = await startPuppet();
  sandbox = await createOpenClawSandbox({ baseUrl: model.baseUrl, files });
  linkPalimpsest(sandbox);
  // Nothing but what every plugin may do.
  rememberGlobally(sandbox, "- Tabs: the user wants tabs\n");
  gateway = await startGateway(sandbox);
});

afterAll(async () => {
  await gateway?.stop();
  await model?.close();
  await sandbox?.remove();
});

/** Plays a turn and resolves to its requests. */
async function turn(sessionKey: string, message: string, ...steps: Step[]): Promise<RequestBody[]> {
  const since = fromNow(model);
  model.play(...steps);
  expect(await gateway.agent({ sessionKey, message })).toMatchObject({ status: "ok" });
  const requests = since();
  expect(requests.map(isPaired)).toEqual(requests.map(() => true));
  return requests;
}

const results = (body: RequestBody) => lines(body).filter((line) => line.startsWith("tool: "));
const runLog = call("exec", { command: "sh log.sh" });
const failures = () => {
  const file = join(sandbox.stateDir, "palimpsest", "palimpsest.log");
  return existsSync(file) ? readFileSync(file, "utf8") : "";
};

test("a long output is shown in part, and can be activated later", async () => {
  const key = "agent:main:preview";
  const one = await turn(key, "run", runLog, call("activate", { name: "t1", lines: "700-701" }), { text: "one" });
  expect(results(one[1])).toEqual([
    expect.stringMatching(/^tool: … 1,500 lines between \(t1:1-1500\) …\ntest result: ok\. 1500 passed$/),
  ]);
  expect(results(one[2])[1]).toMatch(/^tool: \[t1\] exec · lines 700-701 of 1,501\ntest case number 700 \.\.\. ok\n/);
  const two = await turn(key, "again", call("activate", { name: "t1", pattern: "number 42 " }), { text: "two" });
  expect(results(two[1])[2]).toContain("test case number 42 ... ok");
  const all = [...one, ...two];
  expect(all.slice(1).map((body, at) => continues(all[at], body))).toEqual(all.slice(1).map(() => true));
  expect(failures()).toBe("");
});

test("what went out is in the store, exactly", async () => {
  const key = "agent:main:record";
  const requests = await turn(key, "run", call("read", { path: "a.txt" }), runLog, { text: "one" });
  const { sessions } = palimpsest<{ sessions: { id: string }[] }>(sandbox, "sessions", "--json");
  const [{ id }] = sessions;
  const { messages } = palimpsest<{ messages: { role: string; content: unknown }[] }>(
    sandbox,
    "context",
    id,
    "--call",
    "3",
    "--json",
  );
  const recorded = messages;
  expect(recorded.map(({ role }) => role)).toEqual(["user", "assistant", "toolResult", "assistant", "toolResult"]);
  expect(
    recorded.filter(({ role }) => role === "toolResult").map((message) => `tool: ${textOf(message as never)}`),
  ).toEqual(results(requests[2]));
});

test("handles parallel calls, a failed call and a reused ID", async () => {
  const key = "agent:main:calls";
  const both: Step = {
    calls: [
      { name: "read", args: { path: "a.txt" }, id: "call_0" },
      { name: "exec", args: { command: "sh log.sh" }, id: "call_1" },
    ],
  };
  const one = await turn(key, "one", both, call("read", { path: "missing.txt" }, "call_0"), { text: "one" });
  expect(results(one[2])).toEqual([
    "tool: alpha\nbeta\ngamma\n",
    expect.stringContaining("… 1,500 lines between"),
    expect.stringContaining("missing.txt"),
  ]);
  await turn(key, "two", call("exec", { command: "echo two" }, "call_0"), { text: "two" });
  // Which of two parallel calls ends first is the host's business, and the first gets the first handle.
  const [, handle] = /lines between \((t\d+):/.exec(results(one[2]).join("\n")) ?? [];
  const three = await turn(key, "three", call("activate", { name: handle, lines: "3" }, "call_0"), { text: "three" });
  expect(results(three[1]).at(-1)).toContain("test case number 3 ... ok");
  const status = await gateway.chat("/palimpsest", { sessionKey: key });
  expect(status.text).toContain("window");
  expect(failures()).toBe("");
});

test("explains a failed edit, and keeps a secret out of memory", async () => {
  const key = "agent:main:writes";
  const edit = call("edit", { path: "a.txt", edits: [{ oldText: "beta\ngama", newText: "x" }] });
  const secret = `AKIA${"QYLPMN5HFIQR7XYZ".slice(0, 16)}`;
  const remember = call("write", { path: ".pi/memory/MEMORY.md", content: `- key: aws_access_key_id = ${secret}\n` });
  const requests = await turn(key, "write", edit, remember, { text: "done" });
  expect(results(requests[1])[0]).toContain("nearest to oldText");
  expect(results(requests[2])[1]).toMatch(/secret|key/i);
  expect(existsSync(join(sandbox.workspaceDir, ".pi", "memory", "MEMORY.md"))).toBe(false);
});

test("keeps lines of ours out of files, and reports changed files", async () => {
  const key = "agent:main:lines";
  const file = join(sandbox.workspaceDir, "b.txt");
  writeFileSync(file, "one\ntwo\n");
  const copy = call("write", { path: "c.txt", content: "… 1,500 lines between (t1:1-1500) …\n" });
  const one = await turn(key, "one", runLog, call("read", { path: "b.txt" }), copy, { text: "one" });
  expect(results(one[3])[2]).toContain("stands for");
  expect(existsSync(join(sandbox.workspaceDir, "c.txt"))).toBe(false);
  writeFileSync(file, "one\nthree\n");
  const two = await turn(key, "two", { text: "two" });
  expect(lines(two[0]).join("\n")).toMatch(/b\.txt changed on disk after t\d \(\+1 -1\):[\s\S]*\+three/);
  const three = await turn(key, "three", { text: "three" });
  expect(continues(two[0], three[0])).toBe(true);
});

describe("memory", () => {
  const promptOf = ([{ messages }]: RequestBody[]) => textOf(messages[0]);

  test("stays unchanged in the system prompt beside OpenClaw's own", async () => {
    const key = "agent:main:memory";
    const first = promptOf(await turn(key, "one", { text: "one" }));
    expect(first).toContain("the user wants tabs");
    expect(first).toContain("## Memory Recall");
    expect(first).toContain("A line like `[t17] …` stands for content");
    writeFileSync(join(sandbox.homeDir, ".pi", "agent", "memory", "MEMORY.md"), "- Tabs: the user wants spaces\n");
    const requests = await turn(key, "two", { text: "two" });
    expect(promptOf(requests)).toBe(first);
    expect(lines(requests[0]).join("\n")).toContain("the user wants spaces");
  });

  test("a group gets no global memory", async () => {
    const prompt = promptOf(await turn("agent:main:webchat:group:friends", "one", { text: "one" }));
    expect(prompt).toContain("A line like `[t17] …` stands for content");
    expect(prompt).not.toContain("the user wants");
    expect(prompt).not.toContain(".pi/agent/memory");
  });
});

test("a turn that is broken off, and the one behind it", async () => {
  const key = "agent:main:abort";
  const running = gateway.waitFor(
    ({ payload }) => payload.sessionKey === key && payload.stream === "tool" && payload.data.name === "exec",
  );
  model.play(call("read", { path: "a.txt" }), call("exec", { command: "sleep 60" }));
  const broken = gateway.agent({ sessionKey: key, message: "one" });
  await running;
  await gateway.call("chat.abort", { sessionKey: key });
  expect((await broken).status).not.toBe("ok");
  const two = await turn(key, "two", runLog, { text: "two" });
  expect(results(two[0])[0]).toBe("tool: alpha\nbeta\ngamma\n");
  expect(results(two[1]).at(-1)).toMatch(/^tool: … 1,500 lines between/);
  const three = await turn(key, "three", call("activate", { name: "f1" }), { text: "three" });
  expect(continues(two[1], three[0])).toBe(true);
  expect(results(three[1]).at(-1)).toContain("gamma");
  expect(failures()).toBe("");
});

test("every request continues the last or begins an epoch", async () => {
  const key = "agent:main:many";
  const all: RequestBody[] = [];
  for (const at of Array.from({ length: 6 }, (_, each) => each)) {
    const steps = Array.from({ length: 9 }, (_, step) => call("exec", { command: `echo ${at} ${step}; sh log.sh` }));
    all.push(...(await turn(key, `turn ${at}`, ...steps, { text: "done" })));
  }
  expect(all).toHaveLength(60);
  const rewritten = all.slice(1).filter((body, at) => !continues(all[at], body)).length;
  const [{ id }] = palimpsest<{ sessions: { id: string }[] }>(sandbox, "sessions", "--json").sessions;
  const { epochs, bill, plainBill, calls } = palimpsest<Ledger>(sandbox, "ledger", id, "--json");
  expect(calls).toBe(60);
  expect(rewritten).toBeLessThanOrEqual(epochs.length);
  expect(bill).toBeLessThan(plainBill / 2);
  for (const call of [1, 30, 60]) {
    // It renders the call again and checks its hash.
    palimpsest(sandbox, "context", id, "--call", String(call), "--json");
  }
  expect(failures()).toBe("");
});

test("one session has nothing of another", async () => {
  await turn("agent:main:left", "one", runLog, { text: "one" });
  const requests = await turn("agent:main:right", "one", call("activate", { name: "t1" }), { text: "one" });
  expect(results(requests[1])[0]).toContain("UNKNOWN_NAME");
});

describe("`/palimpsest`", () => {
  const key = "agent:main:command";
  const said = async (args: string) => (await gateway.chat(`/palimpsest ${args}`, { sessionKey: key })).text;

  test("says what is in the window and lists what there is", async () => {
    await turn(key, "one", runLog, call("read", { path: "a.txt" }), { text: "one" });
    expect(await said("")).toMatch(
      /^window +[\d.]+k tokens in the last request, of 12\dk that the model takes; plain OpenClaw [\d.]+k/,
    );
    expect(await said("")).toContain(`store     ${sandbox.store}`);
    expect(await said("objects")).toMatch(/^t1 +in the window +exec .*\nf2 +in the window +a\.txt$/m);
    expect(await said("show f2")).toBe("alpha\nbeta\ngamma");
    expect(await said("settings highWater")).toBe("highWater              0.7  (default)");
    expect(await said("memory")).toContain("memory    on");
    expect(await said("help")).toContain("- objects [FILTER]:");
  });

  test("turns it off and on", async () => {
    expect(await said("off")).toContain("is off in this chat");
    expect(await said("")).toContain("you turned it off here");
    const off = await turn(key, "two", runLog, { text: "two" });
    expect(results(off[1]).at(-1)).toContain("test case number 700 ... ok");
    expect(await said("on")).toBe("Palimpsest is on again in this chat.");
    const on = await turn(key, "three", runLog, { text: "three" });
    expect(results(on[1]).at(-1)).toMatch(/^tool: … 1,500 lines between \(t\d:1-1500\) …/);
  });
});

test("`/new` starts over, and old names no longer resolve", async () => {
  const key = "agent:main:new";
  await turn(key, "one", runLog, { text: "one" });
  await gateway.chat("/new", { sessionKey: key });
  const requests = await turn(key, "two", runLog, { text: "two" });
  expect(lines(requests[1]).join("\n")).not.toContain("user: [one");
  expect(results(requests[1])).toHaveLength(1);
  expect(failures()).toBe("");
});

test("a killed gateway goes on where it was, and `--local` too", async () => {
  const key = "agent:main:crash";
  const one = await turn(key, "one", runLog, { text: "one" });
  await gateway.kill("SIGKILL");
  gateway = await startGateway(sandbox);
  const two = await turn(key, "two", call("activate", { name: "t1", lines: "5" }), { text: "two" });
  expect(continues(one[1], two[0])).toBe(true);
  expect(results(two[1])[1]).toContain("test case number 5 ... ok");
  expect(failures()).toBe("");
});

test("two OpenClaws work on one store at once", async () => {
  const other = await createOpenClawSandbox({ baseUrl: model.baseUrl, files });
  onTestFinished(() => other.remove());
  linkPalimpsest(other);
  const since = fromNow(model);
  // A command that is repeated right away is shown whole.
  model.play(...Array.from({ length: 6 }, (_, at) => call("exec", { command: `echo ${at}; sh log.sh` })));
  const env = { PALIMPSEST_STORE: sandbox.store };
  const [local, remote] = await Promise.all([
    runLocal(other, { message: "one" }, { env }),
    gateway.agent({ sessionKey: "agent:main:two", message: "one" }),
  ]);
  expect({ code: local.code, status: remote.status }).toEqual({ code: 0, status: "ok" });
  const shown = since().flatMap(results);
  expect(shown.length).toBeGreaterThanOrEqual(6);
  expect(shown.filter((line) => !line.includes(" lines between (t"))).toEqual([]);
  const { sessions } = palimpsest<{ sessions: { cwd: string }[] }>(sandbox, "sessions", "--json");
  expect(new Set(sessions.map(({ cwd }) => cwd))).toEqual(new Set([sandbox.workspaceDir, other.workspaceDir]));
  expect(failures()).toBe("");
});

test("one addon serves all copies of the plugin", () => {
  const mapped = readFileSync(`/proc/${gateway.pid}/maps`, "utf8").match(/\S+palimpsest\S*\.node/g);
  expect([...new Set(mapped)]).toHaveLength(1);
});

test("a call without a store is plain, and the next has a new one", async () => {
  const key = "agent:main:gone";
  await turn(key, "one", runLog, { text: "one" });
  for (const end of ["", "-wal", "-shm", "-ack"]) {
    rmSync(`${sandbox.store}${end}`, { force: true });
  }
  await turn(key, "two", call("read", { path: "a.txt" }), { text: "two" });
  expect(failures()).toMatch(/STORE_GONE/);
  const three = await turn(key, "three", runLog, { text: "three" });
  expect(results(three[1]).at(-1)).toMatch(/^tool: … 1,500 lines between/);
  expect((await gateway.chat("/palimpsest", { sessionKey: key })).text).toContain("the newest failure");
  rmSync(join(sandbox.stateDir, "palimpsest", "palimpsest.log"));
});

test("without a gateway the same session goes on", async () => {
  const key = "agent:main:local";
  const one = await turn(key, "one", runLog, { text: "one" });
  await gateway.stop();
  const since = fromNow(model);
  model.play(call("activate", { name: "t1", lines: "9" }), { text: "two" });
  expect((await runLocal(sandbox, { sessionKey: key, message: "two" })).code).toBe(0);
  const two = since();
  expect(results(two[0])).toEqual(results(one[1]));
  expect(results(two[1])[1]).toContain("test case number 9 ... ok");
  expect(failures()).toBe("");
});
