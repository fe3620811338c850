// What the store of a real Pi session holds of excluded files and of outputs that Pi cut: every value of every table is
// searched, decompressed where it is compressed.
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { openStore } from "../../index.js";
import { runPi } from "../../scripts/lib/pi.js";
import { storeHolds as holds, storeOf, valuesOf } from "./store-bytes.ts";
import { expectPairedCalls, extension, start } from "./support.ts";

const secret = "sk-7f3a9c";

const missingRipgrep = spawnSync("rg", ["--version"]).status !== 0;

function call(name: string, args: unknown) {
  return { name, args };
}

describe("an excluded file", () => {
  const steps = [
    { calls: [call("read", { path: ".env" })] },
    { calls: [call("bash", { command: "cat .env" })] },
    { calls: [call("bash", { command: "cat .e*; grep -rn KEY ." })] },
    { calls: [call("write", { path: ".env", content: `NEW=${secret}\n` })] },
    { calls: [call("edit", { path: ".env", edits: [{ oldText: secret, newText: `${secret}1` }] })] },
    { text: "Done." },
    { text: "And on." },
  ];

  test.each([
    { name: "by default", exclude: undefined, held: false },
    { name: "not where nothing is excluded", exclude: [], held: true },
  ])("reaches only the model: $name", async ({ exclude, held }) => {
    const { model, sandbox } = await start(steps, { files: { ".env": `KEY=${secret}\n` } });
    writeFileSync(join(sandbox.agentDir, "palimpsest.json"), JSON.stringify({ exclude }));
    const finished = await runPi(sandbox, ["-e", extension, "-p", "go"]);
    expect(finished).toMatchObject({ code: 0, stdout: "Done.\n", stderr: "" });
    const again = await runPi(sandbox, ["-e", extension, "-p", "--continue", "and now?"]);
    expect(again).toMatchObject({ code: 0, stdout: "And on.\n", stderr: "" });
    expectPairedCalls(model);
    const [before, after] = model.requests.slice(-2).map(({ body }) => body.messages);
    expect(after.slice(0, before.length)).toEqual(before);
    expect(JSON.stringify(after).split(secret).length).toBeGreaterThan(5);
    expect(holds(storeOf(sandbox.agentDir), secret)).toBe(held);
  });
});

test("no command gets an excluded file into the store", async () => {
  const commands = [
    "git init -q && git add -f .env k.pem && git -c user.name=a -c user.email=a@b commit -qm x && echo done",
    "git show HEAD:.env",
    "git cat-file -p HEAD:k.pem",
    "git log -p --color=always",
    "git grep --heading KEY",
    "git grep --heading -n -e KEY HEAD",
    "grep -rn KEY . --include='*.pem'",
    `python3 -c "print(open('.env').read())"`,
    `node -e "console.log(require('fs').readFileSync(\\"k.pem\\", 'utf8'))"`,
    "find . -name .env -exec cat {} +",
    "cat .{env,foo}; bash -c 'cat {k,l}.pem'",
    "cp k.pem k.pem.bak; cp .env '#.env#'; cp .env prod.env; echo done",
    "cat k.pem.bak",
    "cat '#.env#'",
    "cat prod.env",
    "ln .env notes.txt; ln -s k.pem more.txt; echo done",
    "cat notes.txt",
    "head -n 9 more.txt",
    "tail -n +1 notes.txt k.pem src.txt",
    "echo stored-$((6 * 7))",
    ...(missingRipgrep ? [] : ["rg --heading -uu KEY", "rg --json -uu KEY", "rg -p -uu KEY", "rg -uu --vimgrep KEY"]),
  ];
  const steps = [...commands.map((command) => ({ calls: [call("bash", { command })] })), { text: "Done." }];
  const files = { ".env": `KEY=${secret}\n`, "k.pem": `KEY=${secret}\n`, "src.txt": "KEY of it all\n" };
  const { model, sandbox } = await start(steps, { files });
  expect(await runPi(sandbox, ["-e", extension, "-p", "go"])).toMatchObject({ code: 0, stdout: "Done.\n", stderr: "" });
  const shown = JSON.stringify(model.requests.at(-1)?.body.messages);
  expect(shown.split(secret).length).toBeGreaterThan(commands.length - 3);
  expect(holds(storeOf(sandbox.agentDir), secret)).toBe(false);
  expect(holds(storeOf(sandbox.agentDir), "stored-42")).toBe(true);
});

test("an output that Pi cut is stored whole", async () => {
  const command = "seq 1 800000";
  const { sandbox } = await start([{ calls: [call("bash", { command })] }, { text: "ok" }]);
  expect(await runPi(sandbox, ["-e", extension, "-p", "go"])).toMatchObject({ code: 0, stdout: "ok\n", stderr: "" });
  const whole = Buffer.from(Array.from({ length: 800_000 }, (_, n) => `${n + 1}\n`).join(""));
  expect(whole.length).toBeGreaterThan(5_000_000);
  expect([...valuesOf(storeOf(sandbox.agentDir))].some((value) => value.equals(whole))).toBe(true);
});

test("a forgotten session stays forgotten, and Pi works on", async () => {
  const { model, sandbox } = await start([{ text: "One." }, { text: "Two." }], { files: { "a.txt": `${secret}\n` } });
  await runPi(sandbox, ["-e", extension, "-p", `my key is ${secret}`]);
  const path = storeOf(sandbox.agentDir);
  expect(holds(path, secret)).toBe(true);
  const store = await openStore({ path });
  await store.maintenance.forget(sessionIn(path), { dryRun: false });
  await store.close();
  const finished = await runPi(sandbox, ["-e", extension, "-p", "--continue", "and now?"]);
  expect(finished).toMatchObject({ code: 0, stdout: "Two.\n" });
  expect(finished.stderr).toBe("Palimpsest: off for this session, which you had forgotten; Pi works as without it\n");
  expect(JSON.stringify(model.requests[1].body.messages)).toContain(secret);
  expect(holds(path, secret)).toBe(false);
});

/** The ID of the session document of a store that has one. */
function sessionIn(path: string): string {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    return String(database.prepare("SELECT id FROM object WHERE type = 'session'").get()?.id);
  } finally {
    database.close();
  }
}
