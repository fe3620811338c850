// A session that makes a call every 20 ms until its stdin ends: `node year-session.js STORE`. Prints a line when it begins, and then
// milliseconds of the longest call. A call without an answer ends it with 1.
import { openSession, openStore } from "../../index.js";

const path = process.argv[2] ?? "";
const store = await openStore({ path });
const settings = { filesystemId: "bench", store: path };
const session = await openSession(store, { harness: "bench", sessionId: `live-${process.pid}`, cwd: "/", settings });
let ended = false;
process.stdin.resume().once("end", () => {
  ended = true;
});
const model = { provider: "anthropic", id: "model", contextWindow: 1_000_000, api: "anthropic-messages" };
/** @type {any[]} */
const messages = [];
let longest = 0;
while (!ended) {
  const role = messages.length % 2 === 0 ? "user" : "assistant";
  messages.push({ role, content: [{ type: "text", text: `message ${messages.length}` }], timestamp: messages.length });
  const began = performance.now();
  await session.transformContext(messages, { systemPrompt: "system", tools: [], model });
  longest = Math.max(longest, performance.now() - began);
  if (messages.length === 4) {
    console.log("begun");
    longest = 0;
  }
  await new Promise((resolve) => setTimeout(resolve, 20));
}
console.log(longest);
await session.close();
await store.close();
