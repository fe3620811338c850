// `palimpsest migrate` on a real node of XTDB: from a file into XTDB and back, and what does not work.
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { type MigrationReport, migrate, type SharingProgress } from "../../index.js";
import { type Desk, desk, withSession } from "../command.ts";
import { rejection } from "../sessions.ts";
import { type Node, noXtdb, startNode, submit } from "./nodes.ts";

let node: Node;

describe.skipIf(noXtdb)("migrate", { timeout: 120_000 }, () => {
  beforeAll(async () => {
    node = await startNode();
  }, 120_000);

  test("copies all to XTDB and back, and is idempotent", async () => {
    const at = await full();
    const url = node.database();
    const copy = join(at.folder, "copy.sqlite");
    const there = at.json<MigrationReport>("migrate", at.store, url);
    expect(there).toMatchObject({ present: 0, leftOut: [], nicknames: 1 });
    expect(there.verified).toBe(there.versions);
    expect(there.versions).toBeGreaterThan(6);
    expect(at.json("migrate", at.store, url)).toEqual({
      ...there,
      versions: 0,
      present: there.versions,
      nicknames: expect.any(Number),
    });
    const { stdout } = at.run("migrate", url, copy);
    expect(stdout).toMatch(new RegExp(`^${there.versions} versions brought along, 0 were there, 1 nickname$`, "m"));
    expect(stdout).toMatch(
      new RegExp(`^verified by their hashes: ${there.versions} versions of ${there.objects} objects$`, "m"),
    );
    for (const command of [
      ["history", "a.md"],
      ["show", "notes", "--store"],
      ["context", "of-one", "--call", "2"],
      ["search", "done"],
    ]) {
      const [name, ...rest] = command.filter((word) => word !== "--store");
      const before = at.run(name, ...rest);
      const after = at.run(name, ...rest, "--store", copy);
      expect(after.status, name).toBe(0);
      // The new store says which one wrote its versions.
      const said = name === "history" ? after.stdout.replaceAll(/\tanother store, [0-9a-f]{8}$/gm, "") : after.stdout;
      expect(withoutTransactions(said), name).toBe(withoutTransactions(before.stdout));
    }
    expect(at.run("doctor", "--store", copy).stdout).toContain("nothing is wrong");
  });

  test("leaves the first store as it is, byte for byte", async () => {
    const at = await full();
    const before = sum(at.store);
    expect(at.run("migrate", at.store, node.database()).status).toBe(0);
    expect(sum(at.store)).toBe(before);
  });

  test("tells a program how far it is", async () => {
    const at = await full();
    const told: SharingProgress[] = [];
    await migrate({ path: at.store }, { url: node.database() }, (progress) => told.push(progress));
    // It is told on the event loop, which may come to it after the answer.
    const stages = () => told.map(({ stage }) => stage);
    await expect.poll(stages, { timeout: 60_000 }).toEqual(expect.arrayContaining(["taking", "checking"]));
  });

  test("detects a forged text, and takes none of it", async () => {
    const [one, other] = [desk(), desk()];
    one.write("a.md", "one\n");
    one.run("index", "a.md");
    const url = node.database();
    one.run("migrate", one.store, url);
    const hash = createHash("sha256").update("one\n").digest("hex");
    await submit(url, [["put", { "xt/id": `palimpsest/content/${hash}`, state: "kept", text: "forged\n" }]]);
    const copy = join(other.folder, "copy.sqlite");
    const failure = other.failure("migrate", url, copy);
    expect(failure).toMatchObject({ status: 1, code: "HASH_MISMATCH" });
    expect(failure.message).toContain(hash);
    expect(other.run("objects", "--store", copy).stdout).toBe("");
  });

  test("names what cannot be moved, and makes no store of it", async () => {
    const at = desk();
    const copy = join(at.folder, "copy.sqlite");
    for (const [from, to, code] of [
      [join(at.folder, "nowhere.sqlite"), copy, "STORE_UNAVAILABLE"],
      ["http://127.0.0.1:1", copy, "XTDB_UNAVAILABLE"],
    ] as const) {
      expect(at.failure("migrate", from, to)).toMatchObject({ status: 1, code });
      expect(existsSync(copy)).toBe(false);
    }
    expect(at.failure("migrate", "http://me:word@127.0.0.1:1", copy)).toMatchObject({
      status: 2,
      code: "INVALID_ARGUMENT",
    });
    expect(at.failure("migrate", at.store, copy, "--store", copy)).toMatchObject({ status: 2, code: "USAGE" });
    expect(await rejection(() => migrate({}, { path: copy }))).toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(await rejection(() => migrate({ path: copy }, { path: copy, url: "http://a" }))).toMatchObject({
      code: expect.stringMatching(/INVALID_ARGUMENT|STORE_UNAVAILABLE/),
    });
  });
});

/** A desk with a file of two versions, one with a nickname, and a session. */
async function full(): Promise<Desk> {
  const at = desk();
  at.write("a.md", "one\n");
  at.write("notes.md", "a [link](a.md)\n");
  at.run("index", "a.md", "notes.md");
  at.write("a.md", "two\n");
  at.run("index", "a.md");
  at.run("name", "notes.md", "notes");
  await withSession(at, "of-one");
  return at;
}

/** Transactions are numbered anew, and have times of their own. */
function withoutTransactions(text: string): string {
  return text
    .replaceAll(/^\d+\t/gm, "")
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME")
    .replaceAll(/@\d+/g, "@TX");
}

function sum(file: string): string {
  return createHash("sha256").update(readFileSync(file)).digest("hex");
}
