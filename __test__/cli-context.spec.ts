// `palimpsest context` in a process of its own: what it prints of a call, and that this is what went out.
import { describe, expect, test } from "vitest";
import { type CallChange, type Message, openSession, openStore, type RecordedCall } from "../index.js";
import { type Desk, desk } from "./command.ts";
import { patient, step, user } from "./sessions.ts";

type Printed = Omit<RecordedCall, "messages"> & { messages: Message[] };

const long = Array.from({ length: 3_000 }, (_, line) => `line ${line} of a long output`).join("\n");
const tools = [{ name: "bash", description: "runs", parameters: {} }];
const info = { systemPrompt: "You are it.", tools, model: { provider: "p", id: "m", contextWindow: 200_000 } };

/** A desk with a session of three calls; what each sent. */
async function played(): Promise<{ at: Desk; sent: Message[][] }> {
  const at = desk();
  const store = await openStore({ path: at.store });
  const session = await openSession(store, { harness: "test", sessionId: "host-1", cwd: at.folder, settings: patient });
  const list = [user("Run it.")];
  const sent: Message[][] = [];
  for (const more of [[], step(1, long), step(2, "done\n")]) {
    list.push(...more);
    sent.push(await session.transformContext([...list], info));
  }
  await session.preparePayload({ messages: [{ role: "user", content: "Changed by another." }] });
  await session.close();
  await store.close();
  return { at, sent };
}

test("prints the exact messages of every call of an ended process", async () => {
  const { at, sent } = await played();
  for (const [index, messages] of sent.entries()) {
    const printed = at.json<Printed>("context", "host-1", "--call", String(index + 1));
    expect(printed).toMatchObject({
      call: index + 1,
      verified: true,
      systemPrompt: "You are it.",
      tools,
      model: "p/m",
    });
    expect(printed.messages).toEqual(messages);
    const { stdout } = at.run("context", "host-1", "--call", String(index + 1), "--json");
    for (const message of messages) {
      expect(stdout).toContain(`\n    ${JSON.stringify(message)}`);
    }
  }
  expect(at.json<Printed>("context", "latest").call).toBe(3);
});

test("people read headings, handles and texts", async () => {
  const { at } = await played();
  const { stdout, status } = at.run("context", "latest", "--call", "2");
  expect(status).toBe(0);
  expect(stdout).toMatch(/^call +2 of session:host-1\n/);
  expect(stdout).toMatch(/\nhash +[0-9a-f]{64}, checked\n/);
  expect(stdout).toContain("── system prompt\nYou are it.\n");
  expect(stdout).toContain(`── tools\n${JSON.stringify(tools[0])}\n`);
  expect(stdout).toContain("── 1 user\nRun it.\n");
  expect(stdout).toContain('── 2 assistant\n<call call_1> bash {"command":"run 1"}\n');
  expect(stdout).toContain("── 3 toolResult bash · t1\nline 0 of a long output\n");
});

test("prints the request last as another extension changed it", async () => {
  const { at } = await played();
  const { stdout } = at.run("context", "latest");
  expect(stdout).toMatch(/\nrequest +[0-9a-f]{64}; its messages were changed by another extension/);
  expect(stdout).toMatch(/as they went out\n\{"role":"user","content":"Changed by another."\}\n$/);
});

test("--diff says what was kept and what came", async () => {
  const { at } = await played();
  const { changes } = at.json<{ changes: CallChange[] }>("context", "latest", "--diff", "2");
  expect(changes).toEqual([
    { change: "kept", old: 0, new: 0, count: 3, diff: null },
    { change: "inserted", old: null, new: 3, count: 1, diff: null },
    { change: "inserted", old: null, new: 4, count: 1, diff: null },
  ]);
  const { stdout } = at.run("context", "latest", "--diff", "2");
  expect(stdout).toContain("── 1-3 kept · 3 messages\n");
  expect(stdout).toContain("── 5 inserted · toolResult bash · t2\n+done\n");
  const back = at.run("context", "latest", "--call", "2", "--diff", "3").stdout;
  expect(back).toContain("── 5 removed · toolResult bash · t2\n-done\n");
});

test("--why says how a message is shown and since when", async () => {
  const { at } = await played();
  const { stdout } = at.run("context", "latest", "--why");
  expect(stdout).toMatch(
    /── 3 toolResult bash · t1 call_1\n {3}an excerpt of what the host gave: lines 1-\d+ shown; lines \d+-\d+ left out; .*\n {3}since call 2, when it was first sent\n/,
  );
  expect(stdout).toMatch(/── 5 toolResult bash · t2 call_2\n {3}as the host gave it\n/);
});

test("an archive renders the same calls in another store", async () => {
  const { at, sent } = await played();
  const archive = `${at.folder}/all.jsonl`;
  expect(at.run("export", archive).status).toBe(0);
  const other = `${at.folder}/other.sqlite`;
  expect(at.run("import", archive, "--store", other).status).toBe(0);
  const printed = at.json<Printed>("context", "host-1", "--call", "2", "--store", other);
  expect(printed).toMatchObject({ verified: true, messages: sent[1] });
});

describe("what cannot be printed is a clear error", () => {
  test("a session or call that is not there", async () => {
    const { at } = await played();
    expect(at.failure("context", "nobody")).toMatchObject({ status: 3, code: "UNKNOWN_NAME" });
    expect(at.failure("context", "latest", "--call", "9")).toMatchObject({ status: 3, code: "NOT_FOUND" });
    expect(at.failure("context", "latest", "--diff", "3")).toMatchObject({ status: 2, code: "USAGE" });
    expect(at.failure("context", "latest", "--call", "x")).toMatchObject({ status: 2, code: "USAGE" });
  });
});
