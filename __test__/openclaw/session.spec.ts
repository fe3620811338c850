// A session of sixty calls in the real OpenClaw, with Palimpsest and without, in both wire formats: what the model gets, what it costs, what
// is recorded, and what is left of it after a kill in the middle of a tool call.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Ledger } from "../../index.js";
import { openStore } from "../../index.js";
import { cachedTokens } from "../../scripts/lib/measure.js";
import { createOpenClawSandbox } from "../../scripts/lib/openclaw.js";
import { startGateway } from "../../scripts/lib/openclaw-gateway.js";
import { type RequestBody, type Step, startScriptedModel, type WireMessage } from "../../scripts/lib/scripted-model.js";
import { listen } from "../e2e/providers.ts";
import { palimpsest } from "../e2e/support.ts";
import { type Bill, billOf, costsOf, inOneShape, priceOf, type Wire, withoutPrompt } from "./bills.ts";
import { type CodingTurn, codingSession, type Move, project } from "./coding.ts";
import { call, continues, conversationOf, isPaired, lines, linkPalimpsest, textOf } from "./support.ts";

type Json = Record<string, unknown>;

const wires: Wire[] = ["openai", "anthropic"];
const keyOf = (wire: Wire) => `agent:main:${wire}`;
/** As the providers bill: Anthropic for what it keeps, OpenAI not. */
const costs = {
  openai: { input: 1.25, output: 10, cacheRead: 0.125, cacheWrite: 0 },
  anthropic: { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 },
};

/** A model that does what it is told, and says what its cache served, as a provider does. */
function scripted(wire: Wire) {
  let moves: Move[] = [];
  const bodies: Json[] = [];
  return {
    bodies,
    play: (...next: Move[]) => {
      moves = next;
    },
    answer: (body: Json): Step => {
      bodies.push(body);
      const cost = costsOf(bodies.slice(-2)).at(-1);
      const usage = cost && { in: cost.sent, cached: cachedTokens(cost, priceOf[wire]) };
      return { usage, ...(moves.shift()?.(withoutPrompt(inOneShape(body))) ?? { text: "done" }) };
    },
  };
}

/** A gateway with a model of each format. */
async function start(isOurs: boolean) {
  const models = { openai: scripted("openai"), anthropic: scripted("anthropic") };
  const openai = await startScriptedModel(({ body }) => models.openai.answer(body as unknown as Json));
  const anthropic = await listen("anthropic", ({ body }) => models.anthropic.answer(body));
  const model = { id: "claude-1", name: "Claude", contextWindow: 200_000, maxTokens: 8_000, cost: costs.anthropic };
  const sandbox = await createOpenClawSandbox({
    baseUrl: openai.baseUrl,
    files: { ...project("openai"), ...project("anthropic") },
    model: { contextWindow: 200_000, cost: costs.openai },
    config: {
      models: {
        providers: {
          claude: { baseUrl: anthropic.baseUrl, api: "anthropic-messages", apiKey: "none", models: [model] },
        },
      },
      agents: { defaults: { models: { "claude/claude-1": { params: { cacheRetention: "short" } } } } },
    },
  });
  if (isOurs) {
    linkPalimpsest(sandbox);
  }
  let gateway = await startGateway(sandbox);
  return {
    sandbox,
    models,
    get gateway() {
      return gateway;
    },
    async restart() {
      await gateway.kill("SIGKILL");
      gateway = await startGateway(sandbox);
    },
    turn: (wire: Wire, { message, moves }: CodingTurn) => {
      models[wire].play(...moves);
      const params = wire === "anthropic" ? { model: "claude/claude-1" } : {};
      return gateway.agent({ sessionKey: keyOf(wire), message, params });
    },
    async close() {
      await gateway.stop();
      await openai.close();
      anthropic.close();
      await sandbox.remove();
    },
  };
}

type Played = Awaited<ReturnType<typeof start>>;
const calls = 60;
const bills: [Wire, Bill, Bill][] = [];
let plain: Played;
let ours: Played;

/** The session of a format in our store. */
async function sessionOf(wire: Wire): Promise<string> {
  const { sessions } = await ours.gateway.call("sessions.list", {});
  const { sessionId } = sessions.find(({ key }: Json) => key === keyOf(wire));
  return `session:${sessionId}`;
}

/** Both sessions at the same time: they have nothing to do with each other. */
async function play(side: Played): Promise<void> {
  await Promise.all(
    wires.map(async (wire) => {
      for (const turn of codingSession(wire)) {
        expect(await side.turn(wire, turn), turn.message).toMatchObject({ status: "ok" });
      }
    }),
  );
}

beforeAll(async () => {
  [plain, ours] = await Promise.all([start(false), start(true)]);
  await Promise.all([play(plain), play(ours)]);
}, 480_000);

afterAll(async () => {
  console.log(bills.map(billLines).join("\n"));
  await Promise.all([plain?.close(), ours?.close()]);
});

const requestsOf = (side: Played, wire: Wire) =>
  side.models[wire].bodies.slice(0, calls).map(inOneShape).map(withoutPrompt);
const resultsOf = (body: RequestBody) =>
  conversationOf(body)
    .filter(({ role }) => role === "tool")
    .map(textOf);

/** A conversation without what OpenClaw adds to it and the model sees: times, the line about the run. */
function said(body: RequestBody): string[] {
  return lines(body).map((line) =>
    line.replace(/^user: \[\w{3} \d{4}-\d\d-\d\d \d\d:\d\d UTC\] /, "user: ").replace(/\s*Runtime: agent=[^\n]*$/, ""),
  );
}

/** A bill in words, for the one who runs the tests. */
function billLines([wire, ...both]: [Wire, Bill, Bill]): string {
  const [before, after] = both.map(
    ({ sent, cached, bill, largest, rewrites }) =>
      `${sent} tokens sent, ${(100 * cached).toFixed(1)} % cached, bill ${bill}, largest request ${largest}, ${rewrites} rewrites`,
  );
  const share = (both[1].bill / both[0].bill).toFixed(3);
  return `${wire}, ${both[0].calls} calls: ${priceOf[wire].name}\n  plain: ${before}\n  with:  ${after}\n  bill:  ${share} of plain`;
}

/** Recorded messages as OpenAI's completions would have them. */
function inWireForm(messages: readonly string[]): RequestBody {
  const shaped = messages.map((text): WireMessage => {
    const { role, content, toolCallId } = JSON.parse(text) as Json;
    const blocks = (typeof content === "string" ? [{ type: "text", text: content }] : content) as Json[];
    const made = blocks.filter(({ type }) => type === "toolCall");
    return {
      role: role === "toolResult" ? "tool" : String(role),
      content: blocks.filter(({ type }) => type === "text"),
      tool_call_id: toolCallId as string | undefined,
      tool_calls: made.map(({ id, name, arguments: args }) => ({
        id: String(id),
        function: { name: String(name), arguments: JSON.stringify(args) },
      })),
    };
  });
  return { model: "", messages: shaped };
}

describe.each(wires)("sixty calls in the format of %s", (wire) => {
  test("are sixty on both sides, and come to the same files", () => {
    expect([plain, ours].map((side) => side.models[wire].bodies.length)).toEqual([calls, calls]);
    const [before, after] = [plain, ours].map(({ sandbox }) =>
      Object.keys(project(wire)).map((path) => readFileSync(join(sandbox.workspaceDir, path), "utf8")),
    );
    expect(after).toEqual(before);
    expect(after[0]).not.toBe(Object.values(project(wire))[0]);
  });

  test("pair every call, and keep roles and the user's words", () => {
    for (const [at, body] of requestsOf(ours, wire).entries()) {
      expect(isPaired(body), `request ${at}`).toBe(true);
      const roles = conversationOf(body).map(({ role }) => role);
      expect(roles[0]).toBe("user");
      expect(
        roles.some((role, place) => role === "assistant" && roles[place - 1] === role),
        `request ${at}`,
      ).toBe(false);
    }
    const users = said(requestsOf(ours, wire)[calls - 1]).filter((line) => line.startsWith("user: "));
    expect(users.map((line) => line.slice(6).split("\n")[0])).toEqual(
      codingSession(wire).map(({ message }) => message),
    );
  });

  test("show long outputs in part, and old ones as lines", () => {
    const requests = requestsOf(ours, wire);
    const preview =
      /^… 316 lines between \(t6:1-316\) …\ntest case_317 \.\.\. FAILED: left 3, right 4\n… 83 lines between/;
    expect(resultsOf(requests[5]).at(-1)).toMatch(preview);
    expect(resultsOf(requests[10])[5]).toMatch(preview);
    expect(resultsOf(requests[11]).at(-1)).toMatch(/^\[t6\] exec · lines [\d, -]+ of 401\n/);
    expect(resultsOf(requests[11]).at(-1)).toContain("test case_317 ... FAILED");
    const last = resultsOf(requests[calls - 1]);
    const standing = last.filter((text) => /^\[t\d+\] (f\d+ |\w+ · \d+ lines)/.test(text));
    expect(standing.length).toBeGreaterThan(10);
    expect(last.at(-1)).toBe("end");
    // The host's own requests hold all of it.
    const whole = resultsOf(requestsOf(plain, wire)[calls - 1]);
    expect(whole.filter((text) => text.includes("test suite_4::case_4::"))).toHaveLength(8);
  });

  test("cost less than two fifths, and nine tenths are cached", () => {
    const [before, after] = [plain, ours].map((side) => billOf(wire, side.models[wire].bodies.slice(0, calls)));
    bills.push([wire, before, after]);
    expect(before.rewrites).toBe(0);
    expect(after.bill / before.bill).toBeLessThan(wire === "openai" ? 0.365 : 0.39);
    expect(after.largest).toBeLessThan(before.largest / 3);
    expect(after.cached).toBeGreaterThan(0.9);
    expect(after.rewrites).toBeLessThan(6);
  });

  test("cost less than half of plain after forty", () => {
    const [before, after] = [plain, ours].map((side) => billOf(wire, side.models[wire].bodies.slice(0, 40)));
    bills.push([wire, before, after]);
    // In Anthropic's format what stands behind the last breakpoint is paid anew each time.
    expect(after.bill / before.bill).toBeLessThan(wire === "openai" ? 0.44 : 0.47);
  });

  test("show a file that is read again as a line", () => {
    const results = resultsOf(requestsOf(ours, wire)[12]);
    expect(results.at(-1)).toMatch(/^f\d+ unchanged; lines 1-121 stand in the read result above \(t2\)\.$/);
    expect(results.filter((text) => text.includes("pub fn parser_1("))).toHaveLength(1);
  });

  test("are in the ledger as they were sent", async () => {
    const ledger = palimpsest<Ledger>(ours.sandbox, "ledger", await sessionOf(wire));
    const [before, after] = [plain, ours].map((side) => billOf(wire, side.models[wire].bodies.slice(0, calls)));
    expect(ledger).toMatchObject({ calls, failedCalls: 0 });
    // The ledger does not know where OpenClaw puts its breakpoints, nor how the provider counts what it never got.
    expect(ledger.bill / ledger.plainBill / (after.bill / before.bill)).toBeGreaterThan(0.9);
    expect(ledger.bill / ledger.plainBill / (after.bill / before.bill)).toBeLessThan(1.1);
    expect(after.rewrites).toBeLessThanOrEqual(ledger.epochs.length);
    for (const { reason } of ledger.epochs) {
      expect(reason).toMatch(/^keeping \d+ tokens had cost as much as sending the rest anew|^the cache is cold/);
    }
  });

  test("are recorded byte for byte", async () => {
    const store = await openStore({ path: ours.sandbox.store, readOnly: true });
    const session = await sessionOf(wire);
    for (const [at, body] of requestsOf(ours, wire).entries()) {
      const recorded = await store.recordedCall(session, { call: at + 1 });
      expect(recorded, `call ${at + 1}`).toMatchObject({ failedOpen: null, verified: true });
      expect(said(inWireForm(recorded.messages)), `call ${at + 1}`).toEqual(said(body));
    }
    await store.close();
  });
});

test("after a kill in a tool call nothing is lost or doubled", async () => {
  const wire = "openai";
  const running = ours.gateway.waitFor(({ payload }) => payload.stream === "tool" && payload.data.name === "exec");
  const command = `echo ${wire} | tee -a killed.txt; sleep 60`;
  const moves: Move[] = [() => call("read", { path: `${wire}/table.rs` }), () => call("exec", { command })];
  const broken = ours.turn(wire, { message: "Start over.", moves }).catch((error: Error) => error.message);
  await running;
  await expect.poll(() => existsSync(join(ours.sandbox.workspaceDir, "killed.txt"))).toBe(true);
  await ours.restart();
  expect(await broken).toMatch(/connection/);
  const lookBack: Move = (body) => ({ calls: [{ name: "activate", args: { name: nameOf(body), lines: "1-2" } }] });
  expect(
    await ours.turn(wire, { message: "Go on.", moves: [lookBack, () => ({ text: "It goes on." })] }),
  ).toMatchObject({ status: "ok" });

  const [before, after, last] = ours.models[wire].bodies.slice(-3).map(inOneShape);
  expect([before, after, last].map(isPaired)).toEqual([true, true, true]);
  expect(continues(before, after)).toBe(true);
  const [missing, goOn, ...rest] = said(after).slice(said(before).length + 1);
  expect(missing).toMatch(/^tool: .*missing tool result/);
  expect(goOn).toMatch(/Go on\.$/);
  expect(rest).toEqual([]);
  expect(resultsOf(last).at(-1)).toMatch(/^\[t\d+\] exec · lines 1-2 of 401\ntest suite_1::case_1::/);
  expect(readFileSync(join(ours.sandbox.workspaceDir, "killed.txt"), "utf8")).toBe(`${wire}\n`);
  const store = await openStore({ path: ours.sandbox.store, readOnly: true });
  const { messages } = await store.recordedCall(await sessionOf(wire));
  expect(said(inWireForm(messages))).toEqual(said(last));
  await store.close();
});

/** A test run of which not all stands in a request. */
const nameOf = (body: RequestBody) =>
  /\((t\d+):/.exec(resultsOf(body).findLast((text) => text.includes("test result")) ?? "")?.[1] ?? "";
