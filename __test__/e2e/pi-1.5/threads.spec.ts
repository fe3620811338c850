// Anthropic's message threads in the real Pi 1.5: while nothing changes in the middle, each request brings only what is new. Our
// requests continue the thread throughout an epoch, with our breakpoint in them, and what the server then has is what went out.
import { describe, expect, test } from "vitest";
import { runPi, startPiRpc } from "../../../scripts/lib/pi.js";
import { extension, ledgerOf, numbered } from "../support.ts";
import { type Answer, type Json, type Request, startThreads } from "./thread-server.ts";

/** Longer than the least that is worth a breakpoint. */
const prompt = `Go on. ${"Words of a person. ".repeat(300)}`;
const bash = (command: string): Answer => ({ tool: "bash", args: { command } });
const output = (name: string, lines: number) =>
  bash(`for i in $(seq 1 ${lines}); do echo "${name} case $i is as it was, with some words"; done`);
const read: Answer = { tool: "read", args: { path: "a.txt" } };
const done: Answer = { text: "Done." };
const files = { "a.txt": numbered("a") };

const args = ["-e", extension];
const oauth = "sk-ant-oat01-made-up";

const kinds = (requests: Request[]) => requests.map(({ kind }) => kind);

/** Messages without breakpoints, which may move. */
function words(messages: unknown): unknown {
  return JSON.parse(
    JSON.stringify(messages, (name, value) => {
      if (name === "cache_control") {
        return undefined;
      }
      return name === "content" && typeof value === "string" ? [{ type: "text", text: value }] : value;
    }),
  );
}

/** Number of breakpoints of a value. */
function breakpoints(value: unknown): number {
  if (typeof value !== "object" || value === null) {
    return 0;
  }
  const own = "cache_control" in value ? 1 : 0;
  return Object.values(value).reduce((sum: number, inner) => sum + breakpoints(inner), own);
}

const person = (body: Json) => (body.messages as Json[])[0];

describe.each([
  ["an API key", "sk-ant-api"],
  ["an OAuth token", oauth],
])("with %s", (_, apiKey) => {
  test("every request after the first continues the thread", async () => {
    const change = bash("sed -i 's/line 7 of a/LINE SEVEN/' a.txt");
    const turns = [
      [read, output("first", 200), bash("true"), output("first", 200), done],
      [change, read, done],
      [done],
    ];
    const { requests, sandbox } = await startThreads(turns.flat(), { apiKey, files });
    const pi = startPiRpc(sandbox, args);
    for (const turn of turns.keys()) {
      await pi.prompt(`${prompt} Turn ${turn}.`);
    }
    expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });
    expect(kinds(requests)).toEqual(["create", ...Array(8).fill("continue")]);
    const last = JSON.stringify(requests.at(-1)?.messages);
    expect(last).toContain("[f1] a.txt changed on disk after t1");
    expect(last).toContain("lines as in t2:");
  });

  test("only an epoch sends everything, then the thread continues", async () => {
    // Files are shown whole, and fill the window.
    const names = Array.from({ length: 15 }, (_, n) => `part${n}.txt`);
    const line = (name: string, at: number) => `line ${at} of ${name}, with some words that take room\n`;
    const parts = names.map((name) => [name, Array.from({ length: 230 }, (_, at) => line(name, at)).join("")]);
    const script: Answer[] = [...names.map((path) => ({ tool: "read", args: { path } })), done];
    const options = { apiKey, files: Object.fromEntries(parts), model: { contextWindow: 50_000 } };
    const { requests, sandbox } = await startThreads(script, options);
    expect(await runPi(sandbox, [...args, "-p", prompt])).toMatchObject({ code: 0, stdout: "Done.\n", stderr: "" });
    const { perCall, epochs } = ledgerOf(sandbox);
    expect(perCall).toHaveLength(16);
    expect(epochs.length).toBeGreaterThan(0);
    expect(epochs.length).toBeLessThan(6);
    const isFull = new Set([1, ...epochs.map(({ call }) => call)]);
    expect(kinds(requests)).toEqual(perCall.map(({ number }) => (isFull.has(number) ? "create" : "continue")));
    for (const { body, messages } of requests.filter(({ kind }) => kind === "create")) {
      expect(breakpoints(person(body))).toBe(1);
      expect(breakpoints(body)).toBeLessThanOrEqual(4);
      expect(messages).toEqual(body.messages);
    }
  });
});

test("the server's thread equals what is sent without threads", async () => {
  const script = [read, output("first", 200), read, bash("echo x >> a.txt"), output("first", 200), done];
  const run = async (supportsMessageThreads: boolean) => {
    const { requests, sandbox } = await startThreads(script, { files, model: { compat: { supportsMessageThreads } } });
    expect(await runPi(sandbox, [...args, "-p", prompt])).toMatchObject({ code: 0, stderr: "" });
    const said = JSON.stringify(requests.map(({ messages }) => words(messages))).replaceAll(sandbox.dir, "<sandbox>");
    return { kinds: kinds(requests), said: JSON.parse(said) as unknown };
  };
  const [threads, whole] = [await run(true), await run(false)];
  expect(threads.kinds).toEqual(["create", ...Array(5).fill("continue")]);
  expect(whole.kinds).toEqual(Array(6).fill(undefined));
  expect(threads.said).toEqual(whole.said);
});

test("a thread that the server lost is sent again, in one call", async () => {
  const { requests, sandbox, forget } = await startThreads([read, done, read, done], { files });
  const pi = startPiRpc(sandbox, args);
  await pi.prompt(prompt);
  forget();
  await pi.prompt("And again.");
  expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });
  expect(kinds(requests)).toEqual(["create", "continue", "continue", "create", "continue"]);
  expect(requests[2].messages).toBeUndefined();
  expect(ledgerOf(sandbox).perCall).toHaveLength(4);
});
