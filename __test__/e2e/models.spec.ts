// What models and their protocols ask of a list: the same session on models of other providers, thinking that is bound to its place,
// items named by their place, replies that a request continues from, and roles that take turns.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createSandbox, type Sandbox, startPiRpc } from "../../scripts/lib/pi.js";
import { startScriptedModel } from "../../scripts/lib/scripted-model.js";
import { type CodexRequest, startCodex } from "./codex-server.ts";
import { serve } from "./providers.ts";
import { extension, numbered } from "./support.ts";
import {
  collapsing,
  expectAllFaithful,
  expectRecorded,
  loaded,
  obedient,
  said,
  sent,
  standing,
  type Wire,
  wires,
  withAndWithout,
} from "./wires.ts";

const timeout = 120_000;
const files = Object.fromEntries([..."abcdef"].map((name) => [`${name}.txt`, numbered(name)]));
/** Content leaves a warm cache as soon as that pays. */
const paying = { previewTokens: 0, prices: "anthropic", keepResults: 1, collapseTokens: 50, extraShare: 1 };

async function prompts(sandbox: Sandbox, args: string[], all: string[]): Promise<void> {
  const pi = startPiRpc(sandbox, args, { deadlineMs: timeout });
  for (const prompt of all) {
    await pi.prompt(prompt);
  }
  expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });
  expect(pi.records.filter((record) => record.type === "extension_error")).toEqual([]);
}

/** A run of steps with outputs that are no other's. */
const run = (name: string, from: number, steps = 16) =>
  `do [${name}] ${Array.from({ length: steps }, (_, at) => `bash seq ${(from + at) * 1_000} ${(from + at) * 1_000 + 400}`).join("; ")}`;

/** Whether a request has all messages of the one before it, as they were. */
function continues(body: Record<string, unknown>, n: number, all: Record<string, unknown>[]): boolean {
  const before = sent(all[Math.max(n - 1, 0)]);
  return JSON.stringify(sent(body).slice(0, before.length)) === JSON.stringify(before);
}

test.each([standing, collapsing])(
  "one session on three providers' models, prices: $prices",
  { timeout },
  async (palimpsest) => {
    const play = async (args: string[]) => {
      const script = obedient();
      const answer = typeof script === "function" ? script : () => ({ text: "" });
      const bodies: Record<string, unknown>[] = [];
      const take = (request: { n: number; body: object }) => {
        const body = request.body as Record<string, unknown>;
        bodies.push(body);
        return answer({ n: bodies.length, body });
      };
      const openai = await startScriptedModel(take);
      const [claude, gpt] = [await serve("anthropic", take), await serve("responses", take)];
      const sandbox = createSandbox({ baseUrl: openai.baseUrl, files, palimpsest });
      const provider = (baseUrl: string, api: string, id: string) => ({
        baseUrl,
        api,
        apiKey: "key",
        models: [{ id, contextWindow: 1_000_000, maxTokens: 8_000, reasoning: true }],
      });
      const providers = {
        scripted: provider(openai.baseUrl, "openai-completions", "scripted-1"),
        claude: provider(claude.baseUrl, "anthropic-messages", "claude-x"),
        gpt: provider(gpt.baseUrl, "openai-responses", "gpt-x"),
      };
      writeFileSync(join(sandbox.agentDir, "models.json"), JSON.stringify({ providers }));
      const pi = startPiRpc(sandbox, args, { deadlineMs: timeout });
      const on = async (name: string, modelId: string, prompt: string) => {
        await pi.send({ type: "set_model", provider: name, modelId });
        await pi.prompt(prompt);
      };
      await on("scripted", "scripted-1", "do [one] read a.txt; bash seq 1 300");
      await on("claude", "claude-x", "do [two] read b.txt & bash seq 300 600; read a.txt");
      await on("gpt", "gpt-x", "do [three] read c.txt; bash seq 1 300");
      await on("scripted", "scripted-1", "do [four] read d.txt; read b.txt");
      await pi.send({ type: "set_thinking_level", level: "high" });
      await on("claude", "claude-x", "do [five] read e.txt; read a.txt");
      expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });
      await openai.close();
      return { bodies, sandbox };
    };
    const plain = await play([]);
    const ours = await play(["-e", extension]);
    expectAllFaithful(plain.bodies, ours.bodies);
    await expectRecorded(ours.sandbox);
    plain.sandbox.remove();
    ours.sandbox.remove();
  },
);

describe("within a turn nothing is written anew", { timeout }, () => {
  const injecting = `export default (pi) => pi.on("before_agent_start", () =>
    ({ message: { customType: "plan", content: "Mind the plan.", display: true } }));`;
  const bound = [
    { wire: "anthropic", id: "claude-opus-5", name: "where thinking is bound to its place" },
    { wire: "responses", id: "gpt-x", name: "where items are named by their place" },
  ] as const;

  test.each(bound)("$name", async ({ wire, id }) => {
    const play = (sandbox: Sandbox, args: string[]) =>
      prompts(
        sandbox,
        [...args, ...loaded(sandbox, "injecting", injecting)],
        [run("one", 1), run("two", 40), run("three", 80, 3)],
      );
    const { plain, ours } = await withAndWithout(wire, obedient, play, { files, palimpsest: paying, model: { id } });
    const isFirst = (body: Record<string, unknown>) => said(body).at(-1)?.role === "user";
    const anew = ours.flatMap((body, n, all) => (continues(body, n, all) ? [] : [isFirst(body)]));
    expect(anew.length).toBeGreaterThan(0);
    expect(anew.every((first) => first)).toBe(true);
    expectAllFaithful(plain, ours);
  });

  test("but elsewhere content leaves as soon as that pays", async () => {
    const play = (sandbox: Sandbox, args: string[]) => prompts(sandbox, args, [run("one", 1)]);
    const { ours } = await withAndWithout("anthropic", obedient, play, { files, palimpsest: paying });
    expect(ours.map(continues)).toContain(false);
  });
});

describe("Codex over its WebSocket", { timeout }, () => {
  const play = async (args: string[], palimpsest: Record<string, unknown>) => {
    const { requests, sandbox } = await startCodex(obedient(), { files, palimpsest });
    const all = ["do [one] read a.txt; bash seq 1 300; read a.txt", run("two", 1), "do [three] read b.txt; read a.txt"];
    await prompts(sandbox, args, all);
    return { requests, sandbox };
  };

  const body = ({ body }: CodexRequest) => body;

  test("every request continues the last reply, as in plain Pi", async () => {
    const plain = await play([], standing);
    const ours = await play(["-e", extension], standing);
    expect(plain.requests.map(({ continues }) => continues)).toEqual(plain.requests.map((_, n) => n > 0));
    expect(ours.requests.map(({ continues }) => continues)).toEqual(plain.requests.map((_, n) => n > 0));
    expectAllFaithful(plain.requests.map(body), ours.requests.map(body));
  });

  test("an epoch sends everything once, then replies continue", async () => {
    const plain = await play([], paying);
    const ours = await play(["-e", extension], paying);
    expectAllFaithful(plain.requests.map(body), ours.requests.map(body));
    const whole = ours.requests.flatMap(({ continues }, n) => (continues ? [] : [n]));
    expect(whole.length).toBeGreaterThan(1);
    expect(whole.length).toBeLessThan(4);
    await expectRecorded(ours.sandbox);
  });
});

test.each(wires)("roles take turns wherever they do in plain Pi: %s", { timeout }, async (wire: Wire) => {
  const all = [
    "do [one] read a.txt; bash seq 1 300",
    run("two", 1),
    "do [three] read b.txt & read c.txt; read a.txt",
    run("four", 40),
  ];
  const play = (sandbox: Sandbox, args: string[]) => prompts(sandbox, args, all);
  const { ours } = await withAndWithout(wire, obedient, play, { files, palimpsest: collapsing });
  for (const message of ours) {
    // A list of results is what a model's next message answers.
    const roles = sent(message).map(({ role }) => (role === "tool" ? "user" : role));
    const turns =
      wire === "anthropic" ? roles : roles.filter((role, at) => role !== "user" || roles[at - 1] !== "user");
    expect(turns).toEqual(turns.map((_, at) => (at % 2 === 0 ? "user" : "assistant")));
  }
  // A user's message never follows a tool's result: some templates do not take that.
  const after = ours.flatMap((message) =>
    sent(message).filter(({ role }, at, list) => role === "user" && list[at - 1]?.role === "tool"),
  );
  expect(after).toEqual([]);
});
