// A store that fails while a session is open: the user is told once, the model gets a sentence that it can act on, and the session
// goes on in another store, which a later Pi finds.
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openStore } from "../../index.js";
import { runPi, type Sandbox, startPiRpc } from "../../scripts/lib/pi.js";
import type { Step } from "../../scripts/lib/scripted-model.js";
import { extension, start, temporaryFolder } from "./support.ts";

const text = `${Array.from({ length: 400 }, (_, at) => `line ${at + 1} of the file`).join("\n")}\n`;
const steps: Step[] = [
  { calls: [{ name: "read", args: { path: "a.txt" } }] },
  { text: "Read." },
  { calls: [{ name: "activate", args: { name: "t1" } }] },
  { text: "Went on." },
  { text: "Went on again." },
  { text: "Came back." },
];

function folder(sandbox: Sandbox): string {
  return join(sandbox.agentDir, "palimpsest");
}

function storeFile(sandbox: Sandbox): string {
  return join(folder(sandbox), "store.sqlite");
}

function removeStore(sandbox: Sandbox): void {
  for (const name of readdirSync(folder(sandbox)).filter((each) => each.startsWith("store.sqlite"))) {
    rmSync(join(folder(sandbox), name));
  }
}

/** The file of another store, which is whole and private. */
async function otherStore(): Promise<string> {
  const path = join(temporaryFolder(), "store.sqlite");
  await (await openStore({ path })).close();
  return path;
}

/** Runs a session. `fail` is called when the model is asked for the `at`th time, from 0; what it answers then runs in the failed store. */
async function session(at: number, fail: (sandbox: Sandbox) => void) {
  let running: Sandbox | undefined;
  const { model, sandbox } = await start(
    ({ n }: { n: number }) => {
      if (n === at && running !== undefined) {
        fail(running);
      }
      return steps[n] ?? { text: "?" };
    },
    { files: { "a.txt": text } },
  );
  running = sandbox;
  const pi = startPiRpc(sandbox, ["-e", extension]);
  await pi.prompt("read a.txt");
  await pi.prompt("bring it back");
  await pi.prompt("go on");
  const { code, stderr } = await pi.close();
  expect([code, stderr]).toEqual([0, ""]);
  const of = (key: string, value: string, what: string) =>
    pi.records.filter((record) => record[key] === value).map((record) => String(record[what]));
  return {
    sandbox,
    // That the new store lacks what the old one held is news of its own.
    notices: of("notifyType", "warning", "message").filter((notice) => !notice.includes(" is new: ")),
    status: of("statusKey", "palimpsest", "statusText"),
    results: (model.requests.at(-1)?.body.messages ?? []).filter((message) => message.tool_call_id !== undefined),
  };
}

/** What the chats of a store hold. */
async function chatsIn(path: string): Promise<string> {
  const store = await openStore({ path, create: false });
  try {
    const chats = await store.query("type = chat");
    return JSON.stringify(await Promise.all(chats.map((chat) => store.items(chat.id))));
  } finally {
    await store.close();
  }
}

/** Number of calls that the newest session of a store recorded. */
async function callsIn(path: string): Promise<number> {
  const store = await openStore({ path, create: false });
  try {
    const [session] = await store.query("type = session");
    const events = (await store.items(session.id)).map((item) => JSON.parse(item));
    return events.filter(({ event }) => event === "called").length;
  } finally {
    await store.close();
  }
}

const garbage = (sandbox: Sandbox) => writeFileSync(storeFile(sandbox), "garbage ".repeat(20_000));
const failures: [how: string, fail: (sandbox: Sandbox) => void, place: string, code: string][] = [
  ["deleted", removeStore, "store.sqlite", "STORE_GONE"],
  ["deleted without its log", (sandbox) => rmSync(storeFile(sandbox)), "store.sqlite", "STORE_GONE"],
  ["overwritten", garbage, "store-2.sqlite", "STORE_CORRUPT"],
  ["cut to nothing", (sandbox) => truncateSync(storeFile(sandbox), 0), "store-2.sqlite", "STORE_CORRUPT"],
];

describe.skipIf(process.platform !== "linux")("a store that fails while a session is open", () => {
  // Before a call of the model, and before a call of our tool.
  const cases = failures.flatMap(([how, ...rest]) => [1, 2].map((at) => [how, at, ...rest] as const));

  test.each(cases)("is replaced when %s at call %i", async (_how, at, fail, place, code) => {
    const { sandbox, notices, status, results } = await session(at, fail);
    const told = notices.filter((notice) => notice.includes("this session goes on in"));
    expect(told, notices.join("\n")).toHaveLength(1);
    expect(told[0]).toContain(code);
    expect(told[0]).toContain(place === "store.sqlite" ? "in the store that is there now" : place);
    expect(status.at(-1)?.includes("in store-2.sqlite")).toBe(place !== "store.sqlite");
    expect(readFileSync(join(folder(sandbox), "palimpsest.log"), "utf8")).toContain(code);
    const activated = JSON.stringify(results.at(-1)?.content);
    if (at === 2) {
      expect(notices, notices.join("\n")).toHaveLength(2);
      expect(activated).toContain("does not work right now, and the user has been told. Go on without it");
      expect(activated).not.toContain("STORE");
    } else {
      expect(notices, notices.join("\n")).toHaveLength(1);
      expect(activated).toContain("f1 unchanged; lines 1-400 stand in the read result above");
    }
    if (code === "STORE_GONE") {
      // A deleted file that is open can still be read.
      expect(told[0]).toContain("with all that it held");
      expect(await callsIn(join(folder(sandbox), place))).toBe(5);
    }
    // All that the model was shown is in the store that was named.
    const chats = await chatsIn(join(folder(sandbox), place));
    expect(chats).toContain("read a.txt");
    expect(chats).toContain("Went on.");
    if (place !== "store.sqlite") {
      expect(existsSync(storeFile(sandbox))).toBe(true);
    }

    const later = await runPi(sandbox, ["-e", extension, "--continue", "-p", "and later?"]);
    expect(later).toMatchObject({ code: 0, stdout: "Came back.\n" });
    expect(later.stderr.includes("is used instead")).toBe(place !== "store.sqlite");
    expect(await chatsIn(join(folder(sandbox), place))).toContain("and later?");
  });

  test("is written again when deleted after the last call", async () => {
    const { sandbox } = await start(steps, { files: { "a.txt": text } });
    const pi = startPiRpc(sandbox, ["-e", extension]);
    await pi.prompt("read a.txt");
    removeStore(sandbox);
    const { code, stderr } = await pi.close();
    expect(code).toBe(0);
    expect(stderr).toContain(
      "was moved or deleted (STORE_GONE): this session goes on in the store that is there now, with all",
    );
    expect(await callsIn(storeFile(sandbox))).toBe(2);
  });

  test("loses the end when overwritten after the last call", async () => {
    const { sandbox } = await start(steps, { files: { "a.txt": text } });
    const pi = startPiRpc(sandbox, ["-e", extension]);
    await pi.prompt("read a.txt");
    garbage(sandbox);
    const { code, stderr } = await pi.close();
    expect(code).toBe(0);
    expect(stderr).toContain("could not store the end of this session");
    expect(stderr).toContain("STORE_CORRUPT");
  });

  test("because another store took its place goes on there", async () => {
    const other = await otherStore();
    const { sandbox, notices } = await session(1, (running) => renameSync(other, storeFile(running)));
    expect(notices).toEqual([expect.stringContaining("was replaced by another file (STORE_GONE)")]);
    const chats = await chatsIn(storeFile(sandbox));
    expect(chats).toContain("read a.txt");
    expect(chats).toContain("Went on.");
  });

  test("is replaced when another store was copied over it", async () => {
    const other = await otherStore();
    const { sandbox, notices } = await session(1, (running) => copyFileSync(other, storeFile(running)));
    expect(notices).toEqual([expect.stringContaining("store-2.sqlite")]);
    expect(await chatsIn(join(folder(sandbox), "store-2.sqlite"))).toContain("Went on.");
  });

  test("is replaced by one in memory if no file can be created", async () => {
    const { sandbox, notices, status } = await session(1, (running) => {
      garbage(running);
      for (let number = 2; number <= 10; number += 1) {
        mkdirSync(join(folder(running), `store-${number}.sqlite`));
      }
    });
    expect(notices).toEqual([
      expect.stringContaining("goes on in memory, and nothing of it is kept beyond Pi's own file"),
    ]);
    expect(status.at(-1)).toContain("in memory");
    expect(readFileSync(storeFile(sandbox), "utf8")).toContain("garbage");
  });
});
