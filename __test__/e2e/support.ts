// Shared by the end-to-end tests: sandboxes that clean up after themselves, and what to look for in request bodies.
import { spawnSync } from "node:child_process";
import { chownSync, cpSync, existsSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { type Ledger, trustProject } from "../../index.js";
import { createSandbox, type Sandbox, type startPiRpc } from "../../scripts/lib/pi.js";
import { type RequestBody, type ScriptedModel, startScriptedModel } from "../../scripts/lib/scripted-model.js";
import { isOnPath, pinnedNode, root } from "../../scripts/setup.js";

export const extension = entryOf(root);

/** What Pi loads of a copy of the package. */
export function entryOf(folder: string): string {
  return join(folder, "extensions", "index.ts");
}
export const contextToolNames = ["activate", "deactivate", "pin", "unpin"];

/** Set where nothing may be skipped: absent programs then fail the tests that need them. */
const everythingRequired = process.env.PALIMPSEST_REQUIRE_ALL_TESTS === "1";

/**
 * Where recorded data of this name is: in `$PALIMPSEST_DATA`, else in `../shared/data`. Undefined where it is absent: tests
 * that need it are to be skipped, and one line says so; where nothing may be skipped this throws.
 */
export function recordedData(name: string): string | undefined {
  const folders = [process.env.PALIMPSEST_DATA ?? "", join(root, "..", "shared", "data")];
  const found = folders.filter((folder) => folder !== "").map((folder) => join(folder, name));
  const place = found.find(existsSync);
  if (place === undefined) {
    const why = `no ${name} in $PALIMPSEST_DATA or ../shared/data`;
    if (everythingRequired) {
      throw new Error(why);
    }
    console.warn(`skipped: ${why}`);
  }
  return place;
}

/** Whether a test that needs these programs is to be skipped; prints one line when it is. */
export function missing(...programs: string[]): boolean {
  const absent = programs.filter((program) => !isOnPath(program));
  if (absent.length === 0 || everythingRequired) {
    return false;
  }
  console.warn(`skipped, for want of ${absent.join(", ")} on the path`);
  return true;
}

/** Whether tests about permissions are to be skipped: root may write anything, and there is no way to be another user. */
export function missingOtherUser(): boolean {
  return process.getuid?.() === 0 && missing("setpriv");
}

/** Starts a model and a sandbox that are gone when the test has finished. */
export async function start(
  script: Parameters<typeof startScriptedModel>[0],
  { trusted = true, ...options }: Omit<Parameters<typeof createSandbox>[0], "baseUrl"> & { trusted?: boolean } = {},
) {
  const model = await startScriptedModel(script);
  const sandbox = createSandbox({ ...options, baseUrl: model.baseUrl });
  if (trusted) {
    await trustProject({ agentDir: sandbox.agentDir, project: sandbox.projectDir }, true);
  }
  onTestFinished(async () => {
    await model.close();
    sandbox.remove();
  });
  return { model, sandbox };
}

/** A temporary folder that is gone when the test has finished. */
export function temporaryFolder(): string {
  const dir = mkdtempSync(join(tmpdir(), "palimpsest-test-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** A copy of this package, as it would be installed, whose files a test may break. */
export function copyOfPackage(): string {
  const dir = temporaryFolder();
  const binaries = readdirSync(root).filter((name) => name.endsWith(".node"));
  for (const name of [
    "package.json",
    "index.js",
    "index.d.ts",
    "binding.js",
    "binding.d.ts",
    "lib",
    "extensions",
    "pi-extension",
    ...binaries,
  ]) {
    cpSync(join(root, name), join(dir, name), { recursive: true });
  }
  symlinkSync(join(root, "node_modules"), join(dir, "node_modules"));
  return dir;
}

/**
 * A launcher that runs a program as a user who may read everything and write only what is theirs; empty where the
 * tests themselves run as such a user. Gives that user everything in `owned`.
 */
export function asOtherUser(owned: string): string[] {
  if (process.getuid?.() !== 0) {
    return [];
  }
  const nobody = 65_534;
  for (const name of ["", ...readdirSync(owned, { recursive: true }).map(String)]) {
    chownSync(join(owned, name), nobody, nobody);
  }
  const readAll = ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"];
  return ["setpriv", `--reuid=${nobody}`, `--regid=${nobody}`, "--clear-groups", ...readAll];
}

/** The same as {@link asOtherUser}, for tests about files that may not be read either. */
export function asOtherUserWithoutReading(owned: string): string[] {
  return asOtherUser(owned).filter((argument) => !argument.includes("-caps="));
}

/** Whether the pinned Node and this clone can be read by any user. */
export function cloneIsPublic(): boolean {
  const nobody = ["--reuid=65534", "--regid=65534", "--clear-groups"];
  return process.getuid?.() !== 0 || spawnSync("setpriv", [...nobody, "test", "-r", extension]).status === 0;
}

/** Runs a command of Pi and returns what it tells the user. */
export async function said(pi: ReturnType<typeof startPiRpc>, command: string): Promise<string> {
  // A first session is greeted as well.
  const shown = pi.waitFor(
    ({ notifyType, message }) => notifyType === "info" && !String(message).startsWith("Palimpsest is on:"),
  );
  await pi.send({ type: "prompt", message: command });
  return String((await shown).message);
}

/** Whether a request is Pi's own for a summary: it has no tools. */
export const isSummary = ({ tools = [] }: RequestBody): boolean => tools.length === 0;

/** The names of the tools that a request declares, in order. */
export function toolNames(body: RequestBody): string[] {
  return (body.tools ?? []).map((tool) => tool.function.name);
}

/** Asserts that every tool call of every request is followed by exactly one result, and no result lacks its call. */
export function expectPairedCalls(model: ScriptedModel): void {
  for (const { n, body } of model.requests) {
    const calls = body.messages.flatMap((message) => message.tool_calls ?? []).map((call) => call.id);
    const results = body.messages.flatMap((message) => message.tool_call_id ?? []);
    expect(results, `results in request ${n}`).toEqual(calls);
  }
}

/** All requests without what differs between two sandboxes: tool lists, system prompt, the sandbox's folder. */
export function conversation(model: ScriptedModel, dir: string): unknown {
  const bodies = model.requests.map(({ body }) => body.messages.filter((message) => message.role !== "system"));
  return JSON.parse(JSON.stringify(bodies).replaceAll(dir, "<sandbox>"));
}

/** The results of a request, as the model sees them: of the newest one unless said otherwise. */
export function resultsOf(model: ScriptedModel, request = model.requests.length - 1): string[] {
  const { messages } = model.requests[request].body;
  return messages.filter(({ role }) => role === "tool").map(({ content }) => String(content));
}

/** A text whose lines are told apart by their number and its name. */
export function numbered(name: string, count = 40): string {
  return Array.from({ length: count }, (_, at) => `line ${at + 1} of ${name}\n`).join("");
}

/** What `palimpsest` answers as JSON about the store of a sandbox, in a process of its own. */
export function palimpsest<T>({ env }: Pick<Sandbox, "env">, ...args: string[]): T {
  const command = [join(root, "bin", "palimpsest.js"), ...args, "--json"];
  return JSON.parse(spawnSync(pinnedNode(), command, { encoding: "utf8", env, maxBuffer: 1 << 26 }).stdout) as T;
}

/** The ledger of the newest session of a sandbox. */
export function ledgerOf(sandbox: Pick<Sandbox, "env">): Ledger {
  return palimpsest(sandbox, "ledger", "latest");
}
