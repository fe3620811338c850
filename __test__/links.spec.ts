// What the references that a model writes lead to: in what it says, and in the files that it writes.
import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "./e2e/support.ts";
import { session, step, store, user } from "./sessions.ts";

test("a handle in a note leads to what it meant when written", async () => {
  const to = await store();
  const cwd = realpathSync(temporaryFolder());
  mkdirSync(join(cwd, ".git"));
  const of = async (sessionId: string, output: string, note: string) => {
    const opened = await session({ sessionId, cwd }, to);
    const messages = [user(`run it for [[${note}]]`), ...step(1, output)];
    await opened.transformContext(messages);
    const args = { path: note, content: "It failed, see [[t1]] and [[t1:2-2]].\n" };
    writeFileSync(join(cwd, note), args.content);
    const call = { type: "toolCall", id: "w", name: "write", arguments: args };
    await opened.recordToolCall({ toolCallId: "w", toolName: "write", args, isError: false, text: "ok" });
    const said = { type: "text", text: "I noted [[t1]] in [[notes-of-one.md]]." };
    const written = { role: "toolResult", toolCallId: "w", toolName: "write", isError: false };
    await opened.transformContext([
      ...messages,
      { role: "assistant", content: [said, call], stopReason: "toolUse", timestamp: 10 },
      { ...written, content: [{ type: "text", text: "ok" }], timestamp: 11 },
    ]);
    return opened;
  };
  const one = await of("one", "first\nsecond", "notes-of-one.md");
  await of("two", "other\noutput", "notes-of-two.md");
  const outputs = async (note: string) => {
    const { nodes } = await to.expand({ roots: [join(cwd, note)], kinds: ["wikilink"], content: true });
    return nodes.slice(1).map(({ content }) => content);
  };
  expect(await outputs("notes-of-one.md")).toEqual(["first\nsecond", "second"]);
  expect(await outputs("notes-of-two.md")).toEqual(["other\noutput", "output"]);
  const call = (await one.find("t1")).name;
  const back = await to.backlinks(call);
  const links = back.filter(({ kind }) => kind === "wikilink").map(({ from, written }) => [from, written]);
  const note = (await to.find(join(cwd, "notes-of-one.md"))).toString();
  expect(links).toEqual(
    expect.arrayContaining([
      [expect.stringMatching(/^chat:/), "t1"],
      [note, "t1"],
      [note, "t1:2-2"],
    ]),
  );
  const chat = links.find(([from]) => from.startsWith("chat:"))?.[0] ?? "";
  const said = (await to.links(chat)).filter(({ kind }) => kind === "wikilink");
  expect(said.map(({ written, target }) => [written, target.state, target.id === note])).toEqual([
    ["notes-of-one.md", "found", true],
    ["t1", "found", false],
    ["notes-of-one.md", "found", true],
  ]);
});
