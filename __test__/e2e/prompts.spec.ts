// Changes of the system prompt and of the tools while a session goes on, by another extension: models that take them in the middle
// of the conversation get them where plain Pi puts them, and the others in front.
import { describe, expect, test } from "vitest";
import { type Sandbox, startPiRpc } from "../../scripts/lib/pi.js";
import { isEverything } from "../../scripts/lib/tiers.js";
import { numbered } from "./support.ts";
import { collapsing, expectAllFaithful, loaded, obedient, promptOf, sent, standing, withAndWithout } from "./wires.ts";

const timeout = 120_000;
const files = Object.fromEntries([..."abcde"].map((name) => [`${name}.txt`, numbered(name)]));

/** Another extension, which changes the prompt, the tools, or all of the prompt at once. */
const changing = `
export default function (pi) {
  let memory = "Nothing yet.";
  pi.on("before_agent_start", (event) => {
    memory = /remember (.*)/.exec(event.prompt ?? "")?.[1] ?? memory;
    event.systemPromptOptions.sections.memory = memory;
    return (event.prompt ?? "").includes("[forced]") ? { systemPrompt: event.systemPrompt + "\\n\\nBe a pirate." } : undefined;
  });
  const parameters = { type: "object", properties: { path: { type: "string" } }, required: ["path"] };
  pi.on("tool_result", ({ input }) => {
    if (String(input.command).includes("more tools")) {
      pi.registerTool({ name: "late", label: "late", description: "late", parameters,
        execute: async (_id, { path }) => ({ content: [{ type: "text", text: "late for " + path }], details: {} }) });
    }
  });
  pi.registerCommand("drop", { description: "drop it", handler: async (args, ctx) => {
    pi.setActiveTools(pi.getActiveTools().filter((name) => name !== args));
    ctx.ui.notify("dropped");
  } });
}
`;

/** Prompts, in two processes; commands begin with a slash. */
const play = (prompts: string[], later: string[]) => async (sandbox: Sandbox, args: string[]) => {
  for (const [each, more] of [
    [prompts, []],
    [later, ["--continue"]],
  ]) {
    const pi = startPiRpc(sandbox, [...args, ...loaded(sandbox, "changing", changing), ...more]);
    for (const prompt of each) {
      const told = pi.waitFor((record) => record.method === "notify" && record.message === "dropped");
      await (prompt.startsWith("/") ? pi.send({ type: "prompt", message: prompt }) : pi.prompt(prompt));
      await (prompt.startsWith("/") ? told : undefined);
      told.catch(() => {});
    }
    expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });
    expect(pi.records.filter((record) => record.type === "extension_error")).toEqual([]);
  }
};

const prompts = [
  "do [one] read a.txt; bash seq 1 300",
  "do [two] read b.txt; bash echo more tools; late x; read c.txt\nremember amber",
  "/drop write",
  "do [three] read d.txt; read a.txt; bash seq 1 300\nremember copper",
];
const later = ["do [four] read e.txt\nremember silver"];

/** Whether a request has all messages of the one before it, as they were. */
function continues(body: Record<string, unknown>, n: number, all: Record<string, unknown>[]): boolean {
  const before = sent(all[Math.max(n - 1, 0)]);
  return JSON.stringify(sent(body).slice(0, before.length)) === JSON.stringify(before);
}

/** Models that take both kinds of changes in the middle; the last one takes tools there only if they come on top. */
const models = [
  { wire: "anthropic", compat: { supportsMidConvoSystemMessages: true, supportsMidConvoToolChanges: true } },
  { wire: "responses", compat: { supportsMidConvoSystemMessages: true, supportsAdditionalTools: true } },
  { wire: "openai", compat: { supportsMidConvoSystemMessages: true, supportsMidConvoToolAdditions: true } },
] as const;

describe.each(models)("a model of $wire that takes changes in the middle", { timeout }, ({ wire, compat }) => {
  test("gets them there, and each request continues the one before", async () => {
    const options = { files, palimpsest: standing, model: { compat } };
    const { plain, ours } = await withAndWithout(wire, obedient, play(prompts, later), options);
    expectAllFaithful(plain, ours);
    expect(new Set(ours.map(promptOf))).toEqual(new Set([promptOf(plain[0])]));
    expect(promptOf(plain[0])).toContain("Nothing yet.");
    // In any order: a tool that is back comes last.
    const tools = (body: (typeof ours)[0]) => ((body.tools ?? []) as object[]).map((it) => JSON.stringify(it)).sort();
    const alike = (bodies: typeof ours) => bodies.map((body) => tools(body).join() === tools(bodies[0]).join());
    expect(alike(ours)).toEqual(alike(plain));
    // Where tools went, Pi itself writes those anew that came before.
    expect(plain.map(continues).filter((does) => !does).length).toBeLessThanOrEqual(1);
    expect(ours.map(continues)).toEqual(plain.map(continues));
  });

  // The format is no matter to what collapses.
  test.skipIf(!isEverything && wire !== "anthropic")(
    "gets them there where outputs collapse and steps fold",
    async () => {
      const options = { files, palimpsest: collapsing, model: { compat } };
      const { plain, ours } = await withAndWithout(wire, obedient, play(prompts, later), options);
      expect(expectAllFaithful(plain, ours).replaced).toBeGreaterThan(4);
      expect(new Set(ours.map(promptOf))).toEqual(new Set([promptOf(plain[0])]));
    },
  );
});

test("another extension's forced prompt is sent as by plain Pi", {
  timeout,
}, async () => {
  const [{ wire, compat }] = models;
  const forced = ["do [five] read b.txt; read a.txt", "do [forced] read c.txt", "do [six] read d.txt; bash seq 1 300"];
  const options = { files, palimpsest: collapsing, model: { compat } };
  const { plain, ours } = await withAndWithout(wire, obedient, play(prompts, forced), options);
  expect(ours.map(promptOf)).toEqual(plain.map(promptOf));
  expect(promptOf(ours[ours.length - 4])).toContain("Be a pirate.");
  expectAllFaithful(plain, ours);
});

test("a model that does not gets the current prompt and tools", {
  timeout,
}, async () => {
  const options = { files, palimpsest: collapsing };
  const { plain, ours } = await withAndWithout("openai", obedient, play(prompts, later), options);
  expect(ours.map(promptOf)).toEqual(plain.map(promptOf));
  expect(promptOf(ours[ours.length - 1])).toContain("silver");
  expectAllFaithful(plain, ours);
});
