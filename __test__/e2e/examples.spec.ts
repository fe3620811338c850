// The example extensions that Pi brings, beside Palimpsest: each does what it does without, in either order of loading, and the model
// sees what it sees without, but for lines that stand for content.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { piVersion, type Sandbox, startPiRpc } from "../../scripts/lib/pi.js";
import { piFolder } from "../../scripts/lib/pi-versions.js";
import { contextToolNames, extension, missing, numbered } from "./support.ts";
import {
  allText,
  collapsing,
  expectAllFaithful,
  expectFaithful,
  hasTools,
  obedient,
  played,
  promptOf,
  standing,
  type WireOptions,
} from "./wires.ts";

const timeout = 120_000;
const example = (name: string) => join(piFolder(piVersion), "examples", "extensions", name);

type Pi = ReturnType<typeof startPiRpc>;

/** Starts Pi with extensions, in this order. */
function start(sandbox: Sandbox, extensions: string[]): Pi {
  return startPiRpc(
    sandbox,
    extensions.flatMap((path) => ["-e", path]),
    { deadlineMs: timeout },
  );
}

async function finish(pi: Pi): Promise<void> {
  expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });
  expect(pi.records.filter((record) => record.type === "extension_error")).toEqual([]);
}

/** Adds the model that the example for compaction asks. */
function addGemini(sandbox: Sandbox): void {
  const path = join(sandbox.agentDir, "models.json");
  const { providers } = JSON.parse(readFileSync(path, "utf8"));
  const models = [{ id: "gemini-2.5-flash", contextWindow: 1_000_000, maxTokens: 8_000 }];
  writeFileSync(path, JSON.stringify({ providers: { ...providers, google: { ...providers.scripted, models } } }));
}

/** Answers the questions that extensions ask from now on, in this order. */
function answering(pi: Pi, answers: string[]): void {
  const [next, ...rest] = answers;
  if (next !== undefined) {
    const asked = pi.waitFor((record) => record.method === "select" || record.method === "confirm");
    asked.then(
      (question) => {
        pi.answer(question, next);
        answering(pi, rest);
      },
      () => {},
    );
  }
}

/** Plays with the examples alone, with ours loaded before them, and behind; resolves to the requests of each. */
async function inEachOrder<T>(
  names: string[],
  play: (sandbox: Sandbox, extensions: string[]) => Promise<T>,
  options: WireOptions,
) {
  const examples = names.map(example);
  const run = (extensions: string[]) => played("anthropic", obedient(), (it) => play(it, extensions), options);
  const plain = await run(examples);
  const ours = [await run([extension, ...examples]), await run([...examples, extension])];
  return { plain, ours };
}

describe("beside Palimpsest, loaded before it or after it", { timeout }, () => {
  test.skipIf(missing("rg"))("tool, permission and rule examples work as in plain Pi", async () => {
    const many = Array.from({ length: 6 }, (_, n) => [`src/part${n}.txt`, numbered(`${n}`).repeat(12)]);
    const files = {
      "a.txt": numbered("a"),
      "b.txt": numbered("b"),
      ".env": "KEY=hidden\n",
      ".claude/rules/testing.md": "Test it.\n",
      ...Object.fromEntries(many),
    };
    const names = ["tool-override.ts", "truncated-tool.ts", "permission-gate.ts", "claude-rules.ts"];
    const play = async (sandbox: Sandbox, extensions: string[]) => {
      const pi = start(sandbox, extensions);
      answering(pi, ["No", "Yes"]);
      await pi.prompt("do [one] read a.txt; rg line; read .env; bash rm -rf src/part0.txt; bash rm -rf src/part1.txt");
      await pi.prompt("do [two] read a.txt; read b.txt; bash seq 1 300; rg zebra; read .claude/rules/testing.md");
      await pi.prompt("do [three] read a.txt; read src/part0.txt; read src/part1.txt");
      await finish(pi);
      return readFileSync(join(sandbox.agentDir, "read-access.log"), "utf8").match(/(ALLOWED|BLOCKED): .*/g);
    };
    const { plain, ours } = await inEachOrder(names, play, { files, palimpsest: collapsing });
    const logged = (run: typeof plain) => run.result?.map((line) => line.replace(run.sandbox.dir, ""));
    expect(logged(plain)).toHaveLength(8);
    for (const run of ours) {
      expect(logged(run)).toEqual(logged(plain));
      expect(run.requests.map(promptOf)).toEqual(plain.requests.map(promptOf));
      expect(promptOf(run.requests[0])).toContain("- .claude/rules/testing.md");
      expect(expectAllFaithful(plain.requests, run.requests).replaced).toBeGreaterThan(4);
      const said = run.requests.map(allText).join("\n");
      expect(said).toContain('Access denied: ".env" matches');
      expect(said).toContain("Blocked by user");
      expect(said).not.toContain("KEY=hidden");
    }
    // Lines that the tool cut away are in the store.
    for (const extensions of [
      [extension, example("truncated-tool.ts")],
      [example("truncated-tool.ts"), extension],
    ]) {
      const ask = async (sandbox: Sandbox) => {
        const pi = start(sandbox, extensions);
        await pi.prompt("do [one] rg line; activate t1");
        await finish(pi);
      };
      const run = await played("anthropic", obedient(), ask, { files, palimpsest: collapsing });
      expect(allText(run.requests[1])).toMatch(/lines between \(t1:\d+-\d+\)/);
      expect(allText(run.requests[2])).toMatch(/\[t1\] rg · lines 1-\d+ of 2,96\d\b/);
    }
  });

  test("plan-mode", async () => {
    const files = Object.fromEntries([..."abcd"].map((name) => [`${name}.txt`, numbered(name)]));
    const play = async (sandbox: Sandbox, extensions: string[]) => {
      const pi = start(sandbox, extensions);
      await pi.prompt("do [first] read a.txt; bash seq 1 300");
      await pi.send({ type: "prompt", message: "/plan" });
      answering(pi, ["Stay in plan mode", "Execute the plan (track progress)"]);
      writeFileSync(join(sandbox.projectDir, "a.txt"), numbered("a").replace("line 7 ", "line seven "));
      const steps = "say Plan:\\n1. Look at the file again\\n2. Change the other file";
      await pi.prompt(`do [plan] read b.txt; bash rm a.txt; bash cat a.txt; ${steps}`);
      await pi.prompt(`do [again] read c.txt; ${steps}`);
      await pi.prompt("do [done] read d.txt; read a.txt; say [DONE:1] [DONE:2] All steps are done.");
      await pi.prompt("do [after] read b.txt; bash seq 1 300");
      await finish(pi);
    };
    const { plain, ours } = await inEachOrder(["plan-mode/index.ts"], play, { files, palimpsest: standing });
    const tools = (body: Record<string, unknown>) => (body.tools as { name: string }[]).map(({ name }) => name);
    const isOwn = (name: string) => contextToolNames.includes(name);
    for (const { requests } of ours) {
      expectAllFaithful(plain.requests, requests);
      for (const [n, body] of plain.requests.entries()) {
        expect(tools(requests[n]).filter((name) => !isOwn(name))).toEqual(tools(body));
        expect(tools(requests[n]).filter(isOwn)).toEqual(contextToolNames);
      }
      const said = requests.map(allText);
      expect(said.some((text) => text.includes("[PLAN MODE ACTIVE]"))).toBe(true);
      expect(said.at(-1)).not.toContain("[PLAN MODE ACTIVE]");
      expect(said.some((text) => text.includes("Plan mode: command blocked"))).toBe(true);
      // The change before the plan is told with the prompt, though the mode's words stand behind it.
      const told = said.find((text) => text.includes("do [plan]")) ?? "";
      expect(told).toContain("a.txt changed on disk");
    }
  });

  test("custom-compaction is not needed at the threshold", async () => {
    const play = async (sandbox: Sandbox, extensions: string[]) => {
      addGemini(sandbox);
      const pi = start(sandbox, extensions);
      const outputs = Array.from({ length: 18 }, (_, at) => at + 1).map(
        (n) => `bash for i in $(seq 1 600); do echo "run ${n} case $i as before"; done`,
      );
      // Commands are told apart by their `; `.
      await pi.prompt(`do [one] ${outputs.map((each) => each.replaceAll("; ", ";")).join("; ")}`);
      await finish(pi);
      return pi.records;
    };
    const settings = { compaction: { keepRecentTokens: 4_000 } };
    // Below 65,536 Pi asks more often, and an extension that was loaded before hears of it.
    const options = { contextWindow: 66_000, settings, palimpsest: standing };
    const { plain, ours } = await inEachOrder(["custom-compaction.ts"], play, options);
    const told = (run: typeof plain) =>
      run.result.filter(({ message }) => String(message).startsWith("Custom compaction: "));
    const compacted = (run: typeof plain) => run.result.some(({ type, result }) => type === "compaction_end" && result);
    expect({ told: told(plain).length > 0, compacted: compacted(plain) }).toEqual({ told: true, compacted: true });
    for (const run of ours) {
      expect({ told: told(run).length > 0, compacted: compacted(run) }).toEqual({ told: false, compacted: false });
      expect(run.requests.every(hasTools)).toBe(true);
      expect(allText(run.requests.at(-1))).toContain("run 18 case 600 as before");
    }
  });

  test("custom-compaction answers /compact", async () => {
    const files = Object.fromEntries([..."abcd"].map((name) => [`${name}.txt`, numbered(name)]));
    const settings = { compaction: { keepRecentTokens: 1 } };
    const play = async (sandbox: Sandbox, extensions: string[]) => {
      addGemini(sandbox);
      const pi = start(sandbox, extensions);
      await pi.prompt("do [one] read a.txt; bash seq 1 300");
      await pi.prompt("do [two] read b.txt; read a.txt");
      await pi.send({ type: "compact" });
      await pi.prompt("do [three] read c.txt; read a.txt; bash seq 1 300");
      await finish(pi);
      return pi.records.filter(({ method }) => method === "notify").map(({ message }) => String(message));
    };
    const { plain, ours } = await inEachOrder(["custom-compaction.ts"], play, {
      files,
      palimpsest: collapsing,
      settings,
    });
    const summaries = (bodies: Record<string, unknown>[]) => bodies.filter((body) => !hasTools(body));
    expect(summaries(plain.requests)).toHaveLength(1);
    for (const { requests, result } of ours) {
      expect(summaries(requests)).toHaveLength(1);
      expect(JSON.stringify(summaries(requests))).toContain("You are a conversation summarizer.");
      expect(result.some((message) => message.startsWith("Custom compaction: summarizing"))).toBe(true);
      const [last, plainLast] = [requests, plain.requests].map((bodies) => bodies[bodies.length - 1]);
      expectFaithful(plainLast, last);
      expect(allText(last)).toContain("What happened so far: some commands ran.");
      expect(allText(last)).toMatch(/\[s1\] turns? .* in full/);
    }
  });
});

test("sub-agents, each with a Pi of its own", { timeout }, async () => {
  const files = Object.fromEntries([..."abcd"].map((name) => [`${name}.txt`, numbered(name)]));
  const play = async (sandbox: Sandbox, extensions: string[]) => {
    mkdirSync(join(sandbox.agentDir, "agents"));
    const agent = "---\nname: scout\ndescription: looks\n---\nYou are a scout.\n";
    writeFileSync(join(sandbox.agentDir, "agents", "scout.md"), agent);
    const path = join(sandbox.agentDir, "settings.json");
    writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, "utf8")), extensions }));
    const pi = start(sandbox, [example("subagent/index.ts")]);
    await pi.prompt(
      "do [one] read a.txt; delegate [sub] read b.txt, bash seq 1 300, read b.txt, read a.txt; read b.txt",
    );
    await finish(pi);
  };
  const plain = await played("anthropic", obedient(), (it) => play(it, []), { files, palimpsest: collapsing });
  const ours = await played("anthropic", obedient(), (it) => play(it, [extension]), { files, palimpsest: collapsing });
  expectAllFaithful(plain.requests, ours.requests);
  expect(ours.requests.length).toBeGreaterThan(7);
});
