// Plays the demo's session in the real Pi, plain or with the extension, and keeps what the model server received.
import { cpSync } from "node:fs";
import { dirname, join } from "node:path";
import { root } from "../setup.js";
import { readMetadata } from "./cargo-metadata.js";
import { createDemoSession } from "./demo-session.js";
import { createSandbox, runPi, startPiRpc } from "./pi.js";
import { startScriptedModel, usageWithCache } from "./scripted-model.js";

/**
 * @typedef {object} DemoRun
 * @property {import("./scripted-model.js").RequestBody[]} bodies in order of arrival
 * @property {import("./demo-session.js").DemoSession} session
 * @property {string} stderr what Pi, and we in it, had to say
 * @property {import("./pi.js").Sandbox} sandbox left in place
 */

/**
 * All turns but the last run in one rpc process, the last one in another that continues the session.
 * Rejects when Pi fails or the session does not come to its end.
 *
 * @param {{ parent: string, extension?: string, deadlineMs?: number }} options where to put the sandbox; the extension's entry
 * @returns {Promise<DemoRun>}
 */
export async function playDemo({ parent, extension, deadlineMs = 120_000 }) {
  /** @type {import("./demo-session.js").DemoSession | undefined} */
  let session;
  const usage = usageWithCache();
  const model = await startScriptedModel((request) => {
    const step = session?.script(request) ?? { status: 400 };
    return { ...step, usage: usage(request.body) };
  });
  try {
    const settings = { defaultTools: ["read", "bash", "edit", "write", "ls"] };
    const sandbox = createSandbox({ baseUrl: model.baseUrl, settings, parent });
    copySources(join(sandbox.projectDir, "src"));
    session = createDemoSession(sandbox.projectDir);

    const args = extension === undefined ? [] : ["-e", extension];
    const pi = startPiRpc(sandbox, args, { deadlineMs });
    for (const prompt of session.prompts.slice(0, -1)) {
      await pi.prompt(prompt);
    }
    const first = await pi.close();
    const last = await runPi(sandbox, [...args, "-p", "--continue", String(session.prompts.at(-1))], { deadlineMs });

    const stderr = first.stderr + last.stderr;
    if (model.requests.length !== session.calls || model.errors.length > 0 || last.code !== 0) {
      const cause = [...model.errors, stderr].join("\n");
      throw new Error(`the session ended after ${model.requests.length} of ${session.calls} calls\n${cause}`);
    }
    return { bodies: model.requests.map((request) => request.body), session, stderr, sandbox };
  } finally {
    await model.close();
  }
}

/**
 * Copies the sources of a library that the addon builds with. `Cargo.lock` holds its version, so the session and its figures
 * stay the same whatever becomes of our own sources.
 * @param {string} folder
 */
function copySources(folder) {
  const library = readMetadata(root).packages.find(({ name }) => name === "notify");
  if (library === undefined) {
    throw new Error("the addon no longer builds with `notify`, whose sources the demo works on");
  }
  cpSync(join(dirname(library.manifest_path), "src"), folder, { recursive: true });
}
