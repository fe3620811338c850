// The ways from one session to another in the real Pi, and back and forth in one: what the model sees is what plain Pi would have
// shown it, but for lines that stand for content.
import { describe, expect, test } from "vitest";
import { runPi, runPiJson, type Sandbox, startPiRpc } from "../../scripts/lib/pi.js";
import { isEverything } from "../../scripts/lib/tiers.js";
import { contextToolNames, extension } from "./support.ts";
import {
  collapsing,
  expectAllFaithful,
  expectRecorded,
  files,
  loaded,
  obedient,
  paired,
  standing,
  startWire,
  wires,
  withAndWithout,
} from "./wires.ts";

const timeout = 120_000;

/** Commands for what Pi offers in its terminal alone. */
const moves = `
export default function (pi) {
  const jump = (summarize) => async (args, ctx) => {
    const isIt = (entry) => entry.type === "message" && JSON.stringify(entry.message.content ?? "").includes(args);
    const target = ctx.sessionManager.getEntries().findLast((entry) => isIt(entry));
    await ctx.navigateTree(target.id, { summarize });
    ctx.ui.notify("moved");
  };
  pi.registerCommand("jump", { description: "move in the tree", handler: jump(false) });
  pi.registerCommand("leave", { description: "move in the tree with a summary", handler: jump(true) });
  pi.registerCommand("again", { description: "reload", handler: async (_args, ctx) => ctx.reload() });
}
`;

type Pi = ReturnType<typeof startPiRpc>;

async function move(pi: Pi, command: string): Promise<void> {
  const moved = pi.waitFor((record) => record.method === "notify" && record.message === "moved");
  await pi.send({ type: "prompt", message: command });
  await moved;
}

async function sessionFile(pi: Pi): Promise<string> {
  const { data } = (await pi.send({ type: "get_state" })) as { data?: { sessionFile?: string } };
  return String(data?.sessionFile);
}

/** The entry of a message of the person, by its text. */
async function entryOf(pi: Pi, words: string): Promise<string> {
  const { data } = (await pi.send({ type: "get_fork_messages" })) as {
    data?: { messages: { entryId: string; text: string }[] };
  };
  return String(data?.messages.find(({ text }) => text.includes(words))?.entryId);
}

/** All moves that one process can make between sessions and within one. */
async function wander(sandbox: Sandbox, args: string[]): Promise<void> {
  const pi = startPiRpc(sandbox, [...args, ...loaded(sandbox, "moves", moves)], { deadlineMs: timeout });
  await pi.prompt("do [one] read a.txt; read b.txt & bash seq 1 300; read a.txt");
  await pi.prompt("do [two] read c.txt; bash seq 300 700");
  const first = await sessionFile(pi);
  await pi.send({ type: "new_session" });
  await pi.prompt("do [new] read d.txt");
  await pi.send({ type: "switch_session", sessionPath: first });
  await pi.prompt("do [back] read e.txt; read a.txt");
  await pi.send({ type: "fork", entryId: await entryOf(pi, "[two]") });
  await pi.prompt("do [forked] read f.txt; read b.txt");
  await pi.send({ type: "clone" });
  await pi.prompt("do [cloned] read g.txt");
  await pi.send({ type: "prompt", message: "/again" });
  await pi.prompt("do [reloaded] read h.txt; read a.txt");
  await move(pi, "/jump [cloned]");
  await pi.prompt("do [beside] bash seq 700 900; read a.txt");
  await move(pi, "/leave [forked]");
  await pi.prompt("do [left] read c.txt; bash seq 1 300");
  await move(pi, "/jump Did reloaded.");
  await pi.prompt("do [returned] read d.txt");
  // The calls of an answer without their results.
  await move(pi, "/jump Next of beside.");
  await pi.prompt("do [torn] read a.txt");
  await end(pi);
}

async function end(pi: Pi): Promise<void> {
  const { code, stderr } = await pi.close();
  expect({ code, stderr: withoutNewId(stderr) }).toEqual({ code: 0, stderr: "" });
  expect(pi.records.filter((record) => record.type === "extension_error")).toEqual([]);
}

/** What Pi says of an ID that is given to a new session is no matter here. */
const withoutNewId = (stderr: string) => stderr.replace(/^Warning: No project session found with id .*\n/m, "");

/** All ways in which a process can take up a session, in print and json mode. Resolves to what is printed. */
async function comeBack(sandbox: Sandbox, args: string[]): Promise<string[]> {
  const print = async (...more: string[]) => {
    const { code, stdout, stderr } = await runPi(sandbox, [...args, ...more]);
    expect({ code, stderr: withoutNewId(stderr) }).toEqual({ code: 0, stderr: "" });
    return stdout;
  };
  const printed = [
    await print("--session-id", "first", "-p", "do [one] read a.txt; bash seq 1 300; read a.txt"),
    await print("--continue", "-p", "do [two] read b.txt; bash seq 1 300"),
  ];
  const { code, stderr, events } = await runPiJson(sandbox, [...args, "--session", "first", "do [three] read a.txt"]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const ran = events.filter(({ type }) => type === "tool_execution_end");
  printed.push(JSON.stringify(ran.map(({ result }) => result)).replaceAll(sandbox.dir, "<sandbox>"));
  printed.push(await print("--fork", "first", "--session-id", "second", "-p", "do [four] read c.txt; read a.txt"));
  printed.push(await print("--session", "first", "-p", "do [five] read d.txt; bash seq 1 300"));
  printed.push(await print("--session", "second", "-p", "do [six] read e.txt; read a.txt"));
  printed.push(await print("--no-session", "-p", "do [seven] read a.txt; read a.txt; bash seq 1 300; bash seq 1 300"));
  printed.push(await print("-p", "do [eight] read a.txt"));
  return printed;
}

/** Two processes at work in one folder at the same time: on sessions of their own, then on the same one. */
async function workBeside(sandbox: Sandbox, args: string[]): Promise<void> {
  const one = startPiRpc(sandbox, [...args, "--session-id", "one"]);
  const two = startPiRpc(sandbox, [...args, "--session-id", "two"]);
  await one.prompt("do [one] read a.txt; bash seq 1 300");
  await two.prompt("do [two] read a.txt; bash seq 1 300; bash sed -i s/line/LINE/ b.txt");
  await one.prompt("do [three] read b.txt; read a.txt");
  await end(two);
  const beside = startPiRpc(sandbox, [...args, "--session", "one"]);
  await beside.prompt("do [four] read c.txt; read a.txt");
  await one.prompt("do [five] read d.txt; bash seq 1 300");
  await beside.prompt("do [six] read e.txt; read b.txt");
  await one.prompt("do [seven] read c.txt");
  await end(one);
  await end(beside);
}

/** Runs a command of ours, to its notice. */
async function command(pi: Pi, text: string): Promise<void> {
  const told = pi.waitFor((record) => record.method === "notify");
  await pi.send({ type: "prompt", message: text });
  await told;
}

test("back and forth our tools are offered where it is on", { timeout }, async () => {
  const { bodies, sandbox } = await startWire("openai", obedient(), { files });
  const pi = startPiRpc(sandbox, ["-e", extension, ...loaded(sandbox, "moves", moves)]);
  const offered = async (name: string) => {
    await pi.prompt(`do [${name}]`);
    const text = JSON.stringify(bodies().at(-1));
    return contextToolNames.filter((tool) => text.includes(`"name":"${tool}"`));
  };
  expect(await offered("on")).toEqual(contextToolNames);
  await command(pi, "/context off");
  expect(await offered("off")).toEqual([]);
  await move(pi, "/jump Did on.");
  expect(await offered("back")).toEqual([]);
  await command(pi, "/context on");
  await move(pi, "/jump Did off.");
  expect(await offered("again")).toEqual(contextToolNames);
  await end(pi);
});

/** Whether everything stays in the window, or leaves as soon as it may. */
const settings = [
  { how: "while all stands", palimpsest: standing },
  { how: "while outputs collapse", palimpsest: collapsing },
];

test.each(paired(settings))(
  "all ways in one process, $wire, $how",
  {
    timeout,
  },
  async ({ wire, palimpsest }) => {
    const { plain, ours, sandbox } = await withAndWithout(wire, obedient, wander, { files, palimpsest });
    expect(expectAllFaithful(plain, ours).missing > 0).toBe(palimpsest === collapsing);
    await expectRecorded(sandbox);
  },
);

describe.each(isEverything ? wires : wires.slice(-1))("%s", { timeout }, (wire) => {
  test("all ways across processes, in print and json mode", async () => {
    const { plain, ours, sandbox, results } = await withAndWithout(wire, obedient, comeBack, {
      files,
      palimpsest: collapsing,
    });
    expect(results.ours).toEqual(results.plain);
    expect(expectAllFaithful(plain, ours).replaced).toBeGreaterThan(1);
    await expectRecorded(sandbox);
  });

  test("two processes at once, on two sessions and on one", async () => {
    const { plain, ours, sandbox } = await withAndWithout(wire, obedient, workBeside, {
      files,
      palimpsest: collapsing,
    });
    expectAllFaithful(plain, ours);
    await expectRecorded(sandbox);
  });
});
