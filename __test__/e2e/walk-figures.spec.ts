// A walk through Pi's terminal as a person goes it, on which every figure that is shown is held against a count of what the model's
// server got: how large each request is, and what it costs with a cache of the requests before it. Plain Pi's requests are made from Pi's
// own session files. Nothing here is taken from our ledger.
import { appendFileSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { expect, test } from "vitest";
import { type Ledger, openStore, type RecordedCall } from "../../index.js";
import { Course } from "../../inspector/page/charts/series.js";
import { billOf } from "../../inspector/server/shown.js";
import { contentText, fixedTexts } from "../../scripts/lib/measure.js";
import { piVersion, type Sandbox } from "../../scripts/lib/pi.js";
import { oldestPi, piFolder } from "../../scripts/lib/pi-versions.js";
import type { RequestBody, Step, WireMessage } from "../../scripts/lib/scripted-model.js";
import { isEverything } from "../../scripts/lib/tiers.js";
import { useModel } from "./providers.ts";
import { contextToolNames, isSummary, missing, palimpsest, start } from "./support.ts";
import { goTo, type Terminal, terminal } from "./terminal.ts";
import { obedient, promptOf } from "./wires.ts";

const timeout = 240_000;
/** How far a figure may be from the count, as a share of it. */
const tolerance = 0.03;
const price = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 0 };
const contextWindow = 200_000;

const code = (name: string) =>
  Array.from(
    { length: 260 },
    (_, at) =>
      `  const ${name}Widget${at} = await fetchWidget("${name}-${(at * 7919) % 1009}", { retries: ${at % 7} });\n`,
  ).join("");
const files = {
  ...Object.fromEntries([..."abcdefgh"].map((name) => [`src/${name}.ts`, code(name)])),
  "server.log": "started\n",
  ".pi/skills/walk/SKILL.md": `---\nname: walk\ndescription: How to walk.\n---\n${"Walk slowly, and look at each figure.\n".repeat(60)}`,
};

/** A count of tokens. Those of a provider are no tokenizer's that we have. */
const counts: Record<string, (text: string) => number> = {
  tokenizer: (text) => countTokens(text, { disallowedSpecial: new Set() }),
  length: (text) => text.length / 4,
};

interface Sent {
  tokens: number;
  cached: number;
  cost: number;
}

/** A provider that has every earlier request in its cache: what the next one costs, in uncached tokens. */
function provider(count: (text: string) => number) {
  const known = new Map<string, number>();
  const tokensOf = (text: string) => {
    const tokens = known.get(text) ?? count(text);
    known.set(text, tokens);
    return tokens;
  };
  const sum = (parts: string[][]) => parts.flat().reduce((all, text) => all + tokensOf(text), 4 * parts.length);
  const earlier: string[][][] = [];
  return (body: RequestBody): Sent => {
    const parts = partsOf(body);
    const isSame = (before: string[][], at: number) => JSON.stringify(before[at]) === JSON.stringify(parts[at]);
    const shared = earlier.map((before) => {
      const differs = parts.findIndex((_, at) => !isSame(before, at));
      return differs === -1 ? parts.length : differs;
    });
    earlier.push(parts);
    const [tokens, cached] = [sum(parts), sum(parts.slice(0, Math.max(0, ...shared)))];
    return { tokens, cached, cost: tokens - cached + (cached * price.cacheRead) / price.input };
  };
}

/** The texts of a request: tools and system prompt, then those of each message. */
function partsOf(body: RequestBody): string[][] {
  const messages = body.messages.filter(({ role }) => role !== "system");
  return [
    fixedTexts(body),
    ...messages.map((message) => [
      message.role,
      message.reasoning_content ?? "",
      contentText(message),
      ...(message.tool_calls ?? []).flatMap((call) => [call.function.name, call.function.arguments]),
    ]),
  ];
}

async function prompt(pi: Terminal, name: string, commands: string): Promise<void> {
  pi.type(`do [${name}] ${commands}`);
  await pi.shows(new RegExp(`do \\[${name}\\]`));
  pi.press("Enter");
  await pi.shows(new RegExp(`Did ${name}\\.`));
}

/** What `/context` and the status line say. */
async function look(pi: Terminal): Promise<string> {
  await pi.command("/context");
  await pi.shows(/escape closes/);
  const screen = await pi.shows(/^palimpsest \$/m);
  pi.press("Escape");
  await pi.lacks(/escape closes/);
  return screen;
}

/** `sent`: how many requests went out so far. */
async function walk(sandbox: Sandbox, sent: () => number) {
  const pi = terminal(sandbox, { columns: 220, rows: 60, args: ["--approve"] });
  await pi.shows(/^palimpsest on$/m);
  await prompt(
    pi,
    "one",
    "read .pi/skills/walk/SKILL.md; read src/a.ts; bash cat server.log; read src/b.ts; bash seq 1 3000; pin src/a.ts; read src/c.ts",
  );
  await prompt(
    pi,
    "two",
    "read src/d.ts; bash grep -n retries src/b.ts; bash seq 1000 5000; read src/e.ts; bash ls -R .; read src/f.ts; bash seq 5000 9000; bash cat server.log; bash wc -l src/a.ts",
  );
  const early = await look(pi);
  const earlyCalls = sent();
  await prompt(
    pi,
    "three",
    "activate t2; read src/g.ts; bash seq 9000 12000; read src/h.ts; bash grep -rn Widget1 src; bash tail -n 40 server.log",
  );
  await pi.command("/compact");
  await pi.shows(/^ Compacted from /m);
  // The size of the request before it is none of the next one.
  await pi.shows(/^palimpsest \$[\d.]+ saved \(\d+ %\)$/m);
  await prompt(pi, "four", "read src/a.ts; bash seq 300 3600; read src/c.ts; bash date");
  await goTo(pi, "Did two", false);
  await prompt(pi, "five", "bash seq 1 4000; read src/c.ts; bash seq 4 8000; read src/a.ts");
  await pi.command("/context off");
  const off = await pi.shows(/The next request has about .* tokens[\s\S]*palimpsest off/);
  await prompt(pi, "six", "bash seq 10 400; read src/d.ts");
  await pi.command("/context on");
  await pi.shows(/on again/);
  await prompt(
    pi,
    "seven",
    "bash seq 20 2400; read src/e.ts; bash seq 1 1000; read src/f.ts; bash seq 7 99; bash seq 8 99; bash seq 9 99; pin src/f.ts; bash cat server.log; bash seq 70 3000",
  );
  const late = await look(pi);
  await pi.command("/fork");
  await pi.shows(/Fork from Message/);
  pi.press("Enter");
  await pi.shows(/Forked to new session/);
  pi.press("C-u");
  await prompt(
    pi,
    "eight",
    "bash seq 1 500; read src/g.ts; bash seq 30 2500; read src/h.ts; bash seq 40 99; bash seq 50 99; unpin src/f.ts; bash cat server.log; read src/b.ts; bash seq 60 99",
  );
  await pi.quit();
  return { early, earlyCalls, off, late };
}

// biome-ignore lint/suspicious/noExplicitAny: entries of Pi's session files, and what its package exports.
type Any = any;

/** An answer of the model, by its request to plain Pi; none where plain Pi would not have asked for it. */
interface Answer {
  session: string;
  request: RequestBody | undefined;
}

/** The answers in Pi's session files, in their order. */
async function answersOf(sandbox: Sandbox, front: RequestBody): Promise<Answer[]> {
  const pi: Any = await import(pathToFileURL(join(piFolder(piVersion), "dist", "bundle", "index.js")).href);
  const folder = join(sandbox.agentDir, "sessions");
  const names = readdirSync(folder, { recursive: true }).map(String);
  const seen = new Set<string>();
  const all: Answer[] = [];
  for (const name of names.filter((name) => name.endsWith(".jsonl")).sort()) {
    const [header, ...entries]: Any[] = pi.parseSessionEntries(readFileSync(join(folder, name), "utf8"));
    const byId = new Map(entries.map((entry) => [entry.id, entry]));
    for (const entry of entries.filter(({ type, message }) => type === "message" && message.role === "assistant")) {
      // A fork has the messages of its parent.
      if (!seen.has(entry.id)) {
        const { messages } = pi.buildSessionContext(entries, entry.parentId, byId);
        const request = plainRequest(front, pi.convertToLlm(messages));
        all.push({ session: header.id, request });
      }
      seen.add(entry.id);
    }
  }
  return all;
}

/** Pi's messages as they would go to the server, without what the model did with our tools alone. */
function plainRequest(front: RequestBody, messages: Any[]): RequestBody | undefined {
  const own = new Set<string>();
  const isOwnOnly = ({ role, content }: Any) => {
    const calls = role === "assistant" ? content.filter(({ type }: Any) => type === "toolCall") : [];
    return calls.length > 0 && calls.every(({ name }: Any) => contextToolNames.includes(name));
  };
  const last = messages.findLast(({ role }) => role === "assistant" || role === "user");
  if (isOwnOnly(last)) {
    return undefined;
  }
  const texts = (blocks: Any, field: string) =>
    typeof blocks === "string" ? blocks : blocks.map((block: Any) => block[field] ?? "").join("");
  const wired = messages.flatMap((message): WireMessage[] => {
    const { role, content, toolCallId } = message;
    if (role === "system" || own.has(toolCallId)) {
      return [];
    }
    if (role !== "assistant") {
      return [{ role: role === "toolResult" ? "tool" : role, content: texts(content, "text") }];
    }
    const calls = content.filter(({ type }: Any) => type === "toolCall");
    if (isOwnOnly(message)) {
      for (const { id } of calls) {
        own.add(id);
      }
      return [];
    }
    const tool_calls = calls.map(({ id, name, arguments: args }: Any) => ({
      id,
      function: { name, arguments: JSON.stringify(args) },
    }));
    return [{ role, content: texts(content, "text"), reasoning_content: texts(content, "thinking"), tool_calls }];
  });
  return { ...front, messages: [...front.messages, ...wired] };
}

/** What the walk sent, call by call, and what plain Pi would have sent. */
interface Call {
  session: string;
  isOurs: boolean;
  ours: Sent;
  plain: Sent | undefined;
}

/** Figures that are off, each with what was counted. */
class Figures {
  readonly off: string[] = [];

  /** `apart`: what may be between them besides, where a figure is small or rounded. */
  check(name: string, shown: number, counted: number, apart = 0): void {
    if (!(Math.abs(shown - counted) <= tolerance * Math.abs(counted) + apart)) {
      this.off.push(`${name}: ${shown} shown, ${counted} counted`);
    }
  }

  sum(name: string, shown: number, calls: Call[], of: (call: Call) => number): void {
    this.check(name, shown, sumOf(calls, of));
  }
}

const sumOf = (calls: Call[], of: (call: Call) => number) => calls.reduce((sum, call) => sum + of(call), 0);
const dollars = (cost: number) => (cost * price.input) / 1e6;
const million = { k: 1e3, M: 1e6 };
const read = (text: string, what: RegExp) => {
  const [, number, unit = ""] = what.exec(text) ?? [];
  return Number(number?.replaceAll(",", "")) * (million[unit as "k"] ?? 1);
};

/** Tokens that nobody can know of what plain Pi never sent, such as those of our tools. */
const estimated = 100;

/** The sums of a ledger, and each of its calls, against the count. */
function checkLedger(figures: Figures, ledger: Ledger, calls: Call[]): void {
  const ours = calls.filter(({ isOurs }) => isOurs);
  const hosts = calls.filter(({ isOurs }) => !isOurs);
  expect([ledger.calls, ledger.perCall.length]).toEqual([calls.length, ours.length]);
  const plainCost = sumOf(calls, ({ plain }) => plain?.cost ?? 0);
  const cost = sumOf(calls, (call) => call.ours.cost);
  figures.sum("sent", ledger.ours.sent, calls, (call) => call.ours.tokens);
  figures.sum("cached", ledger.ours.cached, calls, (call) => call.ours.cached);
  figures.sum("plain sent", ledger.plain.sent, calls, ({ plain }) => plain?.tokens ?? 0);
  figures.sum("plain cached", ledger.plain.cached, calls, ({ plain }) => plain?.cached ?? 0);
  figures.check("bill", ledger.bill, cost);
  figures.check("plain bill", ledger.plainBill, plainCost);
  // A difference of two sums, of which neither is off by a hundredth.
  figures.check("saved", ledger.plainBill - ledger.bill, plainCost - cost, plainCost / 100);
  figures.check("dollars", ledger.dollars?.bill ?? 0, dollars(cost));
  figures.check("plain dollars", ledger.dollars?.plainBill ?? 0, dollars(plainCost));
  figures.sum("reported", ledger.reported.cost, ours, (call) => call.ours.cost);
  figures.sum("off sent", ledger.hostCalls.sent, hosts, (call) => call.ours.tokens);
  figures.sum("off cost", ledger.hostCalls.cost, hosts, (call) => call.ours.cost);
  figures.sum("off plain", ledger.hostCalls.plainCost, hosts, ({ plain }) => plain?.cost ?? 0);
  for (const [at, { number, ours: side, plain, extra }] of ledger.perCall.entries()) {
    const call = ours[at];
    figures.check(`call ${number} sent`, side.sent, call.ours.tokens, estimated);
    expect(extra, `call ${number} is extra`).toBe(call.plain === undefined);
    if (call.plain !== undefined) {
      figures.check(`call ${number} plain`, plain.sent, call.plain.tokens, estimated);
    }
  }
  const saved = ledger.epochs.reduce((sum, epoch) => sum + epoch.saved, ledger.savedOtherwise);
  expect(saved).toBeCloseTo(ledger.plainBill - ledger.bill, 4);
}

interface Request {
  body: RequestBody;
  ours: Sent;
}

/** Walks with a model whose server counts so; resolves to what it got, without Pi's own requests for summaries. */
async function walked(count: (text: string) => number) {
  const usage = provider(count);
  const follow = obedient() as (request: { n: number; body: object }) => Promise<Step>;
  const sent: Request[] = [];
  const settings = { compaction: { keepRecentTokens: 3_000 } };
  const { sandbox, model } = await start(
    async ({ n, body }): Promise<Step> => {
      appendFileSync(join(sandbox.projectDir, "server.log"), `request ${n} came at 12:00:${n % 60}\n`.repeat(3));
      const ours = usage(body);
      sent.push({ body, ours });
      const reported = { in: Math.round(ours.tokens), cached: Math.round(ours.cached) };
      return { ...(await follow({ n, body })), usage: reported };
    },
    { files, palimpsest: {}, settings },
  );
  const models = [{ id: "gpt-x", contextWindow, maxTokens: 8_000, cost: price }];
  useModel(sandbox, { baseUrl: model.baseUrl, api: "openai-completions", apiKey: "none", models }, settings);
  const screens = await walk(sandbox, () => sent.length);
  return { sandbox, screens, requests: sent.filter(({ body }) => !isSummary(body)) };
}

const isOurTool = ({ function: { name } }: { function: { name: string } }) => contextToolNames.includes(name);

/** What stands in front of plain Pi's requests. */
function plainFront(body: RequestBody): RequestBody {
  const content = promptOf(body as object as Record<string, unknown>);
  const tools = body.tools?.filter((tool) => !isOurTool(tool));
  return { ...body, tools, messages: [{ role: "system", content }] };
}

const isSkipped = missing("tmux") || piVersion === oldestPi;
const tried = Object.keys(counts).slice(isEverything ? 0 : -1);
test.skipIf(isSkipped).each(tried)("figures agree with a count by %s", { timeout }, async (by) => {
  const { sandbox, screens, requests } = await walked(counts[by]);
  const bodies = requests.map(({ body }) => body);
  const answers = await answersOf(sandbox, plainFront(bodies[0]));
  expect(answers).toHaveLength(requests.length);
  const plainUsage = provider(counts[by]);
  const calls = answers.map(({ session, request }, at): Call => {
    const { body, ours } = requests[at];
    return { session, isOurs: body.tools?.some(isOurTool) === true, ours, plain: request && plainUsage(request) };
  });
  const figures = new Figures();
  const [parent, fork] = await sessionsOf(sandbox);
  const before = calls.filter(({ session }) => session === calls[0].session);
  // A fork goes on with the sums of its parent.
  for (const [known, those] of [[parent, before] as const, [fork, calls] as const]) {
    checkLedger(figures, known.ledger, those);
    checkPages(figures, known, those);
  }
  checkScreen(figures, "early", screens.early, calls.slice(0, screens.earlyCalls));
  checkScreen(figures, "late", screens.late, before);
  const firstOff = before.find(({ isOurs }) => !isOurs)?.ours.tokens ?? 0;
  figures.check("off notice", read(screens.off, /has about ([\d.,]+)([kM]?) tokens/), firstOff, 500);
  figures.check("off price", read(screens.off, /costs about \$([\d.]+)/), dollars(firstOff), 0.005);
  expect(palimpsest<RecordedCall>(sandbox, "context", "latest").size).toEqual(fork.sizes.at(-1));
  const plains = answers.map(({ request }) => request);
  const missed = [before, calls].map((those) => rereads(those, bodies, plains));
  expect(missed).toEqual([2, 3]);
  expect([parent.ledger.faults.count, fork.ledger.faults.count]).toEqual(missed);
  expect(calls).toHaveLength(60);
  expect(figures.off).toEqual([]);
});

interface Walked {
  ledger: Ledger;
  timeline: unknown;
  sizes: RecordedCall["size"][];
}

/** Ledger, timeline and recorded sizes of all sessions, the oldest first. */
async function sessionsOf(sandbox: Sandbox): Promise<Walked[]> {
  const store = await openStore({ path: join(sandbox.agentDir, "palimpsest", "store.sqlite") });
  const all: Walked[] = [];
  for (const { id, calls } of (await store.sessions()).reverse()) {
    const sizes = [];
    for (let call = 1; call <= calls; call++) {
      sizes.push((await store.recordedCall(id, { call })).size);
    }
    all.push({ ledger: await store.ledger(id), timeline: await store.timeline(id), sizes });
  }
  await store.close();
  return all;
}

/** What the inspector and `palimpsest context` show of a session. */
function checkPages(figures: Figures, { ledger, timeline, sizes }: Walked, calls: Call[]): void {
  const course = new Course({ ledger, timeline } as ConstructorParameters<typeof Course>[0]);
  const { sum } = course.bills[course.bills.length - 1];
  figures.check("the page's bill", sum.ours, dollars(sumOf(calls, ({ ours }) => ours.cost)));
  figures.check("the page's plain bill", sum.plain, dollars(sumOf(calls, ({ plain }) => plain?.cost ?? 0)));
  const newest = calls[calls.length - 1];
  for (const window of [course.window(course.calls.length - 1), billOf(ledger).window]) {
    figures.check("the page's window", window?.ours ?? 0, newest.ours.tokens);
    figures.check("the page's plain window", window?.plain ?? 0, newest.plain?.tokens ?? 0);
  }
  const rows = ledger.perCall.map(({ ours, plain, extra }) => ({ sent: ours.sent, plain: plain.sent, extra }));
  expect(sizes).toMatchObject(rows);
}

/** What `/context` and the status line say after these calls; their figures have two digits or three. */
function checkScreen(figures: Figures, when: string, screen: string, calls: Call[]): void {
  const newest = calls[calls.length - 1];
  const cost = sumOf(calls, ({ ours }) => ours.cost);
  const plain = sumOf(calls, (call) => call.plain?.cost ?? 0);
  const check = (what: string, shown: number, counted: number, step: number) =>
    figures.check(`${when}: ${what}`, shown, counted, step);
  const share = (100 * (plain - cost)) / plain;
  check("window", read(screen, /window +([\d.]+)([kM]?) tokens/), newest.ours.tokens, 500);
  check("plain window", read(screen, /takes; plain Pi ([\d.]+)([kM]?)/), newest.plain?.tokens ?? 0, 500);
  check("cost", read(screen, /cost +\$([\d.]+)/), dollars(cost), 0.005);
  check("plain cost", read(screen, /so far; plain Pi \$([\d.]+)/), dollars(plain), 0.005);
  check("share", read(screen, /, so (\d+) % saved/), share, 1);
  check("calls", read(screen, /sent in (\d+) calls/), calls.length, 0);
  const sent = sumOf(calls, ({ ours }) => ours.tokens);
  check("sent", read(screen, /tokens +([\d.]+)([kM]?) sent/), sent, sent < 1e6 ? 500 : 5_000);
  const plainSent = sumOf(calls, (call) => call.plain?.tokens ?? 0);
  check("plain sent", read(screen, /cache; plain Pi ([\d.]+)([kM]?)/), plainSent, plainSent < 1e6 ? 500 : 5_000);
  check("status saved", read(screen, /^palimpsest \$([\d.]+) saved/m), dollars(plain - cost), 0.005);
  check("status share", read(screen, /^palimpsest .*\((\d+) %\)/m), share, 1);
  check("status window", read(screen, /^palimpsest .* · ([\d.]+)([kM]?) of 200k/m), newest.ours.tokens, 500);
}

/** How often the model read a file that plain Pi's request had, and ours did not any more. */
function rereads(calls: Call[], bodies: RequestBody[], plain: (RequestBody | undefined)[]): number {
  const has = (body: RequestBody | undefined, text: string) =>
    body?.messages.some((message) => message.role !== "assistant" && contentText(message).includes(text)) === true;
  const asked = bodies.map(
    (_, at) => bodies[at + 1]?.messages.findLast(({ role }) => role === "assistant")?.tool_calls,
  );
  const missed = calls.flatMap(({ isOurs }, at) => {
    const names = (asked[at] ?? []).map(
      ({ function: call }) => /^\{"path":"src\/([a-h])\.ts"/.exec(call.arguments)?.[1],
    );
    const texts = names.flatMap((name) => (name === undefined ? [] : [code(name).slice(0, 2_000)]));
    return isOurs ? texts.filter((text) => has(plain[at], text) && !has(bodies[at], text)) : [];
  });
  return missed.length;
}
