// One script, several wire formats, with and without Palimpsest: what a model sees of a request, and whether that is what plain Pi
// would have shown it, but for lines of ours that stand for content.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { openStore, tools } from "../../index.js";
import type { createSandbox, Sandbox } from "../../scripts/lib/pi.js";
import type { Step } from "../../scripts/lib/scripted-model.js";
import { isEverything } from "../../scripts/lib/tiers.js";
import { startProvider, useModel } from "./providers.ts";
import { extension, numbered, start } from "./support.ts";

type Json = Record<string, unknown>;

/** What a model speaks: OpenAI's completions, OpenAI's Responses, Anthropic's messages. */
export type Wire = "openai" | "responses" | "anthropic";

/** The formats that most ways are tried in. */
export const wires: Wire[] = ["openai", "anthropic"];

/** Formats with settings: each format with one of its own, in a run of everything with each. */
export function paired<T extends object>(settings: readonly T[]): (T & { wire: Wire })[] {
  return wires.flatMap((wire, row) =>
    settings.filter((_, column) => isEverything || row === column).map((each) => ({ wire, ...each })),
  );
}

export type WireScript = Step[] | ((request: { n: number; body: Json }) => Step | Promise<Step>);

export type WireOptions = Omit<Parameters<typeof createSandbox>[0], "baseUrl"> & {
  /** More of the model's data. */
  model?: Json;
};

/** What is said in a request, in its order. A call has its tool and arguments as text, a result that of its call. */
export interface Said {
  role: "system" | "user" | "assistant" | "call" | "result";
  text: string;
}

/** Settings under which nothing leaves, and under which everything leaves as soon as it may. */
export const standing = { previewTokens: 0, prices: "openai", collapseTokens: 100_000 };
export const collapsing = { previewTokens: 200, prices: "none", keepResults: 1, collapseTokens: 50 };

/** Files of a project that the ways read: `a.txt` to `h.txt`. */
export const files = Object.fromEntries([..."abcdefgh"].map((name) => [`${name}.txt`, numbered(name)]));

/** Starts a model that speaks a format, and a sandbox; both are gone when the test has finished. */
export async function startWire(wire: Wire, script: WireScript, { model: data, ...options }: WireOptions = {}) {
  if (wire === "openai") {
    const { model, sandbox } = await start(script as Parameters<typeof start>[0], options);
    if (data !== undefined) {
      const models = [{ id: "gpt-x", contextWindow: 1_000_000, maxTokens: 8_000, ...data }];
      const provider = { baseUrl: model.baseUrl, api: "openai-completions", apiKey: "none", models };
      useModel(sandbox, provider, options.settings);
    }
    return { bodies: () => model.requests.map(({ body }) => body as unknown as Json), sandbox };
  }
  const id = wire === "responses" ? "gpt-x" : "claude-x";
  const { bodies, sandbox } = await startProvider(wire, script, { id, apiKey: "key", model: data, ...options });
  return { bodies: () => bodies, sandbox };
}

/** Runs the same script with plain Pi and with Palimpsest; resolves to the requests of both, and to what `play` resolves to. */
export async function withAndWithout<T>(
  wire: Wire,
  script: () => WireScript,
  play: (sandbox: Sandbox, args: string[]) => Promise<T>,
  options: WireOptions = {},
) {
  const plain = await played(wire, script(), (sandbox) => play(sandbox, []), options);
  const ours = await played(wire, script(), (sandbox) => play(sandbox, ["-e", extension]), options);
  const results = { plain: plain.result, ours: ours.result };
  return { plain: plain.requests, ours: ours.requests, sandbox: ours.sandbox, results };
}

/** Runs a script; resolves to the requests, without the names of temporary folders, and to what `play` resolves to. */
export async function played<T>(
  wire: Wire,
  script: WireScript,
  play: (sandbox: Sandbox) => Promise<T>,
  options: WireOptions = {},
) {
  const { bodies, sandbox } = await startWire(wire, script, options);
  const result = await play(sandbox);
  const text = JSON.stringify(bodies()).replaceAll(sandbox.dir, "<sandbox>");
  const requests = JSON.parse(text.replace(/\/pi-(rg|bash)-\w+/g, "/pi-$1-x")) as Json[];
  return { requests, sandbox, result };
}

/** Writes an extension into a sandbox; returns the arguments that load it. */
export function loaded(sandbox: Sandbox, name: string, source: string): string[] {
  const path = join(sandbox.dir, `${name}.ts`);
  writeFileSync(path, source);
  return ["-e", path];
}

/** The messages of a request as they were sent, without the leading system prompt and without cache breakpoints. */
export function sent(body: Json): Json[] {
  const list = (body.messages ?? body.input ?? []) as Json[];
  const first = list.findIndex(({ role }) => role === "user" || role === "assistant");
  // Responses may get the first tools as an item behind the prompt.
  const messages = list.slice(Math.max(first, 0));
  return JSON.parse(JSON.stringify(messages, (name, value) => (name === "cache_control" ? undefined : value)));
}

/** What a request says to the model, whatever its format. */
export function said(body: Json): Said[] {
  const calls = new Map<string, number>();
  const call = (id: unknown, name: unknown, args: unknown): Said => {
    calls.set(String(id), calls.size);
    return { role: "call", text: `${name} ${typeof args === "string" ? args : JSON.stringify(args)}` };
  };
  const result = (id: unknown, content: unknown): Said => {
    expect([...calls.keys()], "a result without its call").toContain(String(id));
    return { role: "result", text: text(content) };
  };
  const blocks = (role: Said["role"], content: Json[] | string): Said[] => {
    const all = typeof content === "string" ? [{ type: "text", text: content }] : (content ?? []);
    const own = all.filter(({ type }) => type !== "tool_use" && type !== "tool_result");
    const results = all.filter(({ type }) => type === "tool_result").map((it) => result(it.tool_use_id, it.content));
    const made = all.filter(({ type }) => type === "tool_use").map((it) => call(it.id, it.name, it.input));
    return [...results, ...(own.length > 0 ? [{ role, text: text(own) }] : []), ...made];
  };
  return sent(body).flatMap((message): Said[] => {
    if (message.type === "function_call") {
      return [call(message.call_id, message.name, message.arguments)];
    }
    if (message.type === "function_call_output") {
      return [result(message.call_id, message.output)];
    }
    if (message.role === "tool") {
      return [result(message.tool_call_id, message.content)];
    }
    const role = message.role === "developer" ? "system" : (message.role as Said["role"]);
    if (role === "system") {
      return [{ role, text: withoutOurs(text(message.content)) }];
    }
    const made = ((message.tool_calls ?? []) as { id: string; function: Json }[]).map((it) =>
      call(it.id, it.function.name, it.function.arguments),
    );
    const content = (message.content ?? []) as Json[] | string;
    return message.type === "reasoning" ? [] : [...blocks(role, content), ...made];
  });
}

/** What stands in front of the conversation: the system prompt, without what it says of our tools. */
export function promptOf({ system, instructions, messages, input }: Json): string {
  const first = ((messages ?? input) as Json[]).find(
    ({ role, type }) => role !== "user" && type !== "additional_tools",
  );
  return withoutOurs(text(system ?? instructions ?? (first?.role === "assistant" ? "" : first?.content)));
}

const ourTools = tools();

/** A prompt without the lines about our tools, without our rules, and without memory. */
function withoutOurs(given: string): string {
  const prompt = given
    .replace(/\n*<memory>\nMemory that outlives sessions[\s\S]*?\n<\/memory>/, "")
    .replace(/\n\nMemory that outlives sessions[\s\S]*?(?=\n<\/memory>)/, "");
  const names = ourTools.map(({ name }) => name).join("|");
  const rules = new Set(ourTools.flatMap(({ promptGuidelines = [] }) => promptGuidelines.map((rule) => `- ${rule}`)));
  const lines = prompt.split("\n").filter((line) => !rules.has(line));
  return lines.filter((line) => !new RegExp(`^- (${names}): `).test(line)).join("\n");
}

/** Whether a request offers tools: Pi's own for a summary do not. */
export const hasTools = (body: Json): boolean =>
  /"name":"(bash|read)","(description|parameters)"/.test(JSON.stringify(body));

/** All text of a request's messages. */
export function allText(body: Json | undefined): string {
  return (body === undefined ? [] : said(body)).map(({ role, text }) => `${role}: ${text}`).join("\n");
}

/** The texts of blocks, an image as `[image]`. */
function text(content: unknown): string {
  if (typeof content === "string") {
    return content;
  }
  const blocks = (content ?? []) as { type: string; text?: string; thinking?: string }[];
  const isImage = ({ type }: { type: string }) => type.includes("image");
  return blocks.map((it) => (isImage(it) ? "[image]" : (it.text ?? it.thinking ?? ""))).join("\n");
}

/** What stands in place of an output, or of lines of it, that are in the store alone. */
const stored = /^\[t\d+\] |^… [\d,]+ lines? between \(t\d+:/m;
/** What says that its lines stand elsewhere in the same request. */
const elsewhere = /^f\d+ unchanged; lines? |^… [\d,]+ lines? as in t\d+/m;
const foldLine = /\[t\d+(-t\d+)?\] s\d+ · \d+ steps?: /;
const note = /^\[[fs]\d+\] /m;

/**
 * Asserts that a request says what plain Pi's says, in its order: all that the person said, word for word; each result whole, in
 * part, or as a line that stands for it, and what such a line says to stand elsewhere does; no step is missing but where a line
 * stands for it. Returns how many results are not whole, and how many steps' messages are missing.
 */
export function expectFaithful(plain: Json, ours: Json): { replaced: number; missing: number } {
  const [theirs, mine] = [said(plain), said(ours)];
  const standing = new Set(mine.flatMap(({ role, text }) => (role === "result" ? text.split("\n") : [])));
  const counts = { replaced: 0, missing: 0 };
  let at = 0;
  let carrier = "";
  for (const [index, message] of mine.entries()) {
    const missing = theirs.slice(at).findIndex((other) => says(message, other, standing));
    expect(missing, `${index}: plain Pi does not say ${JSON.stringify(message)}`).toBeGreaterThanOrEqual(0);
    const gone = theirs.slice(at, at + missing);
    const roles = new Set(gone.map(({ role }) => role));
    expect(roles.has("user") || roles.has("system"), `${index}: not said: ${JSON.stringify(gone)}`).toBe(false);
    if (missing > 0) {
      expect(carrier, `${index}: no line stands for ${JSON.stringify(gone)}`).toMatch(foldLine);
    }
    // A fold's line stands with the last words of the person before it, which may be followed by another extension's.
    if (message.role === "user") {
      carrier = mine[index - 1]?.role === "user" ? `${carrier}\n${message.text}` : message.text;
    }
    at += missing + 1;
    counts.missing += missing;
    counts.replaced += message.role === "result" && message.text !== theirs[at - 1].text ? 1 : 0;
  }
  expect(at, `the end is missing: ${JSON.stringify(theirs.slice(at))}`).toBe(theirs.length);
  return counts;
}

/** Whether a message of ours is plain Pi's, whole or with lines of ours in it. */
function says(ours: Said, theirs: Said, standing: Set<string>): boolean {
  if (ours.role !== theirs.role || ours.text === theirs.text) {
    return ours.role === theirs.role;
  }
  const added = ours.text.startsWith(theirs.text) && note.test(ours.text.slice(theirs.text.length));
  if (ours.role === "result" && !added) {
    const stands = elsewhere.test(ours.text) && theirs.text.split("\n").every((line) => standing.has(line));
    return stands || stored.test(ours.text);
  }
  // The output of a person's command stands between Pi's own words.
  if (ours.role === "user" && theirs.text.startsWith("Ran `") && stored.test(ours.text)) {
    return ours.text.split("\n")[0] === theirs.text.split("\n")[0];
  }
  return (
    added ||
    (ours.role === "user" && ours.text.includes(theirs.text) && (note.test(ours.text) || foldLine.test(ours.text)))
  );
}

/**
 * Asserts it of each request, and that there are as many; returns the most results that are not whole in one, and the most messages
 * that are missing.
 */
export function expectAllFaithful(plain: Json[], ours: Json[]): { replaced: number; missing: number } {
  expect(ours).toHaveLength(plain.length);
  const counts = plain.map((body, n) => expectFaithful(body, ours[n]));
  return {
    replaced: Math.max(...counts.map(({ replaced }) => replaced)),
    missing: Math.max(...counts.map(({ missing }) => missing)),
  };
}

/** Asserts that the store can show again what each call of each session had. */
export async function expectRecorded(sandbox: Sandbox): Promise<void> {
  const store = await openStore({ path: join(sandbox.agentDir, "palimpsest", "store.sqlite") });
  const sessions = await store.sessions();
  expect(sessions).not.toEqual([]);
  for (const { id, calls } of sessions) {
    for (let call = 1; call <= calls; call++) {
      expect(await store.recordedCall(id, { call }), `call ${call} of ${id}`).toMatchObject({ verified: true });
    }
  }
  await store.close();
}

/**
 * A model that does what the last prompt tells it, such as `do [a] read a.txt & bash seq 1 9; fail 500; break; hang; say Enough.`, and
 * then says that it is done. Each prompt needs a name of its own. Asked for a summary, it gives one. `hangs` is called when it does not
 * answer.
 */
export function obedient(hangs: () => void = () => {}): WireScript {
  const done = new Map<string, number>();
  return ({ body }) => {
    const orders = said(body).flatMap(({ role, text }) =>
      role === "user" ? [...text.matchAll(/^do \[(\w+)\] ?(.*)$/gm)] : [],
    );
    const [, name, list] = orders.at(-1) ?? [];
    if (!hasTools(body) || name === undefined) {
      return { text: "What happened so far: some commands ran." };
    }
    const at = done.get(name) ?? 0;
    done.set(name, at + 1);
    const command = list.split("; ")[at];
    if (command?.startsWith("say ")) {
      return { text: command.slice(4).replaceAll("\\n", "\n") };
    }
    if (command === "hang") {
      hangs();
      return new Promise(() => {});
    }
    if (command === "break") {
      return { text: "This answer breaks off", breaks: true };
    }
    if (command?.startsWith("fail ")) {
      const status = Number(command.slice(5));
      return { status, error: status === 400 ? "refused" : "overloaded" };
    }
    return command
      ? { thinking: `Next of ${name}.`, calls: command.split(" & ").map(toCall) }
      : { text: `Did ${name}.` };
  };
}

/** Such as `read a.txt`; several are joined by ` & `. */
function toCall(command: string): { name: string; args: object } {
  const [, name, rest] = /^(\S+) (.*)$/.exec(command) ?? [];
  if (name === "delegate") {
    return { name: "subagent", args: { agent: "scout", task: `\ndo ${rest.replaceAll(", ", "; ")}` } };
  }
  const argument = new Map([
    ["bash", "command"],
    ["rg", "pattern"],
    ["activate", "name"],
    ["pin", "name"],
  ]);
  return { name, args: { [argument.get(name) ?? "path"]: rest } };
}
