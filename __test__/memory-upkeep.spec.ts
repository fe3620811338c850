// The class `Memory` of the addon: what is stale, memory faults and traces, and memory files in a store: shapes and codes. What they
// decide is tested in Rust.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type MemoryOptions, openMemory, openStore } from "../index.js";

/** A project with an entry that cites a file. */
function places() {
  const dir = mkdtempSync(join(tmpdir(), "palimpsest-memory-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const options = { agentDir: join(dir, "agent"), project: join(dir, "project"), trusted: true };
  const folder = join(options.project, ".pi", "memory");
  const index = join(folder, "MEMORY.md");
  const cited = join(options.project, "a.rs");
  mkdirSync(folder, { recursive: true });
  writeFileSync(cited, "one\n");
  writeFileSync(index, "- Store: see `a.rs`, and [[build]]\n");
  writeFileSync(join(folder, "build.md"), "# Build\n\nhow\n");
  return { options, index, cited };
}

test("a page with a changed cited file is verified and confirmed", async () => {
  const { options, cited } = places();
  const store = await openStore({ path: ":memory:", settings: {} });
  onTestFinished(() => store.close());
  const memory = openMemory(options, store);
  const [page] = await memory.pages();
  expect(await memory.stale()).toEqual([]);
  expect(await memory.verify()).toEqual([]);
  writeFileSync(cited, "two\n");
  const hash = expect.stringMatching(/^[0-9a-f]{64}$/);
  const diff = "@@ -1 +1 @@\n-one\n+two\n";
  const place = { path: "a.rs", place: "a.rs", change: "contradicted", movedTo: null };
  const changed = [{ ...place, before: hash, now: hash, diff }];
  const [stale] = await memory.stale();
  expect(stale).toEqual({
    page,
    facts: { confirmed: new Date().toISOString().slice(0, 10), uses: 0, used: null, origin: null },
    reasons: [{ reason: "cited_contradicted", paths: ["a.rs"] }],
    cited: changed,
  });
  expect(await memory.verify()).toEqual([{ page, cited: changed }]);
  expect(await memory.confirm(page.id.slice(0, 6))).toBe(page.id);
  expect(await memory.verify()).toEqual([]);
  await expect(memory.confirm("zzz")).rejects.toMatchObject({ code: "NO_PAGE" });
  rmSync(cited);
  const [gone] = await memory.verify();
  expect(gone.cited[0]).toMatchObject({ change: "gone", now: null });
});

test("an index has a history, a diff and backlinks in the store", async () => {
  const { options, index } = places();
  const store = await openStore({ path: ":memory:", settings: {} });
  onTestFinished(() => store.close());
  const memory = openMemory(options, store);
  await memory.pages();
  writeFileSync(index, "- Store: see `a.rs`, and [[build]]\n- new\n");
  await memory.pages();
  const cwd = options.project;
  expect(await store.history(".pi/memory/MEMORY.md", { cwd })).toHaveLength(2);
  const diff = await store.diff(".pi/memory/MEMORY.md", { cwd });
  expect(diff.unified).toContain("\n+- new\n");
  const [link] = await store.backlinks(".pi/memory/build.md", { cwd });
  expect(link.from).toBe(await store.find(".pi/memory/MEMORY.md", { cwd }));
});

test("memory faults are counted and traced, with IDs", async () => {
  const { options, index } = places();
  const memory = openMemory(options);
  await memory.pages();
  const call = { toolName: "read", args: { path: index }, cwd: options.project, isError: false, isStored: true };
  await memory.observe(call);
  await memory.observe(call);
  await memory.compacted();
  const counts = await memory.faults();
  expect(counts.map(({ fault, inSession, inTraces }) => [fault, inSession, inTraces])).toEqual([
    ["refetch", 0, 0],
    ["duplicate_tool", 1, 1],
    ["post_compaction_bootstrap", 0, 0],
    ["flush_miss", 0, 0],
    ["silent_recall", 0, 0],
    ["pinned_invariant", 0, 0],
  ]);
  const [compaction, fault] = await memory.traces();
  expect(compaction).toMatchObject({ kind: "compaction", at: expect.stringMatching(/Z$/) });
  expect(fault).toMatchObject({ kind: "fault", fault: "duplicate_tool", id: counts[1].newest });
  expect(await memory.trace(fault.id.slice(0, 5))).toEqual(fault);
  await expect(memory.trace("nothing")).rejects.toMatchObject({ code: "NO_TRACE" });
  await memory.remember("project", "CI: green");
  await memory.ended();
  expect((await memory.faults())[3].inSession).toBe(1);
});

test("wrong arguments are refused with their code", async () => {
  const { options } = places();
  const memory = openMemory(options);
  const wrong = (value: unknown) => value as never;
  await expect(memory.observe(wrong({ toolName: 1 }))).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  await expect(memory.confirm(wrong(7))).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  expect(() => openMemory(options, wrong("store"))).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
  expect(() => openMemory(wrong(1) as MemoryOptions)).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
});
