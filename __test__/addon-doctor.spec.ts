// The doctor at the boundary: shapes, promises, codes. What it finds is tested in `tests/store/doctor.rs`.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { doctor, openStore, setAside } from "../index.js";
import { temporaryFolder } from "./e2e/support.ts";
import { rejection, wrong } from "./sessions.ts";

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
    checked: counts,
    findings: [],
    moreFindings: 0,
  });
  expect(await rejection(() => setAside(path, true))).toMatchObject({ code: "STORE_UNAVAILABLE" });
  await store.close();
  expect(await doctor(path)).toEqual(report);
  expect(await rejection(() => setAside(path))).toMatchObject({ code: "INVALID_ARGUMENT" });
  expect(await rejection(() => store.maintenance.doctor())).toMatchObject({ code: "CLOSED" });
});

test("a file that does not open is named with what can be done, and set aside when asked", async () => {
  const path = newPath();
  const garbage = "garbage ".repeat(1_000);
  writeFileSync(path, garbage, { mode: 0o600 });
  const report = await doctor(path);
  expect(report.storeId).toBeUndefined();
  expect(report).toMatchObject({ healthy: false, damaged: true });
  expect(report.findings).toEqual([
    {
      kind: "file",
      problem: expect.stringContaining("not a database"),
      advice: expect.stringContaining("--set-aside"),
    },
  ]);
  const place = await setAside(path);
  expect(place).toBe(`${path}.corrupt-1`);
  expect(readFileSync(place, "utf8")).toBe(garbage);
  await (await openStore({ path })).close();
});

test("a missing file and wrong arguments reject", async () => {
  expect(await rejection(() => doctor(newPath()))).toMatchObject({ code: "STORE_UNAVAILABLE" });
  expect(await rejection(() => doctor(wrong(1)))).toMatchObject({ code: "INVALID_ARGUMENT" });
  expect(await rejection(() => setAside(newPath(), wrong("yes")))).toMatchObject({
    code: "INVALID_ARGUMENT",
  });
});
