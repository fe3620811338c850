// What Palimpsest adds to a whole `pi -p`, plain and with it in turn; what the shutdown of a session with tracked files takes; and the
// processor time of a Pi that waits. `npm run bench` runs this with the addon of the benches' build.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createSandbox, piVersion, runPi, startPiRpc } from "./lib/pi.js";
import { startScriptedModel } from "./lib/scripted-model.js";
import { root } from "./setup.js";

const pairs = Number(process.argv[2] ?? 21);
const idleSeconds = 20;
const extension = ["-e", join(root, "extensions", "index.ts")];
const addon = process.env.NAPI_RS_NATIVE_LIBRARY_PATH;
/** @type {Record<string, string>} */
const env = addon === undefined ? {} : { NAPI_RS_NATIVE_LIBRARY_PATH: addon };

/** @param {number[]} times */
const median = (times) => [...times].sort((a, b) => a - b)[times.length >> 1];

/** Milliseconds that a whole `pi -p` takes. @param {import("./lib/pi.js").Sandbox} sandbox @param {string[]} args */
async function timed(sandbox, args) {
  const start = performance.now();
  const { code, stderr } = await runPi(sandbox, [...args, "-p", "hi"], { env });
  if (code !== 0 || stderr !== "") {
    throw new Error(`pi ended with code ${code}\n${stderr}`);
  }
  return performance.now() - start;
}

/** Milliseconds of processor time that a Pi takes while nobody asks it anything. @param {string[]} args */
async function idle(args) {
  const model = await startScriptedModel(() => ({ text: "ok" }));
  const sandbox = createSandbox({ baseUrl: model.baseUrl });
  try {
    const pi = startPiRpc(sandbox, args, { env });
    await pi.prompt("hi");
    // What a run leaves to be done afterwards is no idling.
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    const before = processorMs(pi.pid);
    await new Promise((resolve) => setTimeout(resolve, idleSeconds * 1_000));
    const took = processorMs(pi.pid) - before;
    await pi.close();
    return took;
  } finally {
    await model.close();
    sandbox.remove();
  }
}

/** User and system time of a process, from Linux' `/proc`. @param {number | undefined} pid */
function processorMs(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
  const ticksPerSecond = 100;
  return ((Number(fields[11]) + Number(fields[12])) * 1_000) / ticksPerSecond;
}

/** Milliseconds that our part of the shutdown takes, by the log, in a session that tracks a file. */
async function shutdown() {
  const steps = [{ calls: [{ name: "read", args: { path: "a.txt" } }] }, { text: "ok" }];
  const model = await startScriptedModel(steps);
  const sandbox = createSandbox({ baseUrl: model.baseUrl, files: { "a.txt": "one\n" }, palimpsest: { track: true } });
  try {
    await runPi(sandbox, [...extension, "-p", "read a.txt"], { env: { ...env, PALIMPSEST_LOG: "debug" } });
    const log = readFileSync(join(sandbox.agentDir, "palimpsest", "palimpsest.log"), "utf8");
    return Number(/session_shutdown took ([\d.]+) ms/.exec(log)?.[1]);
  } finally {
    await model.close();
    sandbox.remove();
  }
}

const model = await startScriptedModel(() => ({ text: "ok" }));
const [plain, ours] = [createSandbox({ baseUrl: model.baseUrl }), createSandbox({ baseUrl: model.baseUrl })];
/** @type {{ plain: number[], ours: number[] }} */
const times = { plain: [], ours: [] };
// The first pair fills caches of the disk and of Pi's loader.
for (let pair = 0; pair <= pairs; pair++) {
  const [a, b] = [await timed(plain, []), await timed(ours, extension)];
  if (pair > 0) {
    times.plain.push(a);
    times.ours.push(b);
  }
}
await model.close();
plain.remove();
ours.remove();
const added = median(times.ours.map((time, at) => time - times.plain[at]));
const medians = `${median(times.plain).toFixed(0)} ms plain, ${median(times.ours).toFixed(0)} with`;
console.log(`\npi ${piVersion} -p, ${pairs} pairs: ${medians}, pair by pair ${added.toFixed(0)} more`);
const shutdowns = [];
for (let round = 0; round < 5; round++) {
  shutdowns.push(await shutdown());
}
console.log(
  `session_shutdown with a tracked file: ${median(shutdowns).toFixed(1)} ms, at most ${Math.max(...shutdowns).toFixed(1)}`,
);
if (process.platform === "linux") {
  const [without, with_] = await Promise.all([idle([]), idle(extension)]);
  console.log(`processor time of ${idleSeconds} idle seconds: ${without} ms plain, ${with_} with`);
}
