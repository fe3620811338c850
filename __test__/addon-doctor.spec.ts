// The doctor at the boundary: shapes, promises, codes. What it finds is tested in `tests/store/doctor.rs`.
import { readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { doctor, openSession, openStore, type StoreProgress, setAside } from "../index.js";
import { temporaryFolder } from "./e2e/support.ts";
import { rejection, user, wrong } from "./sessions.ts";

const newPath = () => join(temporaryFolder(), "store.sqlite");

test("a store that is whole is healthy, open or closed", async () => {
  const path = newPath();
  const store = await openStore({ path });
  const counts = { objects: 0, versions: 0, contents: 0, contentBytes: 0, items: 0, itemBytes: 0, references: 0 };
  const report = await store.maintenance.doctor();
  expect(report).toEqual({
    path,
    storeId: store.id,
    healthy: true,
    damaged: false,
    asOf: 0,
    growth: { fileBytes: expect.any(Number), recentBytes: 0, sessions: 0, unusedSessions: 0 },
    checked: counts,
    findings: [],
    moreFindings: 0,
  });
  expect(await rejection(() => setAside(path, true))).toMatchObject({ code: "STORE_UNAVAILABLE" });
  await store.close();
  expect(await doctor(path)).toEqual({ ...report, growth: expect.anything() });
  expect(await rejection(() => setAside(path))).toMatchObject({ code: "INVALID_ARGUMENT" });
  expect(await rejection(() => store.maintenance.doctor())).toMatchObject({ code: "CLOSED" });
});

test("says how far checks and imports are", async () => {
  const path = newPath();
  const store = await openStore({ path });
  const session = await openSession(store, { harness: "test", sessionId: "s", cwd: tmpdir() });
  await session.transformContext([user("hello")]);
  await session.close();
  const told: StoreProgress[] = [];
  const tell = (progress: StoreProgress) => told.push(progress);
  // It is told on the event loop, which may come to it after the answer.
  const newest = () => expect.poll(() => told.splice(0).at(-1));
  const { checked } = await doctor(path, true, tell);
  const done = checked.contents + checked.versions + checked.objects;
  await newest().toEqual({ stage: "checking", done, of: null });
  const archive = `${path}.jsonl`;
  await store.maintenance.exportArchive({ path: archive });
  await store.maintenance.importArchive({ path: archive }, tell);
  await newest().toMatchObject({ stage: "importing", done: 0 });
  await store.close();
});

test("names a file that does not open, and sets it aside if asked", async () => {
  const path = newPath();
  await (await openStore({ path })).close();
  // The header stays, the table of the tables goes.
  const damaged = readFileSync(path).fill(7, 100, 4_000);
  writeFileSync(path, damaged);
  const report = await doctor(path);
  expect(report.storeId).toBeUndefined();
  expect(report).toMatchObject({ healthy: false, damaged: true });
  expect(report.findings).toEqual([
    {
      kind: "file",
      problem: expect.stringContaining("malformed"),
      advice: expect.stringContaining("--set-aside"),
    },
  ]);
  const place = await setAside(path);
  expect(place).toBe(`${path}.corrupt-1`);
  expect(readFileSync(place)).toEqual(damaged);
  await (await openStore({ path })).close();
});

test("a file that is not a store is renamed only by force", async () => {
  const path = newPath();
  const text = "notes ".repeat(1_000);
  writeFileSync(path, text, { mode: 0o600 });
  for (const open of [() => doctor(path), () => setAside(path), () => openStore({ path })]) {
    expect(await rejection(open)).toMatchObject({
      code: "STORE_CORRUPT",
      message: expect.stringContaining("is not a store"),
      hint: expect.stringMatching(/^check the path.* --set-aside --force/),
    });
  }
  expect(readFileSync(path, "utf8")).toBe(text);
  expect(readFileSync(await setAside(path, true), "utf8")).toBe(text);
});

test("a missing file and wrong arguments reject", async () => {
  expect(await rejection(() => doctor(newPath()))).toMatchObject({ code: "STORE_UNAVAILABLE" });
  expect(await rejection(() => doctor(wrong(1)))).toMatchObject({ code: "INVALID_ARGUMENT" });
  expect(await rejection(() => setAside(newPath(), wrong("yes")))).toMatchObject({
    code: "INVALID_ARGUMENT",
  });
});
