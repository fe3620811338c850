// The inspector where a disk does not answer: requests that name files there end in seconds, and all others are answered meanwhile. A
// preloaded library (tests/fixtures/silent-disk.c) keeps whoever looks below one folder waiting.
import { spawnSync } from "node:child_process";
import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { openStore } from "../../index.js";
import { launch } from "../../scripts/lib/processes.js";
import { pinnedNode, root } from "../../scripts/setup.js";
import { missing } from "../e2e/support.ts";
import { privateFolder } from "./browser.ts";
import { Host } from "./host.ts";

describe.skipIf(process.platform !== "linux" || missing("cc"))("a disk that does not answer", () => {
  test("delays no request, with files named by path or by ID", async () => {
    const folder = realpathSync(privateFolder());
    const [far, flag, library] = ["far", "silent", "silent-disk.so"].map((name) => join(folder, name));
    const source = join(root, "tests", "fixtures", "silent-disk.c");
    expect(spawnSync("cc", ["-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"]).status).toBe(0);
    mkdirSync(far);
    writeFileSync(join(far, "a.txt"), "far\n");
    const path = join(folder, "store.sqlite");
    const store = await openStore({ path });
    const host = await Host.open(store, { sessionId: "far", cwd: far });
    host.user("Read it.");
    await host.read("a.txt");
    await host.say("Done.");
    await host.session.close();
    const { objects } = await store.timeline("session:far");
    const id = objects.find(({ type }) => type === "file")?.id;
    await store.close();
    writeFileSync(flag, "");
    const { child, finished, outcome } = launch({
      name: "palimpsest open",
      command: [pinnedNode(), join(root, "bin", "palimpsest.js"), "open", "--no-browser", "--store", path],
      cwd: root,
      env: {
        ...(process.env as Record<string, string>),
        PI_CODING_AGENT_DIR: join(folder, "agent"),
        LD_PRELOAD: library,
        SILENT_UNDER: far,
        SILENT_WHILE: flag,
      },
    });
    onTestFinished(async () => {
      child.kill("SIGKILL");
      await finished.catch(() => {});
    });
    await expect.poll(() => outcome.stdout, { timeout: 20_000 }).toMatch(/^http\S+\n/);
    const url = outcome.stdout.trim();
    const get = async (query: string) => {
      const answer = await fetch(`${url}api/${query}`);
      return { status: answer.status, said: JSON.parse(await answer.text()) };
    };
    const named = [id, join(far, "a.txt"), join(far, "b.txt")].map((name) => encodeURIComponent(String(name)));
    // More than there are threads that look at files. Without a deadline none of them would ever end.
    const asked = Array.from({ length: 8 }, () => named).flat();
    const session = encodeURIComponent("session:far");
    const all = Promise.all(asked.map((name) => get(`object?name=${name}&session=${session}`)));
    expect((await get("about")).status).toBe(200);
    expect((await get(`memory?session=${session}`)).status).toBe(200);
    for (const { status, said } of await all) {
      expect([status, said.disk?.state ?? said.code]).toEqual(
        status === 200 ? [200, "unreadable"] : [404, "UNKNOWN_NAME"],
      );
    }
    expect((await get("sessions")).said).toHaveLength(1);
  });
});
