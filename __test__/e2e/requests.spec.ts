// The real Pi against servers that speak providers' own protocols: where cache breakpoints stand in the bodies that these
// receive, and what is recorded of the bodies.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openStore } from "../../index.js";
import { runPi, type Sandbox } from "../../scripts/lib/pi.js";
import { type Answer, startProvider, useModel } from "./providers.ts";
import { extension, start, toolNames } from "./support.ts";

type Json = Record<string, unknown>;

/** Longer than the least that is worth a breakpoint. */
const prompt = `Read a.txt. ${"Words of a person. ".repeat(300)}`;
const script: Answer[] = [
  { tool: "read", args: { path: "a.txt" } },
  { tool: "bash", args: { command: "echo made" } },
  { text: "done" },
];
const files = { "a.txt": "one\ntwo\n" };
const args = ["-e", extension, "-p", prompt];

/** The paths of all cache breakpoints of a body. */
function breakpoints(value: unknown, path = ""): string[] {
  if (typeof value !== "object" || value === null) {
    return [];
  }
  return Object.entries(value).flatMap(([name, inner]) =>
    name === "cache_control" || name === "cachePoint" ? [path] : breakpoints(inner, `${path}/${name}`),
  );
}

const isFirstMessage = (path: string) => path.startsWith("/messages/0/");

/** A body as its prefix counts: without breakpoints. */
function words(body: unknown): unknown {
  return JSON.parse(JSON.stringify(body, (name, value) => (name === "cache_control" ? undefined : value)));
}

/** The records of requests in the sandbox's store. */
async function records(sandbox: Sandbox): Promise<Json[]> {
  const store = await openStore({ path: join(sandbox.agentDir, "palimpsest", "store.sqlite") });
  const [{ id }] = await store.sessions();
  const events = (await store.items(id)).map((event) => JSON.parse(event));
  await store.close();
  return events.filter(({ event }) => event === "payload");
}

describe("Anthropic's messages", () => {
  test("get a fourth breakpoint on the user's words by API key", async () => {
    const { bodies, sandbox } = await startProvider("anthropic", script, {
      id: "claude-x",
      apiKey: "sk-ant-api",
      files,
    });
    const { code, stderr } = await runPi(sandbox, args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(bodies).toHaveLength(3);
    expect(breakpoints(bodies[0])).toHaveLength(3);
    for (const body of bodies.slice(1)) {
      const found = breakpoints(body);
      expect(found).toHaveLength(4);
      expect(found.filter(isFirstMessage)).toEqual(["/messages/0/content/0"]);
      expect(found).toContain("/system/0");
    }
    const [{ messages: first }, { messages: second }] = [words(bodies[1]), words(bodies[2])] as { messages: Json[] }[];
    expect(second.slice(0, first.length)).toEqual(first);
    expect(await records(sandbox)).toMatchObject([1, 2, 3].map((call) => ({ call, hash: expect.any(String) })));
  });

  test("with an OAuth token get that of the identity, never a fifth", async () => {
    const { bodies, sandbox } = await startProvider("anthropic", script, {
      id: "claude-x",
      apiKey: "sk-ant-oat01",
      files,
    });
    await runPi(sandbox, args);
    for (const [n, body] of bodies.entries()) {
      const found = breakpoints(body);
      // The first one has Pi's own on the person's words.
      expect(found).toHaveLength(n === 0 ? 3 : 4);
      // A message thread goes on only if the system blocks are the same.
      expect(found.filter((path) => path.startsWith("/system"))).toEqual(["/system/1"]);
      expect(found.filter(isFirstMessage)).toEqual(["/messages/0/content/0"]);
    }
  });

  test("differ from Pi's own only in the breakpoint", async () => {
    const alone = `import { appendFileSync } from "node:fs";
      export default (pi) => pi.on("before_provider_request", ({ payload }) => {
        appendFileSync(process.env.SEEN, JSON.stringify(payload) + "\\n");
      });`;
    const { bodies, sandbox } = await startProvider("anthropic", script, { id: "claude-x", apiKey: "k", files });
    const before = join(sandbox.dir, "before.ts");
    writeFileSync(before, alone);
    const seen = join(sandbox.dir, "seen.jsonl");
    await runPi(sandbox, ["-e", before, ...args], { env: { SEEN: seen } });
    const payloads = readFileSync(seen, "utf8").trim().split("\n");
    expect(payloads).toHaveLength(3);
    for (const [n, payload] of payloads.entries()) {
      const { betas: _, ...body } = JSON.parse(payload);
      expect(words(bodies[n])).toEqual(words(body));
    }
    const added = breakpoints(bodies[1]).filter((path) => !breakpoints(JSON.parse(payloads[1])).includes(path));
    expect(added).toEqual(["/messages/0/content/0"]);
  });
});

test("Bedrock gets a cache point after the user's words", async () => {
  const id = "anthropic.claude-sonnet-4-5-20250929-v1:0";
  const { bodies, sandbox } = await startProvider("bedrock", script, { id, apiKey: "token", files });
  const env = { AWS_BEDROCK_FORCE_HTTP1: "1" };
  const { code, stderr } = await runPi(sandbox, args, { env });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(breakpoints(bodies[0])).toHaveLength(2);
  for (const body of bodies.slice(1)) {
    expect(breakpoints(body)).toHaveLength(3);
    const [{ content }] = body.messages as { content: Json[] }[];
    expect(content.map((block) => Object.keys(block))).toEqual([["text"], ["cachePoint"]]);
  }
});

describe("OpenAI's completions", () => {
  const steps = [
    { calls: [{ name: "read", args: { path: "a.txt" } }] },
    { calls: [{ name: "bash", args: { command: "echo made" } }] },
    { text: "done" },
  ];

  test("for Anthropic's models get a fourth breakpoint", async () => {
    const { model, sandbox } = await start(steps, { files });
    const compat = { cacheControlFormat: "anthropic" };
    const models = [{ id: "anthropic/claude-x", contextWindow: 1_000_000, maxTokens: 8_000, compat }];
    useModel(sandbox, { baseUrl: model.baseUrl, api: "openai-completions", apiKey: "k", models });
    await runPi(sandbox, args);
    expect(model.requests).toHaveLength(3);
    expect(breakpoints(model.requests[0].body)).toHaveLength(3);
    for (const { body } of model.requests.slice(1)) {
      const found = breakpoints(body);
      expect(found).toHaveLength(4);
      expect(found).toContain("/messages/1/content/0");
    }
  });

  test("say what the store tells of each call afterwards", async () => {
    const { model, sandbox } = await start(steps, { files });
    await runPi(sandbox, args);
    const store = await openStore({ path: join(sandbox.agentDir, "palimpsest", "store.sqlite") });
    for (const { n, body } of model.requests) {
      const call = await store.recordedCall("latest", { call: n + 1 });
      const texts = (content: unknown) =>
        typeof content === "string" ? content : (content as { text: string }[]).map(({ text }) => text).join("\n");
      const said = call.messages.map((message) => JSON.parse(message)).filter(({ role }) => role !== "assistant");
      const received = body.messages.filter(({ role }) => role === "user" || role === "tool");
      expect(said.map(({ content }) => texts(content))).toEqual(received.map(({ content }) => texts(content)));
      expect(call).toMatchObject({
        verified: true,
        model: "scripted/scripted-1",
        systemPrompt: body.messages[0].content,
      });
      const names = (call.tools as { name: string }[]).map(({ name }) => name);
      expect(names).toEqual(toolNames(body));
    }
    await store.close();
  });

  test("for others get none", async () => {
    const { model, sandbox } = await start(steps, { files });
    await runPi(sandbox, args);
    expect(model.requests.map(({ body }) => breakpoints(body))).toEqual([[], [], []]);
  });

  /** Another extension, which redacts what `read` said when an event comes. */
  const redacting = (sandbox: Sandbox, event: string) => {
    const path = join(sandbox.dir, "other.ts");
    writeFileSync(
      path,
      `export default (pi) => pi.on("${event}", ({ messages }) => ({
        messages: messages.map((m) => m.role === "toolResult" && m.toolName === "read"
          ? { ...m, content: [{ type: "text", text: "redacted by another" }] } : m),
      }));`,
    );
    return ["-e", path];
  };

  test("are recorded as sent after another extension's changes", async () => {
    const { model, sandbox } = await start(steps, { files });
    const other = redacting(sandbox, "context_with_system");
    const { code } = await runPi(sandbox, ["-e", extension, ...other, "-p", prompt]);
    expect(code).toBe(0);
    const found = await records(sandbox);
    expect(found.map(({ call }) => call)).toEqual([1, 2, 3]);
    expect(found[0].edits).toBeUndefined();
    expect(JSON.stringify(found[1].edits)).toContain("redacted by another");
    const inserted = (found[2].edits as { insert: { message: string }[] }[]).flatMap(({ insert }) => insert);
    expect(inserted.map(({ message }) => JSON.parse(message))).toEqual(model.requests[2].body.messages.slice(4));
  });

  test("that another extension changes are taken as changed", async () => {
    for (const isFirst of [true, false]) {
      const { model, sandbox } = await start(steps, { files });
      const other = redacting(sandbox, "context");
      const loaded = isFirst ? [...other, "-e", extension] : ["-e", extension, ...other];
      expect(await runPi(sandbox, [...loaded, "-p", prompt])).toMatchObject({ code: 0, stderr: "" });
      expect(JSON.stringify(model.requests[2].body)).toContain("redacted by another");
      expect((await records(sandbox)).map(({ edits }) => edits)).toEqual([undefined, undefined, undefined]);
      const store = await openStore({ path: join(sandbox.agentDir, "palimpsest", "store.sqlite") });
      expect(await store.recordedCall("latest", { call: 3 })).toMatchObject({ verified: true });
      const { hits } = await store.search("redacted", { types: ["toolcall"] });
      expect(hits).toHaveLength(1);
      await store.close();
    }
  });
});
