// Two copies of the package in one Pi: the first serves, the second says so once and stays out of the way.
import { cpSync, existsSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openStore } from "../../index.js";
import { runPi, type Sandbox, startPiRpc } from "../../scripts/lib/pi.js";
import { contextToolNames, copyOfPackage, entryOf, extension, start, toolNames } from "./support.ts";

const served = ["read", "bash", "edit", "write", ...contextToolNames];
const files = { "a.txt": "one\n" };

/** A copy of the package; returns its folder and the arguments that load it. */
function copy(version?: string): { folder: string; args: string[] } {
  const folder = realpathSync(copyOfPackage());
  if (version !== undefined) {
    const manifest = join(folder, "package.json");
    writeFileSync(manifest, JSON.stringify({ ...JSON.parse(readFileSync(manifest, "utf8")), version }));
  }
  return { folder, args: ["-e", entryOf(folder)] };
}

/** The IDs of the sessions that the sandbox's store holds. */
async function sessions(sandbox: Sandbox): Promise<string[]> {
  const store = await openStore({ path: join(sandbox.agentDir, "palimpsest", "store.sqlite") });
  const found = await store.sessions();
  await store.close();
  return found.map(({ id }) => id);
}

test.each(["0.1.0", "0.0.9"])("the first of two copies serves a session (other: %s)", async (version) => {
  const { model, sandbox } = await start([{ calls: [{ name: "read", args: { path: "a.txt" } }] }, { text: "ok" }], {
    files,
  });
  const [first, second] = [copy(), copy(version)];
  const finished = await runPi(sandbox, [...first.args, ...second.args, "-p", "read a.txt"]);
  const said = `Palimpsest: two copies are loaded; 0.1.0 in ${first.folder} serves, ${version} in ${second.folder} is off. Remove one of them\n`;
  expect(finished).toMatchObject({ code: 0, stdout: "ok\n", stderr: said });
  expect(toolNames(model.requests[0].body)).toEqual(served);
  expect(await sessions(sandbox)).toHaveLength(1);
});

test("it is said once, and /context is the first one's", async () => {
  const { model, sandbox } = await start([{ text: "ok" }, { text: "ok" }]);
  const pi = startPiRpc(sandbox, [...copy().args, ...copy().args]);
  await pi.prompt("hi");
  await pi.send({ type: "new_session" });
  await pi.prompt("hi");
  const shown = pi.waitFor((record) => record.method === "notify");
  await pi.send({ type: "prompt", message: "/context" });
  expect((await shown).message).toMatch(/^window /);
  await pi.close();
  const notices = pi.records.filter((record) => record.method === "notify").map(({ message }) => String(message));
  expect(notices.filter((message) => message.includes("two copies are loaded"))).toHaveLength(1);
  expect(model.requests.map(({ body }) => toolNames(body))).toEqual([served, served]);
  expect(await sessions(sandbox)).toHaveLength(2);
});

test("a copy that is loaded again by /reload is no other copy", async () => {
  const { model, sandbox } = await start([{ text: "ok" }, { text: "ok" }]);
  const reloading = join(sandbox.dir, "reloading.ts");
  writeFileSync(
    reloading,
    `export default (pi) => pi.registerCommand("again", { description: "Reload", handler: (_args, ctx) => ctx.reload() });\n`,
  );
  const pi = startPiRpc(sandbox, ["-e", extension, "-e", reloading]);
  await pi.prompt("hi");
  await pi.send({ type: "prompt", message: "/again" });
  await pi.prompt("hi");
  expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });
  expect(pi.records.filter((record) => record.notifyType === "warning")).toEqual([]);
  expect(model.requests.map(({ body }) => toolNames(body))).toEqual([served, served]);
});

/** Installs the package for the person and for the project, as `pi install` and `pi install -l` do. */
function installTwice(sandbox: Sandbox, version: string): string[] {
  const places = [sandbox.agentDir, join(sandbox.projectDir, ".pi")];
  for (const place of places) {
    const settings = join(place, "settings.json");
    const given = existsSync(settings) ? JSON.parse(readFileSync(settings, "utf8")) : {};
    mkdirSync(join(place, "npm", "node_modules"), { recursive: true });
    writeFileSync(settings, JSON.stringify({ ...given, packages: ["npm:palimpsest"], defaultProjectTrust: "always" }));
    const { folder } = copy(place === sandbox.agentDir ? version : undefined);
    cpSync(folder, join(place, "npm", "node_modules", "palimpsest"), { recursive: true, verbatimSymlinks: true });
  }
  return places;
}

test.each(["0.1.0", "0.0.9"])("a project's package serves in the place of one's own (%s)", async (version) => {
  const { model, sandbox } = await start(
    [{ text: "plain" }, { calls: [{ name: "read", args: { path: "a.txt" } }] }, { text: "ok" }],
    { files },
  );
  installTwice(sandbox, version);
  expect(await runPi(sandbox, ["--no-context", "-p", "hi"])).toMatchObject({ code: 0 });
  expect(toolNames(model.requests[0].body)).toEqual(["read", "bash", "edit", "write"]);
  const { stderr } = await runPi(sandbox, ["-p", "read a.txt"]);
  expect(stderr).toBe("");
  expect(toolNames(model.requests[1].body)).toEqual(served);
  expect(await sessions(sandbox)).toHaveLength(1);
});

test("one's own package serves once the project's is gone", async () => {
  const { model, sandbox } = await start([{ text: "ok" }, { text: "ok" }]);
  const [, project] = installTwice(sandbox, "0.1.0");
  const reloading = join(sandbox.dir, "reloading.ts");
  writeFileSync(
    reloading,
    `export default (pi) => pi.registerCommand("again", { description: "Reload", handler: (_args, ctx) => ctx.reload() });\n`,
  );
  const pi = startPiRpc(sandbox, ["-e", reloading]);
  await pi.prompt("hi");
  writeFileSync(join(project, "settings.json"), "{}");
  rmSync(join(project, "npm"), { recursive: true });
  await pi.send({ type: "prompt", message: "/again" });
  await pi.prompt("hi");
  expect(await pi.close()).toMatchObject({ code: 0, stderr: "" });
  expect(model.requests.map(({ body }) => toolNames(body))).toEqual([served, served]);
});
