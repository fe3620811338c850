// How long resuming a session takes that knows 5,000 files, of which 50 changed while it was closed. `npm run bench` runs this
// with the addon of the benches' build. Prints the time from opening the session to the answer of its first call, and the same
// for a session without known files.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSession, openStore } from "../index.js";

const known = 5_000;
const changed = 50;
const rounds = 5;

const folder = mkdtempSync(join(tmpdir(), "palimpsest-resume-"));
try {
  const cwd = join(folder, "project");
  mkdirSync(cwd);
  const names = Array.from({ length: known }, (_, at) => `file-${at}.txt`);
  const textOf = (/** @type {string} */ name, /** @type {number} */ round) =>
    `${name}\n${"a line\n".repeat(100)}${round}\n`;
  names.forEach((name) => {
    writeFileSync(join(cwd, name), textOf(name, 0));
  });
  const settings = { filesystemId: "bench", store: join(folder, "store.sqlite") };
  const store = await openStore({ path: settings.store });
  /** @param {string} sessionId */
  const open = (sessionId) => openSession(store, { harness: "bench", sessionId, cwd, settings });
  const messages = [{ role: "user", content: "go", timestamp: 1 }];

  const first = await open("known");
  for (const name of names) {
    const event = { toolCallId: name, toolName: "read", args: { path: name }, isError: false };
    await first.recordToolCall(event);
  }
  await first.transformContext(messages);
  await first.close();
  await (await open("empty")).close();

  /** @param {string} sessionId */
  const timed = async (sessionId) => {
    const began = performance.now();
    const session = await open(sessionId);
    await session.transformContext(messages);
    const took = performance.now() - began;
    await session.close();
    return took;
  };
  /** @param {number[]} times */
  const median = (times) => times.sort((a, b) => a - b)[times.length >> 1];
  /** @type {{ known: number[], empty: number[] }} */
  const times = { known: [], empty: [] };
  for (let round = 1; round <= rounds; round++) {
    names.slice(0, changed).forEach((name) => {
      writeFileSync(join(cwd, name), textOf(name, round));
    });
    times.known.push(await timed("known"));
    times.empty.push(await timed("empty"));
  }
  await store.close();
  const [with_, without] = [median(times.known), median(times.empty)];
  console.log(
    `resume with ${known} known files, ${changed} changed: open and first call ${with_.toFixed(0)} ms, ` +
      `with none known ${without.toFixed(0)} ms (medians of ${rounds})`,
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}
