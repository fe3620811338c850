// What Palimpsest's plugin relies on in OpenClaw, shown by a plugin that only looks (`probe`). Where a new version of the host differs,
// it fails here first, and says what has changed.
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createOpenClawSandbox, linkPlugin, type OpenClawSandbox, runLocal } from "../../scripts/lib/openclaw.js";
import { type Gateway, startGateway } from "../../scripts/lib/openclaw-gateway.js";
import type { WireMessage } from "../../scripts/lib/scripted-model.js";
import { root } from "../../scripts/setup.js";
import { listen } from "../e2e/providers.ts";
import {
  call,
  conversationOf,
  fromNow,
  lines,
  type Puppet,
  puppet,
  recordsOf,
  startPuppet,
  textOf,
} from "./support.ts";

/** A line that the probe wrote. */
interface Seen {
  event: string;
  sessionKey?: string;
  toolCallId: string;
  mode: string;
  rootDir: string;
  url: string;
  tokenBudget: number;
  prompt: string;
  messages: { role: string; customType?: string; toolCallId?: string; content: unknown; timestamp?: number }[];
}

const probe = join(root, "__test__", "openclaw", "probe");
const files = { "a.txt": "alpha\n", "b.txt": "beta\n" };
const claude = puppet();
let model: Puppet;
let anthropic: Awaited<ReturnType<typeof listen>>;
let sandbox: OpenClawSandbox;
let gateway: Gateway;

beforeAll(async () => {
  model = await startPuppet();
  anthropic = await listen("anthropic", claude.script);
  const claudes = [{ id: "claude-1", name: "Claude", contextWindow: 128_000, maxTokens: 8_000 }];
  const provider = { baseUrl: anthropic.baseUrl, api: "anthropic-messages", apiKey: "none", models: claudes };
  const config = {
    models: { providers: { claude: provider } },
    agents: { defaults: { models: { "claude/claude-1": { params: { cacheRetention: "short" } } } } },
  };
  sandbox = await createOpenClawSandbox({ baseUrl: model.baseUrl, files, config });
  linkPlugin(sandbox, probe, { records: join(sandbox.dir, "records") });
  gateway = await startGateway(sandbox);
});

afterAll(async () => {
  await gateway?.stop();
  await model?.close();
  anthropic?.close();
  await sandbox?.remove();
});

/** What the probe saw of a session. */
const seen = (sessionKey: string, event: string) =>
  recordsOf<Seen>(sandbox, "records").filter((record) => record.sessionKey === sessionKey && record.event === event);

/** Plays turns of one session, each with its steps; resolves to the requests of each. */
async function play(sessionKey: string, ...turns: Parameters<Puppet["play"]>[]) {
  const requests = [];
  for (const [at, steps] of turns.entries()) {
    const since = fromNow(model);
    model.play(...steps);
    expect(await gateway.agent({ sessionKey, message: `turn ${at + 1}` })).toMatchObject({ status: "ok" });
    requests.push(since());
  }
  return requests;
}

const readA = call("read", { path: "a.txt" });
const readB = call("read", { path: "b.txt" });

test("the model gets what assemble returns, then the user's words", async () => {
  const [[first]] = await play("agent:main:order", [{ text: "hello" }]);
  expect(lines(first)).toEqual([
    expect.stringMatching(/^user: \[note\]\nRuntime: agent=main \| session=agent:main:order \| /),
    expect.stringMatching(/^user: \[\w{3} \d{4}-\d\d-\d\d \d\d:\d\d UTC\] turn 1$/),
  ]);
  const [{ content: prompt }] = first.messages;
  expect(prompt).toContain("attempt:STABLE -->\n[addition]\n\n<!-- openclaw:attempt:DYNAMIC -->");
});

test("assemble gets earlier turns, then what it returned itself", async () => {
  const key = "agent:main:history";
  await play(key, [readA, { text: "one" }], [readB, { text: "two" }]);
  const roles = seen(key, "assemble").map(({ messages }) => messages.map(({ role }) => role).join(" "));
  const history = "user assistant toolResult assistant";
  // One before the prompt is built, then one before each request.
  expect(roles).toEqual(["", "custom", "custom", history, `custom ${history}`, `custom ${history}`]);
  expect(seen(key, "assemble").map(({ prompt }) => prompt)).toEqual([..."111222"].map((turn) => `turn ${turn}`));
  const [, , , before, inLoop] = seen(key, "assemble");
  expect(before.messages[0]).toMatchObject({ content: "turn 1", timestamp: expect.any(Number) });
  expect(inLoop.messages[0]).toMatchObject({ customType: "probe", content: "[note]", timestamp: 1 });
  expect(before.tokenBudget).toBeLessThan(inLoop.tokenBudget);
});

test("assemble's change to a result takes effect a turn later", async () => {
  const [one, two] = await play("agent:main:reach", [readA, readB, { text: "one" }], [{ text: "two" }]);
  expect(lines(one[2]).filter((line) => line.startsWith("tool"))).toEqual(["tool: alpha\n", "tool: beta\n"]);
  expect(lines(two[0]).filter((line) => line.startsWith("tool"))).toEqual(Array(2).fill("tool: [earlier read]"));
});

test("middleware rewrites a result in its own turn and for good", async () => {
  const [one, two] = await play("agent:main:plain-middleware", [call("ls", {}), { text: "one" }], [{ text: "two" }]);
  expect(lines(one[1]).at(-1)).toBe("tool: [files]");
  expect(lines(two[0])[2]).toBe("tool: [files]");
});

test("a call ID is stripped in assemble, but not in hooks", async () => {
  const key = "agent:main:ids";
  const [[, answered]] = await play(
    key,
    [call("read", { path: "a.txt" }, "call_1-x"), { text: "one" }],
    [{ text: "two" }],
  );
  expect(seen(key, "middleware").map(({ toolCallId }) => toolCallId)).toEqual(["call_1-x"]);
  const idOf = ({ messages }: Seen) => messages.find(({ role }) => role === "toolResult")?.toolCallId;
  expect(idOf(seen(key, "commitTurn")[0])).toBe("call_1-x");
  expect(idOf(seen(key, "assemble")[3])).toBe("call1x");
  expect(conversationOf(answered).at(-1)?.tool_call_id).toBe("call1x");
});

test("each request begins with the last, except for the note", async () => {
  const turns = [
    [readA, readB, call("probe_note", { word: "x" }), { text: "one" }],
    [readB, { text: "two" }],
  ];
  const requests = (await play("agent:main:plain-prefix", ...turns)).flat();
  const inFull = requests.map(({ tools, messages }) => [tools, ...messages]);
  for (const [at, before] of inFull.slice(0, -1).entries()) {
    expect(textOf(before.at(-1) as WireMessage), `the end of request ${at}`).toMatch(/^<<<BEGIN_OPENCLAW_INTERNAL/);
    expect(inFull[at + 1].slice(0, before.length - 1), `request ${at + 1}`).toEqual(before.slice(0, -1));
  }
});

test("the last breakpoint precedes that note (Anthropic)", async () => {
  claude.play(readA, { text: "one" });
  const turn = { sessionKey: "agent:main:plain-claude", message: "turn 1", params: { model: "claude/claude-1" } };
  expect(await gateway.agent(turn)).toMatchObject({ status: "ok", text: "one" });
  const { system, messages } = anthropic.bodies[1] as Record<"system" | "messages", { content: unknown }[]>;
  const marked = (messages as { content: object[] }[]).map(({ content }) =>
    JSON.stringify(content).includes("cache_control"),
  );
  expect(marked).toEqual([true, false, true, false]);
  expect(JSON.stringify(messages.at(-1))).toContain("<<<BEGIN_OPENCLAW_INTERNAL");
  expect(JSON.stringify(messages.at(-2))).toContain("alpha");
  expect(system.map((block) => "cache_control" in block)).toEqual([true, false]);
});

test("an aborted turn is not committed, but is in the history", async () => {
  const key = "agent:main:plain-abort";
  const running = gateway.waitFor(
    ({ payload }) => payload.sessionKey === key && payload.stream === "tool" && payload.data.name === "exec",
  );
  model.play(readA, call("exec", { command: "sleep 60" }));
  const turn = gateway.agent({ sessionKey: key, message: "turn 1" });
  await running;
  await gateway.call("chat.abort", { sessionKey: key });
  expect((await turn).status).not.toBe("ok");
  expect(seen(key, "commitTurn")).toEqual([]);
  const [[after]] = await play(key, [{ text: "two" }]);
  const [, read, alpha, exec, missing] = lines(after);
  expect([read, alpha]).toEqual(['assistant: read {"path":"a.txt"}', "tool: alpha\n"]);
  expect(exec).toMatch(/^assistant: exec /);
  expect(missing).toMatch(/missing tool result/);
});

test("a plugin's command is answered, and /new clears history", async () => {
  const key = "agent:main:plain-commands";
  await play(key, [{ text: "one" }]);
  expect(await gateway.chat("/probe", { sessionKey: key })).toMatchObject({
    state: "final",
    text: "the probe is there",
  });
  expect((await gateway.chat("/new", { sessionKey: key })).text).toContain("New session started");
  const [[after]] = await play(key, [{ text: "two" }]);
  // What the person typed is the new history's first message.
  expect(lines(after).map((line) => line.split("\n")[0])).toEqual([
    expect.stringMatching(/^user: \[.*\] \/new$/),
    expect.stringMatching(/^user: \[.*\] turn 1$/),
  ]);
});

test("several copies of the entry all know the original folder", async () => {
  const copies = recordsOf<Seen>(sandbox, "records").filter(({ event }) => event === "register");
  expect(new Set(copies.map(({ url }) => url)).size).toBeGreaterThan(1);
  expect(new Set(copies.map(({ rootDir }) => rootDir))).toEqual(new Set([probe]));
});

test("after a kill the next turn continues from what was done", async () => {
  const key = "agent:main:plain-kill";
  await play(key, [{ text: "one" }]);
  const asked = Promise.withResolvers<void>();
  model.play(readA, () => {
    asked.resolve();
    return new Promise(() => {});
  });
  const broken = gateway.agent({ sessionKey: key, message: "killed" }).catch((error: Error) => error.message);
  await asked.promise;
  expect(await gateway.kill("SIGKILL")).toMatchObject({ signal: "SIGKILL" });
  expect(await broken).toMatch(/connection/);

  gateway = await startGateway(sandbox);
  const [[after]] = await play(key, [{ text: "two" }]);
  const [, one, killed, ...rest] = lines(after);
  expect([one, killed]).toEqual(["assistant: one", expect.stringMatching(/^user: \[.*\] killed$/)]);
  expect(rest.slice(0, 2)).toEqual(['assistant: read {"path":"a.txt"}', "tool: alpha\n"]);
  await gateway.stop();

  const since = fromNow(model);
  model.play({ text: "three" });
  const local = await runLocal(sandbox, { sessionKey: key, message: "without" });
  expect(local, local.stderr).toMatchObject({ code: 0, answer: { payloads: [{ text: "three" }] } });
  expect(lines(since()[0]).slice(1, -2)).toEqual(lines(after).slice(1));
});
