// A shared store in OpenClaw: its address stands in OpenClaw's own configuration, and `/palimpsest` says how it stands.
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createOpenClawSandbox } from "../../scripts/lib/openclaw.js";
import { startGateway } from "../../scripts/lib/openclaw-gateway.js";
import { program } from "../command.ts";
import { noXtdb, startNode } from "../xtdb/nodes.ts";
import { call, linkPalimpsest, startPuppet } from "./support.ts";

describe.skipIf(noXtdb)("on a real node", () => {
  test("files arrive by themselves, and an outage is reported", async () => {
    const node = await startNode({ token: "right" });
    const model = await startPuppet();
    const sandbox = await createOpenClawSandbox({ baseUrl: model.baseUrl, files: { "a.txt": "alpha\n" } });
    writeFileSync(join(sandbox.stateDir, "xtdb-token"), "right\n", { mode: 0o600 });
    linkPalimpsest(sandbox, { xtdbUrl: node.url, xtdbTokenFile: "xtdb-token" });
    const gateway = await startGateway(sandbox);
    onTestFinished(async () => {
      await gateway.stop();
      await model.close();
      await sandbox.remove();
    });
    const sessionKey = "agent:main:shared";
    const said = async () => (await gateway.chat("/palimpsest", { sessionKey })).text;
    const read = async () => {
      model.play(call("read", { path: "a.txt" }), { text: "one" });
      expect(await gateway.agent({ sessionKey, message: "go" })).toMatchObject({ status: "ok" });
    };
    await read();
    const works =
      /^shared {4}http:\S+: nothing waits; last sent \d+ s ago\n {10}files are shared, sessions stay here$/m;
    await expect.poll(said, { timeout: 20_000, interval: 1_000 }).toMatch(works);
    const env = { ...process.env, ...sandbox.env, PALIMPSEST_STORE: sandbox.store };
    const doctor = spawnSync(process.execPath, [program, "doctor"], { env, encoding: "utf8" });
    expect(doctor.stdout).toMatch(new RegExp(`^openclaw's shared store +${node.url}$`, "m"));
    expect(doctor.stdout).toMatch(/^its server +XTDB 1\.24\.3 on /m);
    await node.end();
    writeFileSync(join(sandbox.workspaceDir, "a.txt"), "alpha\nbeta\n");
    await read();
    await expect
      .poll(said, { timeout: 30_000, interval: 1_000 })
      .toMatch(
        /^shared {4}http:\S+: 1 transaction waits to be sent, .*\n.*\n {10}not working for .* \(XTDB_UNAVAILABLE\)$/m,
      );
  });
});
