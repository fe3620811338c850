// Installing in OpenClaw as users do: from the packages of a release, with no script allowed to run, and out again.
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import {
  configure,
  createOpenClawSandbox,
  installPlugin,
  readConfig,
  runLocal,
  runOpenClaw,
  uninstallPlugin,
} from "../../scripts/lib/openclaw.js";
import { packAll } from "../../scripts/lib/packages.js";
import { root } from "../../scripts/setup.js";
import { startRegistry } from "../e2e/registry.ts";
import { call, lines, startPuppet } from "./support.ts";

/** The packages of a release, of which one has the binary for this machine. */
function release(folder: string) {
  mkdirSync(folder);
  for (const binary of readdirSync(root).filter((name) => name.endsWith(".node"))) {
    copyFileSync(join(root, binary), join(folder, binary));
    // A debug build takes most of a minute to compress with what debuggers need.
    spawnSync("strip", ["--strip-debug", join(folder, binary)]);
  }
  return packAll({ binaries: folder, into: folder });
}

test("a package of a release is installed, takes the slot, serves a session, and leaves nothing behind", async () => {
  const model = await startPuppet();
  onTestFinished(() => model.close());
  const log = Array.from({ length: 900 }, (_, at) => `test case number ${at + 1} ... ok`).join("\n");
  const files = { "log.sh": "cat log.txt\n", "log.txt": `${log}\n` };
  const sandbox = await createOpenClawSandbox({ baseUrl: model.baseUrl, files });
  onTestFinished(() => sandbox.remove());
  const folder = join(sandbox.dir, "release");
  const { main } = release(folder);
  const { url } = await startRegistry(folder);

  const installed = await installPlugin(sandbox, main, { registry: url });
  expect(installed).toMatchObject({ code: 0 });
  expect(readConfig(sandbox).plugins.slots).toEqual({ contextEngine: "palimpsest" });
  const { stdout } = await runOpenClaw(sandbox, ["plugins", "inspect", "palimpsest", "--runtime", "--json"]);
  expect(JSON.parse(stdout.slice(stdout.indexOf("{"))).plugin).toMatchObject({
    status: "loaded",
    toolNames: ["activate", "deactivate", "pin", "unpin"],
    contextEngineIds: ["palimpsest"],
  });

  model.play(call("exec", { command: "sh log.sh" }), { text: "one" });
  expect(await runLocal(sandbox, { message: "one" })).toMatchObject({ code: 0 });
  const shown = model.requests.map(({ body }) => lines(body).at(-1));
  expect(shown[1]).toContain("… 900 lines between (t1:1-900) …");
  expect(existsSync(sandbox.store)).toBe(true);

  configure(sandbox, { plugins: { entries: { palimpsest: { config: { previewTokens: 100_000 } } } } });
  model.play(call("exec", { command: "sh log.sh" }), { text: "whole" });
  expect(await runLocal(sandbox, { sessionKey: "agent:main:whole", message: "whole" })).toMatchObject({ code: 0 });
  expect(lines(model.requests[3].body).at(-1)).toContain("test case number 450 ... ok");

  expect(await uninstallPlugin(sandbox, "palimpsest")).toMatchObject({ code: 0 });
  expect(readConfig(sandbox).plugins?.slots?.contextEngine ?? "legacy").toBe("legacy");
  model.play({ text: "two" });
  expect(await runLocal(sandbox, { message: "two" })).toMatchObject({ code: 0 });
  // What it showed in part stays so in OpenClaw's transcript.
  expect(lines(model.requests[4].body).join("\n")).toContain("… 900 lines between (t1:1-900) …");
});
