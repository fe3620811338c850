// Whatever breaks in Palimpsest, OpenClaw works as without it: its own messages go out, the person is told once, the log and `palimpsest
// doctor` have it, and when it is mended nothing is lost.
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createOpenClawSandbox, type OpenClawSandbox, runLocal, runOpenClaw } from "../../scripts/lib/openclaw.js";
import { type Gateway, startGateway } from "../../scripts/lib/openclaw-gateway.js";
import type { RequestBody, Step } from "../../scripts/lib/scripted-model.js";
import { asOtherUser, missingOtherUser, palimpsest, toolNames } from "../e2e/support.ts";
import { call, fromNow, isPaired, lines, linkPalimpsest, type Puppet, startPuppet } from "./support.ts";

interface Doctor {
  installation: {
    openclaw: { log: { failures: number; newest: string | null } };
    findings: { kind: string; problem: string }[];
  };
}

const files = { "log.sh": "i=0; while [ $i -lt 900 ]; do i=$((i + 1)); echo $1 number $i; done\n" };
const log = (word: string) => call("exec", { command: `sh log.sh ${word}` });
const look = (name: string, lines: string) => call("activate", { name, lines });
const results = (body: RequestBody) => lines(body).filter((line) => line.startsWith("tool: "));
const wholeOf = (word: string) => expect.stringContaining(`${word} number 450\n`);
const partOf = (handle: string) => expect.stringMatching(new RegExp(`… \\d+ lines between \\(${handle}:`));
let model: Puppet;
let sandbox: OpenClawSandbox;
let gateway: Gateway;

beforeAll(async () => {
  model = await startPuppet();
  sandbox = await createOpenClawSandbox({ baseUrl: model.baseUrl, files });
  linkPalimpsest(sandbox);
  breakable(join(sandbox.dir, "palimpsest"));
  mkdirSync(sandbox.store);
  gateway = await startGateway(sandbox);
});

afterAll(async () => {
  await gateway?.stop();
  await model?.close();
  await sandbox?.remove();
});

/** Puts a layer around the addon whose sessions fail in the method that a file names. */
function breakable(folder: string): void {
  renameSync(join(folder, "index.js"), join(folder, "real.js"));
  const methods = ["transformContext", "commitTurn", "showResult"];
  const layer = `
    import { readFileSync } from "node:fs";
    import * as real from "./real.js";
    export * from "./real.js";
    const broken = () => { try { return readFileSync(${JSON.stringify(join(sandbox.dir, "broken"))}, "utf8"); } catch { return ""; } };
    export async function openSession(store, options) {
      const session = await real.openSession(store, options);
      for (const method of ${JSON.stringify(methods)}) {
        const own = session[method].bind(session);
        session[method] = async (...given) => {
          if (broken() === method) throw new Error(method + " is broken");
          return own(...given);
        };
      }
      return session;
    }
  `;
  writeFileSync(join(folder, "index.js"), layer);
}

/** While something is done, a method of the sessions fails. */
async function whileBroken<T>(method: string, work: () => Promise<T>): Promise<T> {
  writeFileSync(join(sandbox.dir, "broken"), method);
  try {
    return await work();
  } finally {
    rmSync(join(sandbox.dir, "broken"));
  }
}

/** Plays a turn, which always succeeds; resolves to its requests. */
async function turn(sessionKey: string, message: string, ...steps: Step[]): Promise<RequestBody[]> {
  const since = fromNow(model);
  model.play(...steps);
  const answer = await gateway.agent({ sessionKey, message });
  expect(answer, JSON.stringify(answer)).toMatchObject({ status: "ok" });
  const requests = since();
  expect(requests.map(isPaired)).toEqual(requests.map(() => true));
  return requests;
}

/** What a person was told in the host's log, from here on. */
function told(): () => string[] {
  const all = () =>
    `${gateway.outcome.stdout}\n${gateway.outcome.stderr}`.split("\n").filter((line) => line.includes("Palimpsest: "));
  const before = new Set(all());
  return () => all().filter((line) => !before.has(line));
}

const logged = () => {
  const file = join(sandbox.stateDir, "palimpsest", "palimpsest.log");
  return existsSync(file) ? readFileSync(file, "utf8") : "";
};

/** How many failures `palimpsest doctor` finds in the log. */
const failuresByDoctor = () => palimpsest<Doctor>(sandbox, "doctor").installation.openclaw.log.failures;
const said = async (sessionKey: string, args = "") => (await gateway.chat(`/palimpsest ${args}`, { sessionKey })).text;

describe("a store that cannot be opened", () => {
  const key = "agent:main:shut";

  test("leaves OpenClaw as without it, and is told once", async () => {
    const notices = told();
    const [first, second] = await turn(key, "one", log("apple"), { text: "one" });
    expect(results(second)).toEqual([wholeOf("apple")]);
    expect(toolNames(first)).toContain("activate");
    rmdirSync(sandbox.store);
    writeFileSync(sandbox.store, "garbage ".repeat(4_000), { mode: 0o600 });
    const again = await turn(key, "two", look("t1", "5"), log("berry"), { text: "two" });
    expect(results(again[1])[1]).toContain("Palimpsest is off in this session");
    expect(results(again[2])).toEqual([wholeOf("apple"), expect.anything(), wholeOf("berry")]);
    expect(notices()).toEqual([expect.stringContaining("STORE_UNAVAILABLE"), expect.stringContaining("STORE_CORRUPT")]);
    expect(logged()).toMatch(/STORE_UNAVAILABLE[\s\S]*STORE_CORRUPT/);
    expect(await said(key)).toMatch(/^Palimpsest is off in this session: .*STORE_CORRUPT/);
    expect(palimpsest<{ error: { code: string } }>(sandbox, "doctor")).toMatchObject({
      error: { code: "STORE_CORRUPT" },
    });
  });

  test("is on again as soon as it is mended, with all that was", async () => {
    expect(readFileSync(sandbox.store, "utf8")).toMatch(/^garbage /);
    rmSync(sandbox.store);
    const [, looked] = await turn(key, "three", look("t2", "7"), { text: "three" });
    expect(results(looked).at(-1)).toContain("berry number 7");
    expect(await said(key, "objects")).toMatch(/t1 +.*apple[\s\S]*t2 +.*berry/);
  });
});

test("an error in `assemble` sends OpenClaw's own messages", async () => {
  const key = "agent:main:assemble";
  await turn(key, "one", log("cherry"), { text: "one" });
  const notices = told();
  const known = failuresByDoctor();
  const _broken = await whileBroken("transformContext", async () => [
    ...(await turn(key, "two", log("damson"), { text: "two" })),
    ...(await turn(key, "three", log("elder"), { text: "three" })),
  ]);
  expect(notices()).toEqual([expect.stringContaining("transformContext is broken")]);
  expect(logged()).toContain("transformContext is broken");
  expect(failuresByDoctor()).toBeGreaterThan(known);
  expect(await said(key)).toContain("the last call went out with OpenClaw's own messages: transformContext is broken");
  const [next, , , looked] = await turn(key, "four", look("t1", "7"), look("t2", "8"), look("t3", "9"), {
    text: "four",
  });
  expect(results(looked).slice(-3)).toEqual([
    expect.stringContaining("cherry number 7"),
    expect.stringContaining("damson number 8"),
    expect.stringContaining("elder number 9"),
  ]);
  expect(lines(next).filter((line) => line.startsWith("user: "))).toHaveLength(4);
  expect(await said(key)).not.toContain("the last call went out with");
});

test("a turn whose `commitTurn` fails is stored later", async () => {
  const key = "agent:main:commit";
  await turn(key, "one", log("fig"), { text: "one" });
  const notices = told();
  await whileBroken("commitTurn", () => turn(key, "two", log("grape"), { text: "two" }));
  expect(notices()).toEqual([expect.stringContaining("commitTurn is broken")]);
  const three = await turn(key, "three", look("t1", "7"), look("t2", "8"), log("hazel"), { text: "three" });
  expect(results(three[3]).slice(2)).toEqual([
    expect.stringContaining("fig number 7"),
    expect.stringContaining("grape number 8"),
    partOf("t3"),
  ]);
  const four = await turn(key, "four", look("t3", "9"), { text: "four" });
  expect(results(four[1]).at(-1)).toContain("hazel number 9");
  expect((await said(key, "objects")).match(/^t\d+ /gm)).toHaveLength(3);
});

test("an error in the middleware: the tool's own result goes out", async () => {
  const key = "agent:main:middleware";
  const notices = told();
  const [, one] = await whileBroken("showResult", () => turn(key, "one", log("ivy"), { text: "one" }));
  expect(results(one)).toEqual([wholeOf("ivy")]);
  expect(notices()).toEqual([expect.stringContaining("showResult is broken")]);
  const [, two] = await turn(key, "two", look("t1", "7"), { text: "two" });
  expect(results(two).at(-1)).toContain("ivy number 7");
});

test("a store deleted at run time is reported and replaced", async () => {
  const key = "agent:main:deleted";
  await turn(key, "one", log("kiwi"), { text: "one" });
  for (const end of ["", "-wal", "-shm"]) {
    rmSync(`${sandbox.store}${end}`, { force: true });
  }
  const notices = told();
  const two = await turn(key, "two", log("lemon"), { text: "two" });
  expect(results(two[1]).at(-1)).toEqual(wholeOf("lemon"));
  const three = await turn(key, "three", log("mango"), look("t1", "8"), { text: "three" });
  expect(results(three[1]).at(-1)).toContain("lines between");
  expect(results(three[2]).at(-1)).toContain("lemon number 8");
  expect(notices()).toEqual([expect.stringContaining("STORE_GONE"), expect.stringContaining("is new: one with")]);
  expect(logged()).toContain("STORE_GONE");
});

test("`agent exec` loads no engine and is plain OpenClaw", async () => {
  await gateway.stop();
  const since = fromNow(model);
  model.play(log("olive"), { text: "done" });
  const finished = await runOpenClaw(sandbox, ["agent", "exec", "--json", "go"]);
  expect(finished, finished.stderr).toMatchObject({ code: 0 });
  expect(results(since()[1])).toEqual([wholeOf("olive")]);
  expect(toolNames(since()[0])).not.toContain("activate");
  expect(finished.stderr).toContain('Context engine "palimpsest" degraded to "legacy"');
});

test.skipIf(missingOtherUser())("a store that may not be written", async () => {
  const since = fromNow(model);
  model.play(log("nut"), { text: "done" });
  const launcher = asOtherUser(sandbox.dir);
  for (const end of ["", "-wal", "-shm"]) {
    if (existsSync(`${sandbox.store}${end}`)) {
      chmodSync(`${sandbox.store}${end}`, 0o400);
    }
  }
  const finished = await runLocal(sandbox, { message: "go", sessionKey: "agent:main:readonly" }, { launcher });
  expect(finished, finished.stderr).toMatchObject({ code: 0, answer: { payloads: [{ text: "done" }] } });
  expect(results(since()[1])).toEqual([wholeOf("nut")]);
  expect(finished.stderr.match(/Palimpsest: /g)).toHaveLength(1);
  expect(finished.stderr).toContain("READ_ONLY");
});
