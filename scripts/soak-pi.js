// The real Pi in a long session full of moves: `node scripts/soak-pi.js [CALLS] [SEED]`, 500 calls by default; `npm run soak` runs it
// too. Prompts with tool calls, and between them, at random: resume, fork, clone, a jump in the tree, /compact, a new session, an
// abort, SIGINT and kill -9 in the middle of a run. After each prompt a fresh process renders the newest call from the store, and that
// must be what the model's server received. At the end the store has to be whole. Prints the memory of Pi, and how long our handlers
// took by our own log.
import { spawnSync } from "node:child_process";
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { root, setUp } from "./setup.js";

setUp(fileURLToPath(import.meta.url), { addon: "debug", pi: true });

const { createSandbox, startPiRpc } = await import("./lib/pi.js");
const { flatBody, flatRecord } = await import("./lib/flat-messages.js");
const { startScriptedModel } = await import("./lib/scripted-model.js");

const calls = Number(process.argv[2] ?? 500);
const seed = Number(process.argv[3] ?? Date.now() % 1e9);
const slowMs = 100;
/** A command by which an extension beside ours jumps in the tree as `/tree` does. */
const jumpExtension = `
export default function (pi) {
  pi.registerCommand("jump", {
    handler: async (args, ctx) => {
      const users = ctx.sessionManager.getEntries().filter((entry) => entry.type === "message" && entry.message.role === "user");
      await ctx.navigateTree(users[Number(args) % users.length].id, { summarize: Number(args) % 2 === 0 });
      ctx.ui.notify("jumped");
    },
  });
}
`;

/** Whole numbers below a bound, the same for a seed (mulberry32). */
let state = seed;
function random(/** @type {number} */ below) {
  state = (state + 0x6d2b79f5) | 0;
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
  return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
}

const names = Array.from({ length: 12 }, (_, at) => `src/part-${at}.txt`);
const files = Object.fromEntries(
  names.map((name) => [
    name,
    Array.from({ length: 150 }, (_, at) => `line ${at + 1} of ${name}, as it was\n`).join(""),
  ]),
);

let stepsLeft = 0;
/** Called when the server has a request of a turn, before it answers. @type {() => void} */
let received = () => {};

/** @returns {{ name: string, args: object }} */
function toolCall() {
  const path = names[random(names.length)];
  const line = random(150) + 1;
  switch (random(6)) {
    case 0:
      return { name: "bash", args: { command: `seq ${line} ${line + random(400)}` } };
    case 1:
      return {
        name: "edit",
        args: {
          path,
          edits: [{ oldText: `line ${line} of ${path}, as it was`, newText: `line ${line} of ${path}, edited` }],
        },
      };
    case 2:
      return {
        name: "write",
        args: { path: `made-${random(20)}.txt`, content: `made ${line}\n`.repeat(random(60) + 1) },
      };
    case 3:
      return { name: "activate", args: { name: `t${random(40) + 1}` } };
    case 4:
      return { name: "read", args: { path, offset: line, limit: random(60) + 1 } };
    default:
      return { name: "read", args: { path } };
  }
}

/** @param {import("./lib/scripted-model.js").ModelRequest} request */
function step({ body }) {
  if (body.tools === undefined || body.tools.length === 0) {
    return { text: "They worked on some parts." };
  }
  received();
  if (stepsLeft <= 0) {
    return { text: `Done, ${random(1_000)}.` };
  }
  stepsLeft -= 1;
  return { calls: Array.from({ length: 1 + random(3) }, toolCall) };
}

const model = await startScriptedModel(step);
const sandbox = createSandbox({
  baseUrl: model.baseUrl,
  files,
  contextWindow: 60_000,
  settings: { compaction: { keepRecentTokens: 4_000 } },
});
const jump = join(sandbox.dir, "jump.js");
writeFileSync(jump, jumpExtension);
const args = ["-e", join(root, "extensions", "index.ts"), "-e", jump];
const env = { PALIMPSEST_LOG: "debug" };
/** @type {string[]} */
const moves = [];
/** @type {number[]} */
const memory = [];
let pi = startPiRpc(sandbox, args, { env, deadlineMs: 3_600_000 });

/** What went out last, with the tools of a turn. */
const newestBody = () => model.requests.findLast(({ body }) => (body.tools ?? []).length > 0)?.body;

/** Runs the command line in a process of its own. @param {string[]} words */
function palimpsest(...words) {
  const command = [join(root, "bin", "palimpsest.js"), ...words, "--json"];
  const { status, stdout, stderr } = spawnSync(process.execPath, command, {
    encoding: "utf8",
    env: sandbox.env,
    cwd: sandbox.projectDir,
    maxBuffer: 1 << 28,
  });
  if (status !== 0) {
    throw new Error(`palimpsest ${words.join(" ")} ended with ${status}\n${stdout}${stderr}`);
  }
  return JSON.parse(stdout);
}

/** Compares what the server received with what a fresh process renders. */
function check() {
  const record = palimpsest("context", "latest");
  if (record.failedOpen !== null || record.verified !== true) {
    throw new Error(
      `call ${record.call} of ${record.sessionId} went out with Pi's own messages, or is not verified: ${record.failedOpen}`,
    );
  }
  const [sent, rendered] = [flatBody(newestBody()), flatRecord(record.messages)];
  const at = rendered.findIndex((line, index) => line !== sent[index]);
  if (at >= 0 || sent.length !== rendered.length) {
    const place = at < 0 ? rendered.length : at;
    throw new Error(
      `call ${record.call} of ${record.sessionId} differs at ${place}:\nsent      ${sent[place]}\nrendered  ${rendered[place]}`,
    );
  }
}

async function prompt() {
  stepsLeft = random(5);
  await pi.prompt(`Go on with part ${random(100)}.`);
  check();
  memory.push(rssMegabytes());
}

/** Ends Pi in the middle of a run, and resumes. @param {NodeJS.Signals} signal */
async function killed(signal) {
  stepsLeft = 3;
  const after = 1 + random(3);
  const running = new Promise((resolve) => {
    let seen = 0;
    received = () => {
      seen += 1;
      if (seen === after) {
        resolve(undefined);
      }
    };
  });
  await pi.send({ type: "prompt", message: "Go on until you are stopped." });
  await Promise.race([running, new Promise((resolve) => setTimeout(resolve, 5_000))]);
  received = () => {};
  process.kill(/** @type {number} */ (pi.pid), signal);
  await pi.close();
  await resumed();
}

async function resumed() {
  pi = startPiRpc(sandbox, [...args, "--continue"], { env, deadlineMs: 3_600_000 });
  await pi.send({ type: "get_state" });
}

/** An entry of a person that a fork may start from. */
async function forkPoint() {
  const { data } = /** @type {any} */ (await pi.send({ type: "get_fork_messages" }));
  return data.messages[random(data.messages.length)]?.entryId;
}

/** @type {Record<string, () => Promise<void>>} */
const kinds = {
  async resume() {
    await pi.close();
    await resumed();
  },
  async fork() {
    const entryId = await forkPoint();
    if (entryId !== undefined) {
      await pi.send({ type: "fork", entryId });
    }
  },
  async clone() {
    await pi.send({ type: "clone" });
  },
  async jump() {
    const jumped = pi.waitFor((record) => record.type === "extension_ui_request" && record.method === "notify");
    await pi.send({ type: "prompt", message: `/jump ${random(1_000)}` });
    await jumped;
  },
  async compact() {
    await pi.send({ type: "compact" }).catch((error) => {
      if (!/nothing to compact|already compacted|too small/i.test(String(error))) {
        throw error;
      }
    });
  },
  async new_session() {
    await pi.send({ type: "new_session" });
  },
  async abort() {
    stepsLeft = 3;
    const settled = pi.waitFor((record) => record.type === "agent_settled");
    await pi.send({ type: "prompt", message: "Go on until you are stopped." });
    await pi.send({ type: "abort" });
    await settled;
  },
  sigint: () => killed("SIGINT"),
  kill: () => killed("SIGKILL"),
};

/** Of Pi, from Linux' `/proc`; 0 elsewhere. */
function rssMegabytes() {
  if (process.platform !== "linux") {
    return 0;
  }
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pi.pid}/status`, "utf8"))?.[1] ?? 0) / 1_024;
}

/** The times in our log, in milliseconds, sorted. */
function handlerTimes() {
  const folder = join(sandbox.agentDir, "palimpsest");
  const texts = ["palimpsest.log", "palimpsest.log.1", "palimpsest.log.2"].map((name) => {
    try {
      return readFileSync(join(folder, name), "utf8");
    } catch {
      return "";
    }
  });
  const found = texts.join("\n").matchAll(/ (\w+) took ([\d.]+) ms$/gm);
  const times = [...found]
    .filter(([, hook]) => hook !== "session_start" && hook !== "session_shutdown")
    .map(([, , ms]) => Number(ms));
  return times.sort((a, b) => a - b);
}

console.log(`soak-pi: ${calls} calls, seed ${seed}`);
mkdirSync(join(sandbox.projectDir, "src"), { recursive: true });
try {
  await prompt();
  while (model.requests.length < calls) {
    if (random(3) === 0) {
      const name = Object.keys(kinds)[random(Object.keys(kinds).length)];
      moves.push(name);
      await kinds[name]();
      if (random(4) === 0) {
        // Somebody else works here, too.
        appendFileSync(join(sandbox.projectDir, names[random(names.length)]), "a line from outside\n");
      }
    }
    await prompt();
  }
  await pi.close();
  if (pi.outcome.stderr !== "") {
    throw new Error(`Pi said on stderr: ${pi.outcome.stderr}`);
  }
  const { store } = palimpsest("doctor");
  if (!store.healthy) {
    throw new Error(`the store is not whole: ${JSON.stringify(store.findings)}`);
  }
  report();
} catch (error) {
  console.error(
    `soak-pi: failed after ${model.requests.length} calls; again: node scripts/soak-pi.js ${calls} ${seed}`,
  );
  console.error(`moves: ${moves.join(" ")}\nfolder: ${sandbox.dir}\n${pi.outcome.stderr}`);
  throw error;
} finally {
  await model.close();
}
sandbox.remove();

function report() {
  const counts = Object.keys(kinds).map((name) => `${name} ${moves.filter((move) => move === name).length}`);
  console.log(`moves: ${counts.join(", ")}; ${memory.length} prompts, each checked`);
  const half = memory.length >> 1;
  const most = (/** @type {number[]} */ values) => Math.max(...values).toFixed(0);
  console.log(
    `memory of Pi, at most: ${most(memory.slice(0, half))} MB in the first half, ${most(memory.slice(half))} MB in the second`,
  );
  const times = handlerTimes();
  const at = (/** @type {number} */ share) => times[Math.floor(times.length * share)]?.toFixed(1);
  const slow = times.filter((time) => time > slowMs).length;
  console.log(
    `our handlers: ${times.length}, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, longest ${times.at(-1)?.toFixed(1)} ms, ${slow} above ${slowMs} ms`,
  );
}
