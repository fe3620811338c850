// Two copies of the addon in one process: the second uses the first or is refused. Where it comes around that, nothing is lost.
import { cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import * as binding from "../binding.js";
import * as entry from "../index.js";
import { root } from "../scripts/setup.js";
import { copyOfPackage, temporaryFolder } from "./e2e/support.ts";
import { runModule } from "./sessions.ts";

/** How often a native addon of ours is mapped into the process that runs this. */
const loadedTimes = `const loaded = new Set((await import("node:fs")).readFileSync("/proc/self/maps", "utf8")
  .split("\\n").filter((line) => line.endsWith(".node")).map((line) => line.split(/\\s+/).at(-1))).size;`;

function copy(version?: string): { folder: string; entry: string } {
  const folder = copyOfPackage();
  if (version !== undefined) {
    const manifest = join(folder, "package.json");
    writeFileSync(manifest, JSON.stringify({ ...JSON.parse(readFileSync(manifest, "utf8")), version }));
  }
  return { folder, entry: pathToFileURL(join(folder, "index.js")).href };
}

/** What a module prints as JSON that runs in a process of its own. */
function printed(source: string): unknown {
  const { stderr, stdout } = runModule(source);
  expect(stderr).toBe("");
  return JSON.parse(stdout);
}

test("the entry has all that the binding has", () => {
  const ours = Object.keys(entry).filter((name) => !["default", "module.exports"].includes(name));
  const native = Object.keys(binding).filter((name) => !["default", "module.exports"].includes(name));
  expect(ours.sort()).toEqual(native.sort());
});

test("a second copy of one version uses the addon of the first", () => {
  const source = `const second = await import(${JSON.stringify(copy().entry)});
    const store = await second.openStore();
    const session = await second.openSession(store, { harness: "t", sessionId: "s", cwd: "/" });
    await session.transformContext([]);
    ${process.platform === "linux" ? loadedTimes : "const loaded = 1;"}
    process.stdout.write(JSON.stringify([second.Store === addon.Store, session.status().calls, loaded]));`;
  expect(printed(source)).toEqual([true, 1, 1]);
});

const refusal = (error: string) =>
  `${error} && { code: ${error}.code, message: ${error}.message, hint: ${error}.hint }`;

test("a second copy of another version is refused", () => {
  const second = copy("9.9.9");
  const source = `const error = await import(${JSON.stringify(second.entry)}).catch((error) => error);
    process.stdout.write(JSON.stringify(${refusal("error")}));`;
  expect(printed(source)).toEqual({
    code: "OTHER_COPY",
    message: `another copy of palimpsest serves this process: 0.1.0 in \`${root}\`; this one is 9.9.9 in \`${second.folder}\``,
    hint: "load one of them only",
  });
});

test("a worker may load the copy that serves, and no other", () => {
  const inWorker = `const { parentPort, workerData } = require("node:worker_threads");
    import(workerData).then((addon) => addon.openStore({ path: ":memory:" })).then((store) => store.close())
      .then(() => parentPort.postMessage("served"), (error) => parentPort.postMessage(${refusal("error")}));`;
  const source = `const { Worker } = await import("node:worker_threads");
    const answer = (workerData) => new Promise((done) =>
      new Worker(${JSON.stringify(inWorker)}, { eval: true, execArgv: [], workerData }).once("message", done));
    const own = ${JSON.stringify(pathToFileURL(join(root, "index.js")).href)};
    process.stdout.write(JSON.stringify([await answer(own), await answer(${JSON.stringify(copy().entry)})]));`;
  expect(printed(source)).toEqual(["served", expect.objectContaining({ code: "OTHER_COPY" })]);
});

/** Two copies of the binary, loaded past the entry; the second in a worker if \`apart\`. 200 pairs of puts at once. */
function pairs(apart: boolean): unknown {
  const folder = temporaryFolder();
  const [name] = readdirSync(root).filter((file) => file.endsWith(".node"));
  const copies = ["c1", "c2"].map((copy) => join(folder, `${copy}.node`));
  for (const copy of copies) {
    cpSync(join(root, name), copy);
  }
  const put = `async (addon, path, name) => {
    const store = await addon.openStore({ path });
    const done = await Promise.all(Array.from({ length: 200 }, (_, i) => i).map(async (i) => {
      const { version } = await store.put({ type: "toolcall", id: name + i, content: "text of " + name + i });
      return version.id;
    }));
    await store.close();
    return done;
  }`;
  const inWorker = `const { parentPort, workerData } = require("node:worker_threads");
    (${put})(require(workerData.copy), workerData.path, "b").then((done) => parentPort.postMessage(done));`;
  const source = `const { createRequire } = await import("node:module");
    const { Worker } = await import("node:worker_threads");
    const require = createRequire(${JSON.stringify(import.meta.url)});
    const [one, other] = ${JSON.stringify(copies)};
    const path = ${JSON.stringify(join(folder, "store", "store.sqlite"))};
    const put = ${put};
    const inWorker = () => new Promise((done, failed) => new Worker(${JSON.stringify(inWorker)},
      { eval: true, execArgv: [], workerData: { copy: other, path } }).once("message", done).once("error", failed));
    const written = await Promise.all([put(require(one), path, "a"), ${apart ? "inWorker()" : 'put(require(other), path, "b")'}]);
    const store = await addon.openStore({ path });
    let found = 0;
    for (const id of written.flat()) {
      found += (await store.content(id)) === "text of " + id ? 1 : 0;
    }
    await store.close();
    process.stdout.write(JSON.stringify({ found, findings: (await addon.doctor(path)).findings }));`;
  return printed(source);
}

test.runIf(process.platform === "linux" && ["x64", "arm64"].includes(process.arch)).each([false, true])(
  "two copies loaded at once lose nothing (in a worker: %s)",
  (apart) => expect(pairs(apart)).toEqual({ found: 400, findings: [] }),
);
