// What the person in front of Pi sees of a shared store: that it works, that it does not, and that calls go on meanwhile.
import { writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { runPi, startPiRpc } from "../../scripts/lib/pi.js";
import { claimPort } from "../../scripts/lib/ports.js";
import { isEverything } from "../../scripts/lib/tiers.js";
import { noXtdb, startNode } from "../xtdb/nodes.ts";
import { extension, said, start } from "./support.ts";

type Pi = ReturnType<typeof startPiRpc>;

/** What Pi is told for its footer. */
function statusLines(pi: Pi): string[] {
  const lines = pi.records.filter(({ method, statusKey }) => method === "setStatus" && statusKey === "palimpsest");
  return lines.map(({ statusText }) => String(statusText));
}

const notices = (pi: Pi) =>
  pi.records.filter(({ notifyType }) => notifyType === "warning").map(({ message }) => String(message));

/** A Pi whose settings name a shared store, and whose model reads a file in each turn. */
async function sharing(xtdbUrl: string) {
  const { model, sandbox } = await start(
    ({ n }) => (n % 2 === 0 ? { calls: [{ name: "read", args: { path: `${n}.txt` } }] } : { text: "Done." }),
    { files: Object.fromEntries([0, 2, 4, 6].map((n) => [`${n}.txt`, `file ${n}\n`])) },
  );
  writeFileSync(join(sandbox.agentDir, "palimpsest.json"), JSON.stringify({ xtdbUrl, deadlineSeconds: 30 }));
  return { model, sandbox };
}

test("an unreachable server is reported and delays nothing", async () => {
  const { model, sandbox } = await sharing("http://127.0.0.1:1");
  const pi = startPiRpc(sandbox, ["-e", extension]);
  await pi.prompt("go");
  await pi.prompt("go on");
  expect(model.requests).toHaveLength(4);
  expect(await said(pi, "/context")).toMatch(
    /^shared {4}http:\/\/127\.0\.0\.1:1: \d+ transactions wait to be sent, the oldest for \d+ s\n {10}files are shared, sessions stay here$/m,
  );
  const mark = /^palimpsest on · ↑ \d+ waiting \(XTDB does not answer\)$/;
  await expect.poll(() => statusLines(pi).at(-1), { timeout: 30_000 }).toMatch(mark);
  expect(await said(pi, "/context")).toMatch(
    /^ {10}not working for \d+ s: the XTDB server `http:\/\/127\.0\.0\.1:1` cannot be used now: .* \(XTDB_UNAVAILABLE\)$/m,
  );
  await pi.prompt("still there?");
  expect(statusLines(pi).at(-1)).toMatch(mark);
  expect(notices(pi).filter((text) => text.includes("nothing is shared for now"))).toHaveLength(1);
  expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });
  expect(pi.records.filter(({ type }) => type === "extension_error")).toEqual([]);
});

test("Pi ends without the answer of a server that hangs", { timeout: 60_000 }, async () => {
  const server = createServer((socket) => socket.on("error", () => {}));
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  onTestFinished(() => void server.close());
  const run = async (url: string) => {
    const { model, sandbox } = await sharing(url);
    writeFileSync(join(sandbox.agentDir, "palimpsest.json"), JSON.stringify(url === "" ? {} : { xtdbUrl: url }));
    const start = performance.now();
    const { stdout, stderr, code } = await runPi(sandbox, ["-e", extension, "-p", "go"]);
    const ms = performance.now() - start;
    expect({ stdout, stderr, code, requests: model.requests.length }).toEqual({
      stdout: "Done.\n",
      stderr: "",
      code: 0,
      requests: 2,
    });
    return ms;
  };
  const plain = await run("");
  const silent = await run(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  // It waits a second; a request for 30. The bound lies between, where a busy machine does not matter.
  expect(silent - plain).toBeLessThan(15_000);
});

test("invalid settings are reported without possible secrets", async () => {
  const { sandbox } = await sharing("http://me:word@127.0.0.1:1");
  const { stderr } = await runPi(sandbox, ["-e", extension, "-p", "go"]);
  expect(stderr).toContain("`xtdbUrl` is `http://…@127.0.0.1:1`, which holds a name or password");
  expect(stderr).not.toContain("word@");
});

describe.skipIf(noXtdb || !isEverything)("on a real node", () => {
  test("changes arrive by themselves, and outages are reported", { timeout: 120_000 }, async () => {
    const { port, release } = await claimPort();
    onTestFinished(release);
    const node = await startNode({ port });
    const { sandbox } = await sharing(node.url);
    const pi = startPiRpc(sandbox, ["-e", extension]);
    await pi.prompt("go");
    const works = /^shared {4}\S+: nothing waits; last sent \d+ s ago$/m;
    await expect.poll(() => said(pi, "/context"), { timeout: 20_000, interval: 1_000 }).toMatch(works);
    expect(new Set(statusLines(pi))).toEqual(new Set(["palimpsest on"]));
    expect(notices(pi)).toEqual([]);
    await node.end();
    await pi.prompt("go on");
    await expect
      .poll(() => statusLines(pi).at(-1), { timeout: 40_000 })
      .toMatch(/^palimpsest on · ↑ \d+ waiting \(XTDB does not answer\)$/);
    // It is empty now: all of it is sent anew.
    await startNode({ port });
    await expect.poll(() => statusLines(pi).at(-1), { timeout: 90_000 }).toBe("palimpsest on");
    expect(notices(pi).at(-1)).toMatch(/^Palimpsest: the shared store http:\/\/127\.0\.0\.1:\d+ works again$/);
    expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });
  });
});
