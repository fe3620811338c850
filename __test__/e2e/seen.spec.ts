// What the person in front of Pi sees at a glance, and `/context off`: the status line, notices, and what goes out meanwhile.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runPi, startPiRpc } from "../../scripts/lib/pi.js";
import type { RequestBody, Step } from "../../scripts/lib/scripted-model.js";
import { useModel } from "./providers.ts";
import { contextToolNames, extension, said, start, toolNames } from "./support.ts";

type Pi = ReturnType<typeof startPiRpc>;

/** What a long output is like. */
const lines = (of: string, count: number) =>
  Array.from({ length: count }, (_, at) => `line ${at} of ${of}: ${(at * 7919) % 1009} widgets\n`).join("");

const rates = { input: 3, output: 0, cacheRead: 0.3, cacheWrite: 0 };

function statusLines(pi: Pi): string[] {
  return pi.records.filter((record) => record.statusKey === "palimpsest").map((record) => String(record.statusText));
}

test("only the first visible session explains what is on", async () => {
  const { sandbox } = await start(() => ({ text: "Hello." }));
  // A script's output is not a place for it.
  const script = await runPi(sandbox, ["-e", extension, "-p", "hi"]);
  expect(script).toMatchObject({ code: 0, stdout: "Hello.\n", stderr: "" });
  const informed = async () => {
    const pi = startPiRpc(sandbox, ["-e", extension]);
    await pi.prompt("hi");
    expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });
    expect(new Set(statusLines(pi))).toEqual(new Set(["palimpsest on"]));
    return pi.records.filter((record) => record.method === "notify").map((record) => String(record.message));
  };
  const store = join(sandbox.agentDir, "palimpsest", "store.sqlite");
  expect(await informed()).toEqual([expect.stringContaining(`on this machine, in \`${store}\``)]);
  expect(await informed()).toEqual([]);
});

test("the status line has cost and window of the current model", async () => {
  const files = Object.fromEntries([0, 1, 2, 3].map((n) => [`f${n}.txt`, lines(`file ${n}`, 1_200)]));
  // Twice the same: the second time a line stands for what is in the window.
  const { model, sandbox } = await start(
    ({ n }) => (n < 8 ? { calls: [{ name: "read", args: { path: `f${n % 4}.txt` } }] } : { text: "Read." }),
    { files, palimpsest: {} },
  );
  const models = [
    { id: "dear", contextWindow: 200_000, maxTokens: 8_000, cost: rates },
    { id: "large", contextWindow: 1_000_000, maxTokens: 8_000, cost: rates },
  ];
  useModel(sandbox, { baseUrl: model.baseUrl, api: "openai-completions", apiKey: "none", models });
  const pi = startPiRpc(sandbox, ["-e", extension]);
  await pi.prompt("Read them, twice.");
  expect(statusLines(pi).at(-1)).toMatch(/^palimpsest \$0\.\d\d saved \(\d+ %\) · [\d.]+k of 200k$/);
  await pi.send({ type: "set_model", provider: "scripted", modelId: "large" });
  expect(statusLines(pi).at(-1)).toMatch(/^palimpsest \$0\.\d\d saved \(\d+ %\) · [\d.]+k of 1M$/);
  expect(await said(pi, "/context")).toMatch(/^cost {6}\$0\.\d+ for input so far; plain Pi \$0\.\d+, so \d+ % saved$/m);
  expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });
});

test("after a switch from a model without a price sums are Pi's", async () => {
  const usage = (body: RequestBody): Step["usage"] => ({ in: body.model === "free" ? 900_000 : 70_000 });
  const { model, sandbox } = await start(({ body }) => ({ text: "Hello.", usage: usage(body) }), { palimpsest: {} });
  const models = [
    { id: "free", contextWindow: 1_000_000, maxTokens: 8_000 },
    { id: "dear", contextWindow: 1_000_000, maxTokens: 8_000, cost: rates },
  ];
  useModel(sandbox, { baseUrl: model.baseUrl, api: "openai-completions", apiKey: "none", models });
  const pi = startPiRpc(sandbox, ["-e", extension]);
  await pi.prompt("Hi.");
  await pi.send({ type: "set_model", provider: "scripted", modelId: "dear" });
  await pi.prompt("And you?");
  const stats = (await pi.send({ type: "get_session_stats" })) as { data?: { cost?: number } };
  // Output is free here: Pi counts it, we do not.
  expect(stats.data?.cost).toBeCloseTo(0.21, 5);
  const report = await said(pi, "/context");
  expect(report).toContain("the provider reports $0.21 for the input of 1 call, ");
  expect(report).toContain("not in it: 1 call to models that are free or whose price is not known");
  expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });
});

test("/context off gives plain Pi, and /context on undoes that", async () => {
  const { model, sandbox } = await start(
    ({ n }) => (n === 0 ? { calls: [{ name: "read", args: { path: "a.txt" } }] } : { text: "Fine." }),
    { files: { "a.txt": lines("the file", 800) }, palimpsest: { previewReads: true, prices: "openai" } },
  );
  const sent = () => {
    const { body } = model.requests[model.requests.length - 1];
    return { tools: toolNames(body), whole: JSON.stringify(body).includes("line 400 of the file") };
  };
  const plainTools = ["read", "bash", "edit", "write"];
  const pi = startPiRpc(sandbox, ["-e", extension]);
  await pi.prompt("read a.txt");
  expect(sent()).toEqual({ tools: [...plainTools, ...contextToolNames], whole: false });
  expect(await said(pi, "/context off")).toContain("`/context on` turns it on again");
  expect(statusLines(pi).at(-1)).toBe("palimpsest off: you turned it off here");
  await pi.prompt("and now?");
  expect(sent()).toEqual({ tools: plainTools, whole: true });
  expect(await said(pi, "/context")).toBe(
    "Palimpsest is off in this session: you turned it off here\nTo turn it on: `/context on`",
  );
  expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });

  const resumed = startPiRpc(sandbox, ["-e", extension, "--continue"]);
  await resumed.prompt("still off?");
  expect(statusLines(resumed)).toEqual(["palimpsest off: you turned it off here"]);
  expect(sent()).toEqual({ tools: plainTools, whole: true });
  expect(await said(resumed, "/context on")).toBe("Palimpsest is on again in this session.");
  await resumed.prompt("and now?");
  expect(statusLines(resumed).at(-1)).toBe("palimpsest on");
  expect(sent()).toEqual({ tools: [...plainTools, ...contextToolNames], whole: false });
  // Both calls without us are in the account.
  expect(await said(resumed, "/context")).toMatch(/in it: as much as .* for 2 calls with Pi's own messages$/m);
  expect(await said(resumed, "/context of")).toMatch(/^`\/context of` is not known\. `\/context` takes:\noverview /);
  expect(await resumed.close()).toMatchObject({ code: 0, stderr: "" });

  const fresh = startPiRpc(sandbox, ["-e", extension]);
  await fresh.prompt("hi");
  expect(statusLines(fresh).at(-1)).toBe("palimpsest on");
  await fresh.close();
});

test("a person reads how large a plain request will be", async () => {
  const files = Object.fromEntries([0, 1, 2, 3].map((n) => [`f${n}.txt`, lines(`file ${n}`, 1_200)]));
  const { model, sandbox } = await start(
    ({ n }) => (n < 4 ? { calls: [{ name: "read", args: { path: `f${n}.txt` } }] } : { text: "Read." }),
    { files, palimpsest: {} },
  );
  const models = [{ id: "dear", contextWindow: 50_000, maxTokens: 8_000, cost: rates }];
  useModel(sandbox, { baseUrl: model.baseUrl, api: "openai-completions", apiKey: "none", models });
  const size = /The next request has about [\d.]+k tokens.*, \d+ % of the 50k that the model takes\./;
  const price = /The first call costs about \$0\.\d+, since no cache holds it\./;
  const pi = startPiRpc(sandbox, ["-e", extension]);
  await pi.prompt("Read them.");
  const requests = model.requests.length;
  const off = await said(pi, "/context off");
  expect(off).toMatch(size);
  expect(off).toMatch(price);
  expect(off).toContain("Pi may compact before it.");
  expect(model.requests).toHaveLength(requests);
  expect(await said(pi, "/context on")).toContain("on again");
  expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });

  const without = await runPi(sandbox, ["-e", extension, "--continue", "-p", "And?", "--no-context"]);
  expect(without.stderr).toMatch(size);
  expect(without.stderr).toMatch(price);
  const fresh = await runPi(sandbox, ["-e", extension, "-p", "Hi.", "--no-context"]);
  expect(fresh).toMatchObject({ code: 0, stderr: "" });
});

test("the status line names a setting that turns it off", async () => {
  const { sandbox } = await start([{ text: "Hello." }], { palimpsest: { enabled: false } });
  const pi = startPiRpc(sandbox, ["-e", extension]);
  await pi.prompt("hi");
  expect(statusLines(pi)).toEqual(["palimpsest off: the setting `enabled` is false"]);
  expect(await said(pi, "/context on")).toContain("To turn it on: remove `enabled` from");
  writeFileSync(join(sandbox.agentDir, "palimpsest.json"), "{}");
  expect(await said(pi, "/context on")).toContain("Palimpsest is on");
  expect(statusLines(pi).at(-1)).toBe("palimpsest on");
  await pi.close();
});

test("/context lists, shows, explains and releases objects", async () => {
  const steps: Step[] = [
    { calls: [{ name: "read", args: { path: "a.txt" } }] },
    { calls: [{ name: "bash", args: { command: "seq 1 1500" } }] },
    { calls: [{ name: "write", args: { path: "a.txt", content: "two\n" } }] },
    { calls: [{ name: "pin", args: { name: "f1" } }] },
    { text: "Done." },
    { text: "Again." },
  ];
  const { model, sandbox } = await start(steps, { files: { "a.txt": "one\n" } });
  const pi = startPiRpc(sandbox, ["-e", extension]);
  await pi.prompt("go");
  const objects = await said(pi, "/context objects");
  expect(objects).toMatch(/^f1 +pinned +a\.txt$/m);
  expect(objects).toMatch(/^t\d+ +in the window +bash seq 1 1500$/m);
  expect(await said(pi, "/context objects pinned")).toMatch(/^f1 .*$/);
  expect(await said(pi, "/context objects nothing like it")).toBe("No file or output fits `nothing like it`.");
  const [, bash] = /^(t\d+) .*seq 1 1500/m.exec(objects) ?? [];
  const text = await said(pi, `/context show ${bash}`);
  expect(text).toMatch(/^1\n2\n/);
  expect(text).toMatch(
    /\n60\n… [\d.]+k? more lines: `node \S+palimpsest\.js show t\d+ --session session:\S+` prints all$/,
  );
  expect(await said(pi, "/context show a.txt")).toBe("two");
  expect(await said(pi, "/context show f1@-1")).toBe("one");
  expect(await said(pi, "/context history f1")).toMatch(
    /^latest {2}\d+ s ago {2}4 chars\n@-1 {5}\d+ s ago {2}4 chars$/,
  );
  expect(await said(pi, `/context why ${bash}`)).toMatch(
    /^In call 5:\nt\d+\n {2}an excerpt of what the host gave: lines 1-/,
  );
  expect(await said(pi, "/context why")).toContain(`${bash}\n`);
  expect(await said(pi, "/context unpin f1")).toBe(
    "`f1` is no longer pinned: what stands of it may leave as any other text does.",
  );
  expect(await said(pi, `/context pin ${bash}`)).toContain(`until \`/context unpin ${bash}\`.`);
  expect(await said(pi, "/context objects pinned")).toMatch(new RegExp(`^${bash} +pinned .*$`));
  const [, write] = /^(t\d+) .*write /m.exec(objects) ?? [];
  expect(await said(pi, `/context pin ${write}`)).toContain("If it is not there, it comes with the next message.");
  for (const name of [bash, write]) {
    expect(await said(pi, `/context unpin ${name}`)).toBe(
      `\`${name}\` is no longer pinned: what stands of it may leave as any other text does.`,
    );
  }
  expect(await said(pi, `/context unpin ${write}`)).toBe(`${write} is not pinned`);
  expect(await said(pi, "/context why nothing.like")).toContain("nothing.like");
  expect(await said(pi, "/context why nothing.like")).not.toContain("left the window");
  expect(await said(pi, "/context objects pinned")).toBe("No file or output fits `pinned`.");
  // The call that read a file stands for it.
  await said(pi, "/context pin t1");
  expect(await said(pi, "/context objects pinned")).toMatch(/^f1 .*$/);
  for (const _ of ["once", "again"]) {
    expect(await said(pi, `/context deactivate ${bash}`)).toMatch(
      /^`t\d+` leaves the window with the next epoch: [\d,]+ tokens\.$/,
    );
  }
  expect(await said(pi, `/context name ${bash} the-run`)).toContain("is named `the-run`");
  expect(await said(pi, "/context show the-run")).toMatch(/^1\n2\n3\n/);
  expect(await said(pi, "/context describe the-run the first run")).toContain("is described");
  expect(await said(pi, "/context name the-run")).toContain("A name and a nickname are needed");
  expect(await said(pi, "/context show")).toBe("Which one? `/context show NAME`");
  expect(await said(pi, "/context show f99")).toContain("UNKNOWN_NAME");
  await pi.prompt("again");
  // What was pinned stands there already.
  expect(JSON.stringify(model.requests.at(-1)?.body.messages.at(-1))).not.toContain(" · line");
  await pi.send({ type: "new_session" });
  expect(await said(pi, "/context objects")).toBe("No file and no output yet.");
  expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });
});
