// How the time of maintenance grows with the store: an import of many versions of one file, of many nicknames, a check of a
// session of many calls, the tags of one long note. Each at two sizes, the larger four times the smaller one. `npm run bench`
// runs this with the addon of the benches' build. Prints the times and their ratio: 4 is linear, 16 quadratic.
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStore } from "../index.js";

/**
 * @typedef {import("../index.js").Store} Store
 * @typedef {{ name: string, size: number, run: (size: number, folder: string) => Promise<number> }} Growth
 */

const factor = 4;
const words = process.argv.slice(2);

/** @type {Growth[]} */
const cases = [
  { name: "import, versions of one file", size: 5_000, run: importVersions },
  { name: "import, nicknames", size: 20_000, run: importNicknames },
  // From here on the texts are more than the packs that a thread keeps.
  { name: "doctor, calls on one file", size: 20_000, run: checkCalls },
  { name: "links, tags of one note", size: 20_000, run: listTags },
];

console.log("| growth | small | ms | large | ms | ratio (4 is linear) |\n|---|--:|--:|--:|--:|--:|");
for (const { name, size, run } of cases.filter(({ name }) => words.every((word) => name.includes(word)))) {
  const small = await inFolder((folder) => run(size, folder));
  const large = await inFolder((folder) => run(size * factor, folder));
  const cells = [size, small.toFixed(0), size * factor, large.toFixed(0), (large / small).toFixed(1)];
  console.log(`| ${name} | ${cells.join(" | ")} |`);
}

/** @param {number} size @param {string} folder */
function importVersions(size, folder) {
  const lines = Array.from({ length: size }, (_, at) => {
    const text = textOf(at);
    return [{ kind: "content", hash: hash(text), text }, version(at + 1, source("/file.txt"), text)];
  });
  return timedImport(lines.flat(), folder);
}

/** @param {number} size @param {string} folder */
function importNicknames(size, folder) {
  const text = "named\n";
  const file = version(1, source("/file.txt"), text);
  const names = Array.from({ length: size }, (_, at) => ({ kind: "nickname", nickname: `name${at}`, id: file.id }));
  return timedImport([{ kind: "content", hash: hash(text), text }, file, ...names], folder);
}

/** Each call refers to the version of the file that it made. @param {number} size @param {string} folder */
async function checkCalls(size, folder) {
  const lines = Array.from({ length: size }, (_, at) => {
    const text = textOf(at);
    const file = version(2 * at + 1, source("/file.txt"), text);
    return [{ kind: "content", hash: hash(text), text }, file, call(2 * at + 2, `call_${at}`, file)];
  });
  const path = archive(lines.flat(), folder);
  const store = await openStore({ path: join(folder, "store.sqlite") });
  await store.maintenance.importArchive({ path });
  const took = await timed(async () => {
    const { findings } = await store.maintenance.doctor();
    if (findings.length > 0) {
      throw new Error(`a finding: ${JSON.stringify(findings[0])}`);
    }
  });
  await store.close();
  return took;
}

/** @param {number} size @param {string} folder */
async function listTags(size, folder) {
  const vault = join(folder, "vault");
  mkdirSync(vault);
  const lines = Array.from({ length: size }, (_, at) => `a line with #tag${at}`);
  writeFileSync(join(vault, "note.md"), `${lines.join("\n")}\n`);
  const store = await openStore({ path: join(folder, "store.sqlite") });
  await store.index([vault], { cwd: folder });
  const id = await store.find("vault/note.md", { cwd: folder });
  const took = await timed(async () => {
    const found = await store.links(id);
    if (found.length !== size) {
      throw new Error(`${found.length} tags of ${size}`);
    }
  });
  await store.close();
  return took;
}

/** @param {object[]} lines @param {string} folder */
function archive(lines, folder) {
  const header = {
    kind: "header",
    format: "palimpsest-archive",
    version: 1,
    store_id: "bench",
    exported_at: "2026-01-01T00:00:00.000Z",
    what: { scope: "everything" },
    redacted: false,
  };
  const all = [header, ...lines].map((line) => `${JSON.stringify(line)}\n`);
  const before = all.join("");
  const end = { kind: "end", lines: all.length, sha256: hash(before) };
  const path = join(folder, "archive.jsonl");
  writeFileSync(path, `${before}${JSON.stringify(end)}\n`);
  return path;
}

/** @param {object[]} lines @param {string} folder */
async function timedImport(lines, folder) {
  const path = archive(lines, folder);
  const store = await openStore({ path: join(folder, "store.sqlite") });
  const took = await timed(() => store.maintenance.importArchive({ path }));
  await store.close();
  return took;
}

/** @param {number} version */
function textOf(version) {
  return `version ${version}\n${"a line\n".repeat(20)}`;
}

/** @param {string} path */
function source(path) {
  return { type: "filesystem", filesystemId: "bench", path };
}

/** The line of a version of a file, by docs/archive-format.md. @param {number} tx @param {ReturnType<typeof source>} of @param {string} text */
function version(tx, of, text) {
  // Canonical JSON has its keys in order.
  const { filesystemId, path, type } = of;
  const id = hash(JSON.stringify({ source: { filesystemId, path, type }, type: "file" }));
  const fields = { char_count: text.length, file_type: "txt" };
  return {
    kind: "version",
    tx,
    id,
    type: "file",
    source: of,
    identity_hash: id,
    origin: { store_id: "bench", tx_id: tx, time: 1_700_000_000_000 + tx },
    source_hash: hash(text),
    content_hash: hash(JSON.stringify({ char_count: fields.char_count, content: text, file_type: fields.file_type })),
    fields,
    content: hash(text),
  };
}

/** The line of a tool call that made a version of a file. @param {number} tx @param {string} id @param {{ id: string, content_hash: string }} file */
function call(tx, id, file) {
  const fields = { file_refs: [{ object: file.id, version: file.content_hash }], tool: "write" };
  return {
    kind: "version",
    tx,
    id,
    type: "toolcall",
    source: null,
    identity_hash: hash(JSON.stringify({ id, source: null, type: "toolcall" })),
    origin: { store_id: "bench", tx_id: tx, time: 1_700_000_000_000 + tx },
    source_hash: null,
    content_hash: hash(JSON.stringify({ content: null, ...fields })),
    fields,
    content: null,
  };
}

/** @param {string} text */
function hash(text) {
  return createHash("sha256").update(text).digest("hex");
}

/** @param {() => Promise<unknown>} work */
async function timed(work) {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

/** @param {(folder: string) => Promise<number>} work */
async function inFolder(work) {
  const folder = mkdtempSync(join(tmpdir(), "palimpsest-growth-"));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
