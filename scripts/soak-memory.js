// Whether memory stays flat: `node --expose-gc scripts/soak-memory.js [CALLS]`, 2,000 by default; `npm run soak` runs it too. An agent
// works on and on, its host compacts the list whenever it has 200 messages, and every fourth session is closed and followed by
// another one on the same store. Prints the memory of the process after each eighth of the calls, and fails where the second half
// added more than the messages that it brought.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSession, openStore } from "../index.js";

const calls = Number(process.argv[2] ?? 2_000);
const marks = 8;
const mostMessages = 200;
const resultLines = 120;
/** What the second half may add beside its messages: memory that was freed goes back to the system late. A leak of 50 KB a call shows. */
const slackBytes = 32e6;

const collect = globalThis.gc;
if (!(calls >= marks) || collect === undefined) {
  console.error("soak-memory: expects `--expose-gc` and a number of calls, at least 8");
  process.exit(2);
}
const folder = mkdtempSync(join(tmpdir(), "palimpsest-memory-"));
try {
  process.exitCode = await soak(collect);
} finally {
  rmSync(folder, { recursive: true });
}

/** @param {() => void} collect */
async function soak(collect) {
  const store = await openStore({ path: join(folder, "store.sqlite") });
  /** @param {number} number */
  const open = (number) => openSession(store, { harness: "soak", sessionId: `s${number}`, cwd: folder });
  const perSession = Math.ceil(calls / 4);
  let [session, brought] = [await open(0), 0];
  /** @type {object[]} */
  let list = [];
  /** @type {{ rss: number, brought: number }[]} */
  const seen = [];
  for (let call = 1; call <= calls; call++) {
    const fresh = step(call);
    brought += fresh.reduce((bytes, message) => bytes + JSON.stringify(message).length, 0);
    list = list.length > mostMessages ? [summary(call), ...fresh] : [...list, ...fresh];
    await session.transformContext(/** @type {any} */ (list));
    if (call % perSession === 0 && call < calls) {
      await session.close();
      session = await open(call / perSession);
      list = [];
    }
    if (call % Math.floor(calls / marks) === 0) {
      collect();
      seen.push({ rss: process.memoryUsage().rss, brought });
      console.log(`${call} calls, ${megabytes(brought)} MB of messages: ${megabytes(seen.at(-1)?.rss ?? 0)} MB`);
    }
  }
  await session.close();
  await store.close();
  const [half, end] = [seen[marks / 2 - 1], seen[marks - 1]];
  const grown = (end?.rss ?? 0) - (half?.rss ?? 0);
  const may = slackBytes + (end?.brought ?? 0) - (half?.brought ?? 0);
  console.log(`the second half added ${megabytes(grown)} MB, at most ${megabytes(may)} MB is flat`);
  return grown <= may ? 0 : 1;
}

/** What one more call brings. @param {number} call */
function step(call) {
  const time = 1_700_000_000_000 + call * 10_000;
  const id = `call_${call}`;
  const args = { command: `run ${call}` };
  const text = Array.from({ length: resultLines }, (_, line) => `${call}.${line}: ${(call * line) % 9_973}`).join("\n");
  const asked = call % 10 === 1 ? [{ role: "user", content: `go on with part ${call}`, timestamp: time }] : [];
  const answer = {
    role: "assistant",
    content: [{ type: "toolCall", id, name: "bash", arguments: args }],
    timestamp: time + 1,
  };
  const content = [{ type: "text", text }];
  const result = { role: "toolResult", toolCallId: id, toolName: "bash", content, isError: false, timestamp: time + 2 };
  return [...asked, answer, result];
}

/** @param {number} call */
function summary(call) {
  return {
    role: "compactionSummary",
    summary: `what was done before call ${call}`,
    timestamp: 1_700_000_000_000 + call,
  };
}

/** @param {number} bytes */
function megabytes(bytes) {
  return (bytes / 1e6).toFixed(1);
}
