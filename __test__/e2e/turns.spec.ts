// What happens within a run of the real Pi: words that come while it works, aborts, retries, batches, a person's own commands,
// images, other extensions' messages. The model sees what plain Pi would have shown it, but for lines that stand for content.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Sandbox, startPiRpc } from "../../scripts/lib/pi.js";
import {
  allText,
  collapsing,
  expectAllFaithful,
  expectRecorded,
  files,
  loaded,
  obedient,
  paired,
  standing,
  withAndWithout,
} from "./wires.ts";

const timeout = 120_000;

/** Settings under which all stands, and under which everything leaves that may. */
const settings = [
  { name: "while all stands", palimpsest: standing },
  { name: "while outputs collapse", palimpsest: collapsing },
];

type Pi = ReturnType<typeof startPiRpc>;

const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** Another extension: it speaks before, within and after runs, edits what a tool said, and has a tool that runs alone. */
const talker = `
const message = (content) => ({ customType: "talker", content, display: true, details: { own: [1] } });
export default function (pi) {
  pi.on("before_agent_start", (event) =>
    (event.prompt ?? "").includes("[greeted]") ? { message: message("Before the run.") } : undefined);
  pi.on("tool_result", ({ toolName, input, content }) => {
    const command = String(input.command ?? "");
    if (command.includes("steer me")) {
      pi.sendMessage(message([{ type: "text", text: "In the middle." }]), { deliverAs: "steer" });
    }
    return command.includes("change me") ? { content: [{ type: "text", text: "changed by the talker" }] } : undefined;
  });
  pi.on("turn_end", ({ entries, toolResultEntryIds, toolResults }) => {
    const at = toolResults.findIndex(({ content }) => JSON.stringify(content).includes("edit me"));
    const content = [{ type: "text", text: "edited by the talker" }];
    return at < 0 ? undefined
      : { entries: [...entries, { type: "context_edit", targetId: toolResultEntryIds[at], replacement: { content } }] };
  });
  pi.registerCommand("say", { description: "say it", handler: async (args, ctx) => {
    pi.appendEntry("talker", { of: args });
    pi.sendMessage(message(args), { deliverAs: "nextTurn" });
    ctx.ui.notify("said");
  } });
  pi.registerCommand("start", { description: "start a run", handler: async (args) => {
    pi.sendMessage(message(args), { triggerTurn: true });
  } });
  const parameters = { type: "object", properties: { path: { type: "string" } }, required: ["path"] };
  pi.registerTool({ name: "alone", label: "alone", description: "alone", parameters, executionMode: "sequential",
    execute: async (_id, { path }) => ({ content: [{ type: "text", text: "alone with " + path }], details: {} }) });
}
`;

async function notified(pi: Pi, command: string): Promise<void> {
  const told = pi.waitFor((record) => record.method === "notify");
  await pi.send({ type: "prompt", message: command });
  await told;
}

/** Sends a prompt and, at an event of its run, something else; resolves when Pi has settled. */
async function during(pi: Pi, message: string, event: string, then: () => Promise<unknown>): Promise<void> {
  const runs = pi.waitFor((record) => record.type === event);
  const settled = pi.waitFor((record) => record.type === "agent_settled");
  await pi.send({ type: "prompt", message });
  await runs;
  await then();
  await settled;
}

/** Called when a model does not answer. */
let hangs = () => {};

async function live(sandbox: Sandbox, args: string[]): Promise<void> {
  writeFileSync(join(sandbox.projectDir, "i.png"), Buffer.from(png, "base64"));
  const pi = startPiRpc(sandbox, [...args, ...loaded(sandbox, "talker", talker)], { deadlineMs: timeout });
  await pi.prompt("do [greeted] read a.txt; bash sleep 0.4 && echo slow & bash echo fast & read b.txt");
  // Commands are told apart by their `; `.
  const waiting = "bash until test -e go;do sleep 0.05;done";
  await during(pi, `do [busy] ${waiting}; read a.txt`, "tool_execution_start", async () => {
    await pi.send({ type: "follow_up", message: "do [after] bash seq 1 200" });
    await pi.send({ type: "steer", message: "do [steered] read c.txt" });
    await pi.send({ type: "steer", message: "And mind the gap." });
    writeFileSync(join(sandbox.projectDir, "go"), "");
  });
  await during(pi, "do [stopped] read d.txt & bash sleep 30", "tool_execution_end", () => pi.send({ type: "abort" }));
  await pi.prompt("do [on] read d.txt & bash seq 200 500");
  await pi.send({ type: "bash", command: "seq 500 800" });
  await pi.send({ type: "bash", command: "echo not for the model", excludeFromContext: true });
  await pi.send({ type: "bash", command: "false" });
  await pi.prompt("do [ran] read e.txt; bash echo steer me; bash echo change me; bash echo edit me; read f.txt");
  await notified(pi, "/say Words for the next turn.");
  await pi.prompt("do [batch] read g.txt & alone g.txt & bash seq 1 200");
  const settled = pi.waitFor((record) => record.type === "agent_settled");
  await pi.send({ type: "prompt", message: "/start do [started] read h.txt; read a.txt" });
  await settled;
  await pi.prompt("do [failing] read a.txt; fail 503; bash seq 800 1000; fail 429; read b.txt");
  await pi.prompt("do [refused] read c.txt; fail 400");
  await pi.prompt("do [broken] read b.txt; break; bash seq 1000 1200");
  const hung = new Promise<void>((resolve) => {
    hangs = resolve;
  });
  await during(pi, "do [hung] read c.txt; hang", "agent_start", async () => {
    await hung;
    await pi.send({ type: "abort" });
  });
  await pi.prompt("do [again] read d.txt; nonsense x; bash exit 3");
  const images = [{ type: "image", data: png, mimeType: "image/png" }];
  const seen = pi.waitFor((record) => record.type === "agent_settled");
  await pi.send({ type: "prompt", message: "do [seen] read i.png; read a.txt & read i.png", images });
  await seen;
  await pi.send({ type: "set_thinking_level", level: "high" });
  await pi.prompt("do [harder] read e.txt");
  await pi.send({ type: "set_thinking_level", level: "off" });
  await pi.prompt("do [lightly] read f.txt; read g.txt; read h.txt");
  expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });
  expect(pi.records.filter((record) => record.type === "extension_error")).toEqual([]);
}

test.each(paired(settings))("everything in a run, $wire, $name", { timeout }, async ({ wire, palimpsest }) => {
  const model = { input: ["text", "image"], reasoning: true };
  const options = { files, palimpsest, model, settings: { retry: { baseDelayMs: 5 } } };
  const { plain, ours, sandbox } = await withAndWithout(wire, () => obedient(() => hangs()), live, options);
  expect(expectAllFaithful(plain, ours).missing > 0).toBe(palimpsest === collapsing);
  expect(JSON.stringify(ours)).not.toContain("not for the model");
  const said = allText(ours.at(-1));
  for (const words of [
    "Before the run.",
    "In the middle.",
    "Words for the next turn.",
    "And mind the gap.",
    "Did broken.",
    "[image]",
  ]) {
    expect(said).toContain(words);
  }
  await expectRecorded(sandbox);
});
