// What `/context` does to a session, in all modes but the terminal, and Pi's option `--no-context`.
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runPi, runPiJson, startPiRpc } from "../../scripts/lib/pi.js";
import type { ScriptedModel, Step } from "../../scripts/lib/scripted-model.js";
import { contextToolNames, expectPairedCalls, extension, said, start, toolNames } from "./support.ts";

const newest = (model: ScriptedModel) => {
  const { body } = model.requests[model.requests.length - 1];
  return JSON.stringify(body.messages.filter(({ role }) => role !== "system"));
};

const readsOnce: Step[] = [
  { calls: [{ name: "bash", args: { command: "seq 1 1500" } }] },
  { calls: [{ name: "read", args: { path: "my notes.txt" } }] },
  ...Array.from({ length: 20 }, () => ({ text: "Done." })),
];
const files = { "my notes.txt": "alpha\nbeta\ngamma\n" };

test("/context activate adds a text to the next message, once", async () => {
  const { model, sandbox } = await start(readsOnce, { files });
  const pi = startPiRpc(sandbox, ["-e", extension]);
  await pi.prompt("go");
  expect(newest(model)).not.toContain("700\\n701\\n702");
  expect(await said(pi, "/context activate t1 700-702")).toMatch(
    /^`t1 700-702` goes to the model with the next message: bash · lines 700-702 of 1,500 · \d+ tokens$/,
  );
  expect(await said(pi, "/context activate my notes.txt /be.a/")).toMatch(
    /^`my notes\.txt` goes to the model with the next message: f1 · lines 1-3 of 3 · \d+ tokens$/,
  );
  expect(await said(pi, "/context activate t1 /none such/")).toBe("`t1`: bash · no line matches `none such`");
  expect(await said(pi, "/context activate t99")).toContain("UNKNOWN_NAME");
  expect(await said(pi, "/context activate")).toBe("Which one? `/context activate NAME [LINES] [/PATTERN/]`");
  await pi.prompt("and now?");
  const messages = model.requests[model.requests.length - 1].body.messages;
  const last = JSON.stringify(messages.at(-1));
  expect(last).toMatch(/\[t1\] bash · lines 700-702 of 1,500\\n700\\n701\\n702".*my notes\.txt · .*beta.*and now\?/);
  await pi.prompt("again");
  expect(newest(model).split("700\\n701\\n702")).toHaveLength(2);
  expectPairedCalls(model);
  expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });
});

test("/context layout changes requests, also after a resume", async () => {
  const { model, sandbox } = await start(readsOnce, { files });
  const pi = startPiRpc(sandbox, ["-e", extension]);
  await pi.prompt("go");
  const pool = /^\[\{"role":"user","content":(\[\{"type":"text","text":)?"id=call_0_0 type=toolcall/;
  expect(newest(model)).not.toMatch(pool);
  expect(await said(pi, "/context layout circles")).toBe(
    "`circles` is not a layout. Choose one of these: `log`, `pools`",
  );
  expect(await said(pi, "/context layout log")).toBe("The layout is `log` already.");
  expect(await said(pi, "/context layout pools")).toMatch(/^The layout is `pools` in this session/);
  await pi.prompt("and now?");
  expect(newest(model)).toMatch(pool);
  expect(await said(pi, "/context settings lay")).toBe(
    'layout                 "pools"  (set here by `/context layout`)',
  );
  expect(await said(pi, "/context")).toContain("layout `pools`");
  expectPairedCalls(model);
  expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });
  const resumed = startPiRpc(sandbox, ["-e", extension, "--continue"]);
  await resumed.prompt("still?");
  expect(newest(model)).toMatch(pool);
  expect(await said(resumed, "/context layout log")).toMatch(/^The layout is `log` in this session/);
  await resumed.prompt("and back?");
  expect(newest(model)).not.toMatch(pool);
  expect(await resumed.close()).toMatchObject({ code: 0, stderr: "" });
  const fresh = startPiRpc(sandbox, ["-e", extension]);
  expect(await said(fresh, "/context layout")).toBe("Which one? `/context layout log|pools`");
  expect(await said(fresh, "/context settings layout")).toContain("(default)");
  await fresh.close();
});

test("/context thrift weighs faults anew, also after a resume", async () => {
  const { sandbox } = await start(readsOnce, { files });
  const pi = startPiRpc(sandbox, ["-e", extension]);
  await pi.prompt("go");
  expect(await said(pi, "/context")).toContain("thrift `balanced`: with it recorded sessions cost 0.41 of plain");
  expect(await said(pi, "/context thrift mean")).toBe(
    "`mean` is not a thrift. Choose one of these: `careful`, `balanced`, `thrifty`",
  );
  expect(await said(pi, "/context thrift balanced")).toBe("The thrift is `balanced` already.");
  expect(await said(pi, "/context thrift careful")).toBe(
    "The thrift is `careful` in this session from the next call on.",
  );
  expect(await said(pi, "/context settings thr")).toBe(
    'thrift                 "careful"  (set here by `/context thrift`)',
  );
  await pi.prompt("and now?");
  expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });
  const resumed = startPiRpc(sandbox, ["-e", extension, "--continue"]);
  expect(await said(resumed, "/context")).toContain("thrift `careful`: with it recorded sessions cost 0.47 of plain");
  expect(await resumed.close()).toMatchObject({ code: 0, stderr: "" });
});

test("/context acts while the model's tools run, too", async () => {
  const { model, sandbox } = await start(
    [
      { calls: [{ name: "bash", args: { command: "seq 1 1500" } }] },
      {
        calls: [{ name: "bash", args: { command: "touch began; while [ ! -e go ]; do sleep 0.05; done; echo over" } }],
      },
      { calls: [{ name: "read", args: { path: "my notes.txt" } }] },
      { text: "Done." },
    ],
    { files },
  );
  const pi = startPiRpc(sandbox, ["-e", extension]);
  const settled = pi.waitFor(({ type }) => type === "agent_settled");
  await pi.send({ type: "prompt", message: "go" });
  await expect.poll(() => existsSync(join(sandbox.projectDir, "began")), { timeout: 20_000 }).toBe(true);
  expect(await said(pi, "/context activate t1 700-702")).toContain("goes to the model with the next message");
  expect(await said(pi, "/context layout pools")).toContain("The layout is `pools`");
  expect(await said(pi, "/context layout log")).toContain("The layout is `log`");
  writeFileSync(join(sandbox.projectDir, "go"), "");
  await settled;
  const results = model.requests[2].body.messages.filter(({ role }) => role === "tool");
  expect(JSON.stringify(results.at(-1))).toMatch(/over\\n.*\[t1\] bash · lines 700-702 of 1,500\\n700\\n701\\n702/);
  expectPairedCalls(model);
  expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });
  expect(pi.records.filter(({ type }) => type === "extension_error")).toEqual([]);
});

test("/context export writes an archive and no other file", async () => {
  const { sandbox } = await start(readsOnce, { files: { ...files, "key.txt": `token = "ghp_${"a1B2".repeat(9)}"\n` } });
  const pi = startPiRpc(sandbox, ["-e", extension, "--session-id", "mine"]);
  await pi.prompt("go");
  const own = join(sandbox.projectDir, "palimpsest-mine.jsonl");
  for (const _ of [1, 2]) {
    expect(await said(pi, "/context export")).toMatch(
      /^Wrote `.*palimpsest-mine\.jsonl`: \d+ objects in \d+ versions, /,
    );
  }
  expect(readFileSync(own, "utf8")).toContain("beta");
  expect(await said(pi, "/context export my.jsonl --redact")).toContain("0 secrets left out");
  expect(existsSync(join(sandbox.projectDir, "my.jsonl"))).toBe(true);
  writeFileSync(join(sandbox.projectDir, "kept.txt"), "mine");
  expect(await said(pi, "/context export kept.txt")).toContain("is there already, and nothing was written");
  expect(readFileSync(join(sandbox.projectDir, "kept.txt"), "utf8")).toBe("mine");
  expect(await said(pi, "/context export --redact my own.jsonl")).toContain("my own.jsonl`: ");
  expect(existsSync(join(sandbox.projectDir, "my own.jsonl"))).toBe(true);
  expect(await said(pi, "/context export --redacted")).toBe(
    "`--redacted` is not an option, and nothing was written. There is `--redact`.",
  );
  expect(readdirSync(sandbox.projectDir).sort()).toEqual([
    "kept.txt",
    "key.txt",
    "my notes.txt",
    "my own.jsonl",
    "my.jsonl",
    "palimpsest-mine.jsonl",
  ]);
  expect(await said(pi, "/context export no/such/folder.jsonl")).toContain("(FILE)");
  expect(await pi.close()).toMatchObject({ code: 0 });
});

test("/context settings says who set each one", async () => {
  const { sandbox } = await start([{ text: "Hello." }], {
    palimpsest: { prices: "openai", keepResults: 6, track: false },
    files: { ".pi/palimpsest.json": '{ "keepResults": 7, "exclude": ["*.mine"] }' },
  });
  const store = join(sandbox.dir, "elsewhere", "my.sqlite");
  const pi = startPiRpc(sandbox, ["-e", extension], { env: { PALIMPSEST_STORE: store } });
  await pi.prompt("hi");
  const listed = await said(pi, "/context settings");
  const row = (key: string) => listed.split("\n").find((line) => line.startsWith(`${key} `)) ?? "";
  const project = join(sandbox.projectDir, ".pi", "palimpsest.json");
  const user = join(sandbox.agentDir, "palimpsest.json");
  expect(row("keepResults")).toBe(`keepResults            7  (set by the project's file, \`${project}\`)`);
  expect(row("excludeAlso")).toBe(`excludeAlso            ["*.mine"]  (set by the project's file, \`${project}\`)`);
  expect(row("track")).toBe(`track                  false  (set by your file, \`${user}\`)`);
  expect(row("store")).toBe(`store                  "${store}"  (set by the environment, \`PALIMPSEST_STORE\`)`);
  expect(row("highWater")).toBe("highWater              0.7  (default)");
  expect(existsSync(store)).toBe(true);
  expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });
});

test("print and json mode say it in text beside the answers", async () => {
  const { model, sandbox } = await start(readsOnce, { files });
  await runPi(sandbox, ["-e", extension, "-p", "go"]);
  const printed = await runPi(sandbox, ["-e", extension, "--continue", "-p", "/context"]);
  // Pi prints the newest answer again.
  expect(printed).toMatchObject({ code: 0, stdout: "Done.\n" });
  expect(printed.stderr).toMatch(/^window {4}[\d.]+k tokens in the last request, of 1M that the model takes; /m);
  expect(printed.stderr).toMatch(/by kind, as we count: .*outputs [\d.]+k? \(\d+ %\)/);
  const json = await runPiJson(sandbox, ["-e", extension, "--continue", "/context objects"]);
  expect(json.stderr).toMatch(/^f1 +in the window +my notes\.txt$/m);
  expect(json.events.map(({ type }) => type)).not.toContain("agent_start");
  expect(model.requests).toHaveLength(3);
});

test("--no-context gives plain Pi, and says so", async () => {
  const answers = [{ text: "Hello." }, { text: "Hello." }, { text: "Hello." }];
  const { model, sandbox } = await start(answers, { trusted: false });
  const plain = await runPi(sandbox, ["-e", extension, "-p", "hi", "--no-context"]);
  expect(plain).toMatchObject({ code: 0, stdout: "Hello.\n", stderr: "" });
  expect(toolNames(model.requests[0].body)).toEqual(["read", "bash", "edit", "write"]);
  expect(existsSync(join(sandbox.agentDir, "palimpsest"))).toBe(false);
  const swallowed = await runPi(sandbox, ["-e", extension, "-p", "--no-context", "hi"]);
  expect(swallowed.stderr).toContain("Pi took `hi` for the value of `--no-context`, not for a prompt");
  expect(model.requests).toHaveLength(1);
  const pi = startPiRpc(sandbox, ["-e", extension, "--no-context"]);
  expect(await said(pi, "/context")).toBe(
    "Palimpsest is off in this session: Pi was started with `--no-context`\nTo turn it on: `/context on`, or start Pi without it",
  );
  await pi.prompt("hi");
  expect(await said(pi, "/context on")).toBe("Palimpsest is on again in this session.");
  await pi.prompt("hi");
  expect(toolNames(model.requests[2].body)).toEqual(["read", "bash", "edit", "write", ...contextToolNames]);
  expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });
});
