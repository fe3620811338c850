import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { expect, test } from "vitest";
import { contentText, fixedTexts } from "../../scripts/lib/measure.js";
import { runPi, startPiRpc } from "../../scripts/lib/pi.js";
import type { ModelRequest, RequestBody, Step } from "../../scripts/lib/scripted-model.js";
import { extension, ledgerOf, start } from "./support.ts";

const calls = 150;
/** Calls of a turn; the last one answers in text. */
const turn = 15;
const deadlineMs = 400_000;

/** Tokens of each part of a request's text: tools and system prompt first, then the messages. */
function partsOf(body: RequestBody): { text: string; tokens: number }[] {
  const messages = body.messages.filter((message) => message.role !== "system");
  const texts = messages.map((message) =>
    [
      message.reasoning_content ?? "",
      contentText(message),
      ...(message.tool_calls ?? []).flatMap((call) => [call.function.name, call.function.arguments]),
    ].filter((text) => text !== ""),
  );
  return [fixedTexts(body), ...texts].map((parts) => ({
    text: parts.join("\0"),
    tokens: parts.reduce((sum, part) => sum + countOnce(part), 0),
  }));
}

const counted = new Map<string, number>();

/** Requests repeat most of their text. */
function countOnce(text: string): number {
  const known = counted.get(text) ?? countTokens(text);
  counted.set(text, known);
  return known;
}

/** What the server counts of each request: its tokens, and of these the prefix that it has from the one before. */
function countRequests(requests: ModelRequest[]) {
  const all = requests.map(({ body }) => partsOf(body));
  return all.map((parts, n) => {
    const before = all[n - 1] ?? [];
    const same = parts.findIndex((part, at) => part.text !== before[at]?.text);
    const sum = (some: typeof parts) => some.reduce((total, part) => total + part.tokens, 0);
    return { sent: sum(parts), cached: sum(same === -1 ? parts : parts.slice(0, same)) };
  });
}

/** A line of a file or of an output: no two are the same. */
function line(seed: number, at: number): string {
  const name = ["parse", "render", "commit", "resolve", "measure", "collapse"][(seed * 7 + at) % 6];
  return `  let ${name}_${seed}_${at} = ${name}(&input[${at * 31 + seed}], "step ${at % 13}")?; // ${(seed * at) % 97}`;
}

function linesOf(seed: number, count: number): string {
  return Array.from({ length: count }, (_, at) => line(seed, at)).join("\n");
}

const files = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`src/part${n}.rs`, `${linesOf(n, 220)}\n`]));

/** What the model does in call `n`. */
function step(n: number): Step {
  const thinking = `Step ${n}: the ${n % 2 === 0 ? "parser" : "renderer"} may be wrong, so I look before I change it.`;
  if (n % turn === turn - 1) {
    return { thinking, text: `After ${n} steps: ${linesOf(n + 1_000, 8)}` };
  }
  const call = (name: string, args: unknown): Step => ({ thinking, text: `Call ${n}.`, calls: [{ name, args }] });
  switch (n % 4) {
    case 0:
      return call("read", { path: `src/part${(n / 4) % 30}.rs` });
    case 1:
      return call("bash", { command: `for i in $(seq 1 ${40 + (n % 7) * 20}); do echo "run ${n} case $i ok"; done` });
    case 2:
      return call("write", { path: `notes/n${n}.md`, content: linesOf(n + 500, 25) });
    default:
      return call("bash", { command: `echo "${n} passed"` });
  }
}

/** Plays the session; resolves to its ledger and what the server counted. */
async function play(usage: (body: RequestBody) => Step["usage"]) {
  const { model, sandbox } = await start(({ n, body }) => ({ ...step(n), usage: usage(body) }), { files });
  const pi = startPiRpc(sandbox, ["-e", extension], { deadlineMs });
  for (let done = 0; done < calls; done += turn) {
    await pi.prompt(`Turn ${done / turn}: go on with the next part, and say what you found.`);
  }
  const { code, stderr } = await pi.close();
  expect({ code, stderr, errors: model.errors }).toEqual({ code: 0, stderr: "", errors: [] });
  expect(model.requests).toHaveLength(calls);
  const ledger = ledgerOf(sandbox);
  return { ledger, counts: countRequests(model.requests) };
}

/** By how much `value` is off, as a share. */
function off(value: number, truth: number): number {
  return Math.abs(value - truth) / truth;
}

test("without reports the ledger is within 2 % of the server", {
  timeout: deadlineMs,
}, async () => {
  const { ledger, counts } = await play(() => null);
  expect(ledger.perCall).toHaveLength(calls);
  expect(ledger.reported.calls).toBe(0);
  expect(ledger.epochs.length).toBeGreaterThan(0);
  const sent = counts.reduce((sum, count) => sum + count.sent, 0);
  const cached = counts.reduce((sum, count) => sum + count.cached, 0);
  expect(off(ledger.ours.sent, sent)).toBeLessThan(0.02);
  expect(off(ledger.ours.cached, cached)).toBeLessThan(0.02);
  // Prices of OpenAI: nobody said otherwise.
  expect(off(ledger.bill, cached * 0.1 + (sent - cached))).toBeLessThan(0.02);
  expect(Math.max(...ledger.perCall.map((call, n) => off(call.ours.sent, counts[n].sent)))).toBeLessThan(0.02);
});

test("with reports estimates are within 0.5 % after 20 calls", {
  timeout: deadlineMs,
}, async () => {
  const { ledger, counts } = await play((body) => {
    const tokens = partsOf(body).reduce((sum, part) => sum + part.tokens, 0);
    return { in: Math.round(tokens * 1.15) };
  });
  expect(ledger.reported.calls).toBe(calls);
  expect(ledger.reported.input).toBe(counts.reduce((sum, count) => sum + Math.round(count.sent * 1.15), 0));
  const late = ledger.perCall.slice(20);
  const worst = Math.max(...late.map(({ ours, reported }) => off(ours.sent, reported?.input ?? 0)));
  expect(worst).toBeLessThan(0.005);
});

test("/context repeats what was said when the session started", async () => {
  const mounts = [{ agentPrefix: "/workspace", canonicalPrefix: "/nonexistent/project" }];
  const { sandbox } = await start([{ text: "Hello." }], { palimpsest: { mounts } });
  const { code, stderr } = await runPi(sandbox, ["-e", extension, "-p", "hi"]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining("Palimpsest: ") });
  const again = await runPi(sandbox, ["-e", extension, "--continue", "-p", "/context"]);
  const notice = stderr.trim().replace("Palimpsest: ", "notice    ");
  expect(again.stderr).toContain(`${notice}\n`);
});

test("/context shows the bill in rpc and in print mode", async () => {
  const { sandbox } = await start([{ text: "Hello." }, { text: "Again." }]);
  const pi = startPiRpc(sandbox, ["-e", extension]);
  await pi.prompt("hi");
  const shown = pi.waitFor((record) => record.type === "extension_ui_request" && record.method === "notify");
  await pi.send({ type: "prompt", message: "/context" });
  expect((await shown).message).toMatch(
    /^window (?:.*\n)+cost .*no price in dollars is known; .*, plain Pi .*, so \d+ % more\n/,
  );
  await pi.close();
  const { code, stderr } = await runPi(sandbox, ["-e", extension, "--continue", "-p", "/context"]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining("epochs    none") });
});
