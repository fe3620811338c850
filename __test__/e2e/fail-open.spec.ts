// Whatever breaks in Palimpsest, Pi works as without it: its own messages and tools, one notice, the cause in the log.
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Finished, runPi, type Sandbox, startPiRpc } from "../../scripts/lib/pi.js";
import type { ScriptedModel, Step } from "../../scripts/lib/scripted-model.js";
import {
  asOtherUser,
  contextToolNames,
  conversation,
  copyOfPackage,
  entryOf,
  extension,
  missingOtherUser,
  palimpsest,
  said,
  start,
  toolNames,
} from "./support.ts";

const files = { "a.txt": "hello\n" };
const steps: Step[] = [{ calls: [{ name: "read", args: { path: "a.txt" } }] }, { text: "It says hello." }];
const builtIns = ["read", "bash", "edit", "write"];

/** Asserts that the run was plain Pi's, and that the user was told once. */
async function expectPlainPi(model: ScriptedModel, sandbox: Sandbox, finished: Finished, tools = builtIns) {
  expect(finished).toMatchObject({ code: 0, stdout: "It says hello.\n" });
  expect(finished.stderr.match(/Palimpsest/g), finished.stderr).toHaveLength(1);
  const plain = await start(steps, { files });
  await runPi(plain.sandbox, ["-p", "read a.txt"]);
  expect(conversation(model, sandbox.dir)).toEqual(conversation(plain.model, plain.sandbox.dir));
  expect(toolNames(model.requests[0].body)).toEqual(tools);
}

function errorsLog(sandbox: Sandbox): string {
  return readFileSync(join(sandbox.agentDir, "palimpsest", "palimpsest.log"), "utf8");
}

function storeFile(sandbox: Sandbox): string {
  mkdirSync(join(sandbox.agentDir, "palimpsest"), { recursive: true });
  return join(sandbox.agentDir, "palimpsest", "store.sqlite");
}

describe("a store that cannot be used", () => {
  test("a folder in its place", async () => {
    const { model, sandbox } = await start(steps, { files });
    mkdirSync(storeFile(sandbox));
    const finished = await runPi(sandbox, ["-e", extension, "-p", "read a.txt"]);
    await expectPlainPi(model, sandbox, finished);
    expect(errorsLog(sandbox)).toContain("STORE_UNAVAILABLE");
  });

  test("a corrupt file", async () => {
    const { model, sandbox } = await start(steps, { files });
    writeFileSync(storeFile(sandbox), "garbage ".repeat(4_000), { mode: 0o600 });
    const finished = await runPi(sandbox, ["-e", extension, "-p", "read a.txt"]);
    await expectPlainPi(model, sandbox, finished);
    expect(errorsLog(sandbox)).toContain("STORE_CORRUPT");
    expect(readFileSync(storeFile(sandbox), "utf8")).toMatch(/^garbage /);
  });

  test.skipIf(missingOtherUser())("a file that may not be written", async () => {
    const earlier = await start([{ text: "ok" }]);
    await runPi(earlier.sandbox, ["-e", extension, "-p", "make a store"]);
    const { model, sandbox } = await start(steps, { files });
    const folder = dirname(storeFile(sandbox));
    cpSync(join(earlier.sandbox.agentDir, "palimpsest"), folder, { recursive: true });
    const launcher = asOtherUser(sandbox.dir);
    for (const name of readdirSync(folder)) {
      chmodSync(join(folder, name), 0o400);
    }
    const finished = await runPi(sandbox, ["-e", extension, "-p", "read a.txt"], { launcher });
    await expectPlainPi(model, sandbox, finished);
    expect(errorsLog(sandbox)).toContain("READ_ONLY");
  });
});

describe("settings that are wrong", () => {
  test("do not count, and are named", async () => {
    const { sandbox } = await start(steps, { files });
    const file = join(sandbox.agentDir, "palimpsest.json");
    const values = { ...JSON.parse(readFileSync(file, "utf8")), layuot: "log", prices: "acme", enabled: "yes" };
    writeFileSync(file, JSON.stringify(values));
    const finished = await runPi(sandbox, ["-e", extension, "-p", "read a.txt"]);
    expect(finished).toMatchObject({ code: 0 });
    for (const said of ["`layuot` is not a setting", "`prices` must be", "`enabled` must be", "the rest counts"]) {
      expect(finished.stderr).toContain(said);
    }
    expect(palimpsest<{ sessions: object[] }>(sandbox, "sessions").sessions).toHaveLength(1);
  });

  test("that are no JSON are named, and Palimpsest stays off", async () => {
    const { model, sandbox } = await start(steps, { files });
    writeFileSync(join(sandbox.agentDir, "palimpsest.json"), `{"layuot": `);
    const finished = await runPi(sandbox, ["-e", extension, "-p", "read a.txt"]);
    await expectPlainPi(model, sandbox, finished);
    expect(finished.stderr).toContain("not JSON");
    expect(finished.stderr).toContain("INVALID_SETTINGS");
  });

  test("stay in sight where there is a UI", async () => {
    const { sandbox } = await start(steps, { files });
    writeFileSync(join(sandbox.agentDir, "palimpsest.json"), `{"layuot": `);
    const pi = startPiRpc(sandbox, ["-e", extension]);
    await pi.prompt("read a.txt");
    expect(await said(pi, "/context")).toMatch(
      /^Palimpsest is off in this session: .*not JSON.*\nTo turn it on: put that right, then `\/context on`$/,
    );
    writeFileSync(join(sandbox.agentDir, "palimpsest.json"), "{}");
    expect(await said(pi, "/context on")).toContain("Palimpsest is on");
    await pi.close();
    const status = pi.records.filter((record) => record.statusKey === "palimpsest").map((record) => record.statusText);
    expect(status).toEqual([expect.stringMatching(/^palimpsest off: palimpsest\.json: not JSON: /), "palimpsest on"]);
  });

  test("of a project count only when it is trusted", async () => {
    const { model, sandbox } = await start(steps, {
      files: { ...files, ".pi/settings.json": "{}", ".pi/palimpsest.json": `{"layuot": "log"}` },
    });
    const finished = await runPi(sandbox, ["-e", extension, "-p", "read a.txt"]);
    expect(finished).toMatchObject({ code: 0, stderr: "" });
    expect(toolNames(model.requests[0].body)).toEqual([...builtIns, ...contextToolNames]);
  });
});

describe("an addon that throws", () => {
  test("when it is loaded", async () => {
    const copy = copyOfPackage();
    writeFileSync(join(copy, "index.js"), `throw new Error("no binary for this platform");\n`);
    const { model, sandbox } = await start(steps, { files });
    const finished = await runPi(sandbox, ["-e", entryOf(copy), "-p", "read a.txt"]);
    await expectPlainPi(model, sandbox, finished);
    expect(errorsLog(sandbox)).toContain("no binary for this platform");
    const asked = await runPi(sandbox, ["-e", entryOf(copy), "-p", "/context settings"]);
    expect(asked.stderr).toMatch(/no binary for this platform\n$/);
  });

  test("because it was not built", async () => {
    const copy = copyOfPackage();
    for (const name of readdirSync(copy).filter((each) => each.endsWith(".node"))) {
      rmSync(join(copy, name));
    }
    writeFileSync(join(copy, "Cargo.toml"), "");
    const { model, sandbox } = await start(steps, { files });
    const finished = await runPi(sandbox, ["-e", entryOf(copy), "-p", "read a.txt"]);
    await expectPlainPi(model, sandbox, finished);
    expect(finished.stderr).toContain("is not built (NO_ADDON); hint: run `npm install` and `npm run build` in `");
    expect(finished.stderr, "there is no log then").not.toContain("Details");
  });

  test("because its binary is broken", async () => {
    const copy = copyOfPackage();
    const binaries = readdirSync(copy).filter((name) => name.endsWith(".node"));
    expect(binaries.length).toBeGreaterThan(0);
    for (const name of binaries) {
      writeFileSync(join(copy, name), "not a library");
    }
    const { model, sandbox } = await start(steps, { files });
    const finished = await runPi(sandbox, ["-e", entryOf(copy), "-p", "read a.txt"]);
    await expectPlainPi(model, sandbox, finished);
    expect(finished.stderr).toMatch(/does not load: .*\(NO_ADDON\); hint: install palimpsest again/);
  });

  // The real addon, but for one method of the session.
  const throwing = (method: string) => `
    import * as real from "./real.js";
    export * from "./real.js";
    export async function openSession(store, options) {
      const session = await real.openSession(store, options);
      session.${method} = async () => { throw new Error("${method} is broken"); };
      return session;
    }
  `;

  test.each(["transformContext", "recordToolCall", "close"])("in %s", async (method) => {
    const copy = copyOfPackage();
    renameSync(join(copy, "index.js"), join(copy, "real.js"));
    writeFileSync(join(copy, "index.js"), throwing(method));
    const { model, sandbox } = await start(steps, { files });
    const finished = await runPi(sandbox, ["-e", entryOf(copy), "-p", "read a.txt"]);
    await expectPlainPi(model, sandbox, finished, [...builtIns, ...contextToolNames]);
    expect(errorsLog(sandbox)).toContain(`${method} is broken`);
  });

  test("in explainFailedEdit leaves Pi's own error", async () => {
    const copy = copyOfPackage();
    renameSync(join(copy, "index.js"), join(copy, "real.js"));
    writeFileSync(join(copy, "index.js"), throwing("explainFailedEdit"));
    const args = { path: "a.txt", edits: [{ oldText: "hullo", newText: "x" }] };
    const { model, sandbox } = await start([{ calls: [{ name: "edit", args }] }, { text: "ok" }], { files });
    const finished = await runPi(sandbox, ["-e", entryOf(copy), "-p", "go"]);
    expect(finished).toMatchObject({ code: 0, stdout: "ok\n" });
    expect(finished.stderr.match(/Palimpsest/g), finished.stderr).toHaveLength(1);
    const said = model.requests[1].body.messages.at(-1)?.content;
    expect(said).toMatch(/^Could not find the exact text in a\.txt\. [^\n]*$/);
    expect(errorsLog(sandbox)).toContain("explainFailedEdit is broken");
  });

  test("is told by one notification where there is a UI", async () => {
    const copy = copyOfPackage();
    renameSync(join(copy, "index.js"), join(copy, "real.js"));
    writeFileSync(join(copy, "index.js"), throwing("transformContext"));
    const { sandbox } = await start([...steps, { text: "again" }], { files });
    const pi = startPiRpc(sandbox, ["-e", entryOf(copy)]);
    await pi.prompt("read a.txt");
    await pi.prompt("once more");
    await pi.close();
    const notices = pi.records.filter((record) => record.notifyType === "warning");
    expect(notices).toHaveLength(1);
    expect(notices[0]).toMatchObject({ message: expect.stringContaining("transformContext") });
    expect(pi.records.filter((record) => record.type === "extension_error")).toEqual([]);
    expect(existsSync(join(sandbox.agentDir, "palimpsest", "palimpsest.log"))).toBe(true);
  });
});

test("the log at `debug` has the duration of each handler", async () => {
  const { sandbox } = await start([...steps, ...steps], { files });
  const log = join(sandbox.agentDir, "palimpsest", "palimpsest.log");
  await runPi(sandbox, ["-e", extension, "-p", "read a.txt"]);
  expect(existsSync(log)).toBe(false);
  await runPi(sandbox, ["-e", extension, "-p", "read a.txt"], { env: { PALIMPSEST_LOG: "debug" } });
  const lines = readFileSync(log, "utf8").trimEnd().split("\n");
  expect(lines.filter((line) => line.includes(" is open: "))).toEqual([
    expect.stringMatching(
      / info session session:\S+ is open: palimpsest 0\.1\.0 \(native\), Pi [\d.]+, Node v[\d.]+, .*, store \S+\.sqlite$/,
    ),
  ]);
  for (const hook of ["session_start", "context_with_system", "tool_result", "message_end", "session_shutdown"]) {
    expect(
      lines.some((line) => new RegExp(` ${hook} took \\d+\\.\\d ms$`).test(line)),
      hook,
    ).toBe(true);
  }
});
