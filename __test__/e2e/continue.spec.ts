// `/context continue`: a session that another program or machine left goes on in a new one of Pi, from this store, another or an archive.
import { join } from "node:path";
import { expect, test } from "vitest";
import { openSession, openStore } from "../../index.js";
import { startPiRpc } from "../../scripts/lib/pi.js";
import type { ScriptedModel } from "../../scripts/lib/scripted-model.js";
import { expectPairedCalls, extension, said, start } from "./support.ts";

const newestMessages = (model: ScriptedModel) => JSON.stringify(model.requests.at(-1)?.body.messages.slice(1));

/** A session of another harness in a store: an output, a pinned file, an answer. */
async function leave(path: string, cwd: string) {
  const store = await openStore({ path });
  const session = await openSession(store, { harness: "other", sessionId: "there", cwd });
  const call = (id: string, name: string, args: object) => ({ type: "toolCall", id, name, arguments: args });
  const output = "line of the build\n".repeat(300);
  const messages = [
    { role: "user", content: "build it", timestamp: 1 },
    { role: "assistant", content: [call("c1", "bash", { command: "make" })], timestamp: 2 },
    { role: "toolResult", toolCallId: "c1", toolName: "bash", content: output, timestamp: 3 },
    { role: "assistant", content: [{ type: "text", text: "It is built." }], timestamp: 4 },
  ];
  await session.transformContext(messages.slice(0, 1));
  await session.transformContext(messages);
  await session.close();
  await store.close();
  return output;
}

test("handles and chat continue from another store or an archive", async () => {
  const { model, sandbox } = await start([
    { text: "Going on." },
    { calls: [{ name: "activate", args: { name: "t1", lines: "7-8" } }] },
    { text: "Seen." },
    { text: "And again." },
  ]);
  const there = join(sandbox.dir, "there.sqlite");
  await leave(there, sandbox.projectDir);
  const pi = startPiRpc(sandbox, ["-e", extension]);
  expect(await said(pi, "/context continue")).toBe("Which one? `/context continue NAME [STORE|ARCHIVE]`");
  expect(await said(pi, "/context continue nothing")).toContain("UNKNOWN_NAME");
  expect(await said(pi, `/context continue there ${there}`)).toMatch(
    /^This session goes on with `session:there` \(other, 1 turn\): 1 object with their handles, 0 pinned\. The model is told with your next message/,
  );
  await pi.prompt("go on");
  const told = newestMessages(model);
  expect(told).toContain("This conversation was begun in other.");
  expect(told).toMatch(/turn 1: build it.*The last answer:\\nIt is built\..*go on/);
  await pi.prompt("look at the output");
  expect(newestMessages(model)).toContain("[t1] bash · lines 7-8 of 300\\nline of the build\\nline of the build");
  expect(await said(pi, "/context continue there")).toContain("INVALID_ARGUMENT");
  expect(await said(pi, "/context export out.jsonl")).toContain("Wrote");
  expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });

  const back = startPiRpc(
    { ...sandbox, env: { ...sandbox.env, PALIMPSEST_STORE: join(sandbox.dir, "third.sqlite") } },
    ["-e", extension],
  );
  expect(await said(back, "/context continue latest out.jsonl")).toContain("(pi, 3 turns)");
  await back.prompt("and now?");
  // The last answer is stored when Pi ends, which was after the export.
  expect(newestMessages(model)).toMatch(/was begun in pi\..*turn 2: go on.*turn 3: look at the output/);
  expectPairedCalls(model);
  expect(await back.close()).toMatchObject({ code: 0, stderr: "" });
});

test("two Pis on one session are both told", async () => {
  const { sandbox } = await start(() => ({ text: "ok" }));
  const told = (pi: ReturnType<typeof startPiRpc>) =>
    pi.records.filter(({ method }) => method === "notify").map(({ message }) => String(message));
  const first = startPiRpc(sandbox, ["-e", extension]);
  await first.prompt("one");
  const second = startPiRpc(sandbox, ["-e", extension, "--continue"]);
  await second.prompt("two");
  const splits = first.waitFor(({ message }) => String(message).includes("a branch of its own"));
  await first.prompt("three");
  expect((await splits).message).toBe(
    "Palimpsest: this session runs in another Pi too; this one goes on as a branch of its own",
  );
  await second.prompt("four");
  expect(told(second).at(-1)).toBe(
    "Palimpsest: this session runs in another Pi too, which goes on as a branch of its own: what is said there is not seen here",
  );
  await second.prompt("five");
  expect(told(second).filter((message) => message.includes("another Pi"))).toHaveLength(1);
  expect(await first.close()).toMatchObject({ code: 0, stderr: "" });
  expect(await second.close()).toMatchObject({ code: 0, stderr: "" });
});
