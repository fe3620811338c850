import { openSession, openStore, tools } from "palimpsest";

const store = await openStore({ path: ":memory:" }); // the path of a file keeps it
const session = await openSession(store, { harness: "mine", sessionId: "1", cwd: process.cwd() });
const messages = [
  { role: "user", content: "Run the tests." },
  { role: "assistant", content: [{ type: "toolCall", id: "c1", name: "bash", arguments: { command: "make test" } }] },
  { role: "toolResult", toolCallId: "c1", toolName: "bash", content: [{ type: "text", text: "96 passed" }] },
];
const request = await session.transformContext(messages); // send this instead of `messages`
const [activate] = tools();
const answer = await activate?.execute(session, "c2", { name: "t1" }); // when the model calls it
console.log(request.length, answer?.content[0]?.text);
await session.close();
await store.close();
