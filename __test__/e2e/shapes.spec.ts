// Tools of other extensions that do not answer in one text block, with the real Pi and beside plain Pi: one answers in three
// blocks, as MCP tools do, one with a string, in the place of which Pi sends an error, one with nothing, and one takes the
// place of `bash`.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openStore } from "../../index.js";
import { runPi, type Sandbox } from "../../scripts/lib/pi.js";
import type { Step } from "../../scripts/lib/scripted-model.js";
import { useModel } from "./providers.ts";
import { expectPairedCalls, extension, start } from "./support.ts";

const tools = `
const lines = (name, n) => Array.from({ length: 60 }, (_, at) => \`\${name} \${n}: line \${at} of some words\`).join("\\n");
const image = { type: "image", data: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", mimeType: "image/png" };
const answers = {
  look_up: (n) => ({
    content: [
      { type: "text", text: lines("title", n) },
      { type: "text", text: lines("body", n), annotations: { audience: ["user"] } },
      { type: "text", text: lines("end", n) },
    ],
    details: { server: "x" },
    structuredContent: { n },
  }),
  photograph: (n) => ({ content: [{ type: "text", text: lines("photo", n) }, image], details: undefined }),
  say: (n) => ({ content: lines("said", n), details: undefined }),
  bash: (n) => ({ content: lines("ran", n), details: undefined }),
  nothing: () => ({ details: undefined }),
};
const parameters = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
export default function (pi) {
  for (const [name, answer] of Object.entries(answers)) {
    pi.registerTool({ name, label: name, description: name, parameters, execute: async (_id, { n }) => answer(n) });
  }
}
`;

const early = Array.from({ length: 10 }, () => "look_up");
const names = [
  ...early,
  "look_up",
  "photograph",
  "say",
  "bash",
  "nothing",
  "look_up",
  "look_up",
  "say",
  "look_up",
  "look_up",
];
const steps: Step[] = [...names.map((name, n) => ({ calls: [{ name, args: { n } }] })), { text: "ok" }];

/** Runs a script. `prepare` may change the sandbox before Pi starts. */
async function run(
  script: Step[],
  withPalimpsest: boolean,
  previewTokens = 0,
  prepare: (sandbox: Sandbox, baseUrl: string) => void = () => {},
) {
  const { model, sandbox } = await start(script);
  prepare(sandbox, model.baseUrl);
  const path = join(sandbox.dir, "tools.ts");
  writeFileSync(path, tools);
  const settings = { keepResults: 2, collapseTokens: 100, prices: "none", previewTokens, extraShare: 1 };
  writeFileSync(join(sandbox.agentDir, "palimpsest.json"), JSON.stringify(settings));
  const loaded = withPalimpsest ? [path, extension] : [path];
  const finished = await runPi(sandbox, [...loaded.flatMap((name) => ["-e", name]), "-p", "go"]);
  expect(finished).toMatchObject({ code: 0, stdout: "ok\n", stderr: "" });
  expect(model.errors).toEqual([]);
  return { model, sandbox };
}

test("results of any shape match plain Pi until they collapse", async () => {
  const plain = await run(steps, false);
  const { model, sandbox } = await run(steps, true);
  expectPairedCalls(model);
  const results = (of: typeof model, request: number) => {
    const answers = of.requests[request].body.messages.filter(({ role }) => role === "tool");
    return answers.map(({ tool_call_id: call, content }) => ({ call: String(call), text: String(content) }));
  };
  const calls = names.map((_, n) => `call_${n}_0`);
  for (let request = 1; request < steps.length; request++) {
    const [ours, theirs] = [results(model, request), results(plain.model, request)];
    expect(ours.at(-1)).toEqual(theirs.at(-1));
    for (const { call, text } of ours) {
      const given = theirs.find((result) => result.call === call)?.text;
      expect(text === given || text.startsWith(`[t${calls.indexOf(call) + 1}] `), text).toBe(true);
    }
  }
  const last = results(model, steps.length - 1);
  expect(last.find(({ call }) => call === calls[15])?.text).toBe(
    '[t16] ok · 180 lines · last: "end 15: line 59 of some words"',
  );
  const said = JSON.stringify(model.requests[steps.length - 1].body.messages.filter(({ role }) => role === "user"));
  expect(said).toMatch(/\[t1-t\d+\] s\d+ · \d+ steps: /);
  const size = (of: typeof model) => JSON.stringify(of.requests[steps.length - 1].body.messages).length;
  expect(size(model)).toBeLessThan(size(plain.model) / 2);

  const store = await openStore({ path: join(sandbox.agentDir, "palimpsest", "store.sqlite") });
  for (let call = 1; call <= steps.length; call++) {
    expect(await store.recordedCall("latest", { call })).toMatchObject({ verified: true });
  }
  await store.close();
});

test("a long result in three blocks is first shown in part", async () => {
  const first = steps.slice(0, 1);
  const { model } = await run([...first, { text: "ok" }], true, 1_000);
  const shown = String(model.requests[1].body.messages.at(-1)?.content);
  expect(shown).toMatch(/^title 0: line 0 of some words\n/);
  expect(shown).toMatch(/\n… \d+ lines between \(t1:\d+-\d+\) …\n/);
  expect(shown).toMatch(/\nend 0: line 59 of some words$/);
});

test("the text of three blocks comes back whole", async () => {
  const activate: Step[] = [{ calls: [{ name: "activate", args: { name: "t1" } }] }, { text: "ok" }];
  const { model } = await run([...steps.slice(0, -1), ...activate], true);
  const given = model.requests[1].body.messages.at(-1)?.content;
  const answer = model.requests.at(-1)?.body.messages.at(-1)?.content;
  expect(answer).toBe(`[t1] look_up · lines 1-180 of 180\n${given}`);
});

test("activate brings back a collapsed image with its text", async () => {
  const takesImages = (sandbox: Sandbox, baseUrl: string) => {
    const models = [{ id: "sees", contextWindow: 1_000_000, maxTokens: 8_000, input: ["text", "image"] }];
    useModel(sandbox, { baseUrl, api: "openai-completions", apiKey: "k", models });
  };
  const script: Step[] = [
    { calls: [{ name: "photograph", args: { n: 0 } }] },
    ...[1, 2, 3].map((n) => ({ calls: [{ name: "look_up", args: { n } }] })),
    { calls: [{ name: "activate", args: { name: "t1" } }] },
    { text: "ok" },
  ];
  const { model } = await run(script, true, 0, takesImages);
  const images = model.requests.map(
    ({ body }) => JSON.stringify(body.messages).split('"image_url":{"url":"data:image/png;base64,').length - 1,
  );
  expect(images).toEqual([0, 1, 1, 0, 0, 1]);
  const texts = (request: number) =>
    model.requests[request].body.messages.filter(({ role }) => role === "tool").map(({ content }) => String(content));
  const [photo] = texts(1);
  expect(texts(4)[0]).toBe('[t1] ok · 60 lines · 1 image · last: "photo 0: line 59 of some words"');
  expect(texts(5).at(-1)).toBe(`[t1] photograph · 1 image · lines 1-60 of 60\n${photo}`);
});
