// Tracked files through the addon: what JavaScript hears, and what tracking never does to a process.
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Store, TrackingEvent, TrackOptions } from "../index.js";
import { isEverything } from "../scripts/lib/tiers.js";
import { missing, temporaryFolder } from "./e2e/support.ts";
import { rejection, runModule, store, wrong } from "./sessions.ts";

const patience = 60_000;

/** A folder with files, a store that tracks them, and what was told. */
async function tracked(files: Record<string, string>, options: TrackOptions = {}, inStore?: Store) {
  const folder = realpathSync(temporaryFolder());
  const opened = inStore ?? (await store());
  const told: TrackingEvent[] = [];
  const write = (name: string, text: string) => {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  };
  for (const [name, text] of Object.entries(files)) {
    write(name, text);
  }
  const tracking = await opened.track(Object.keys(files), (events) => told.push(...events), {
    ...options,
    cwd: folder,
  });
  onTestFinished(() => tracking.close());
  const settle = async () => {
    expect(await tracking.settle(patience)).toBe(true);
    // What was handed over is called by the event loop.
    await new Promise((resolve) => setImmediate(resolve));
  };
  await settle();
  /** What was told since the last call: types and names. */
  const words = () =>
    told.splice(0).map((event) => `${event.type} ${"path" in event ? event.path?.slice(folder.length + 1) : ""}`);
  return { folder, store: opened, tracking, told, words, write, settle };
}

describe("tracking", () => {
  test("tells of a change outside once the store has it", async () => {
    const { store, folder, told, words, write, settle } = await tracked({ "a.txt": "one" });
    expect(words()).toEqual(["created a.txt"]);
    write("a.txt", "two");
    await settle();
    expect(told).toHaveLength(1);
    const [event] = told;
    const version = await store.get(join(folder, "a.txt"));
    expect(event).toEqual({
      type: "updated",
      path: join(folder, "a.txt"),
      id: version.id,
      txId: version.txId,
      noContent: null,
    });
    expect(await store.content(join(folder, "a.txt"))).toBe("two");
  });

  test("tells without being asked", async () => {
    const { words, write } = await tracked({ "a.txt": "one" });
    words();
    write("a.txt", "two");
    await expect.poll(words, { timeout: patience, interval: 5 }).toEqual(["updated a.txt"]);
  });

  test("follows a move, and reports a deletion and a return", async () => {
    const { store, folder, told, words, write, settle } = await tracked({ "a.txt": "one" });
    words();
    renameSync(join(folder, "a.txt"), join(folder, "b.txt"));
    await settle();
    const id = await store.find(join(folder, "a.txt"));
    expect(told.at(-1)).toMatchObject({ type: "moved", from: join(folder, "a.txt"), fromId: id, noContent: null });
    expect(words()).toEqual(["moved b.txt"]);
    rmSync(join(folder, "b.txt"));
    await settle();
    write("b.txt", "two");
    await settle();
    expect(words()).toEqual(["deleted b.txt", "resumed b.txt", "updated b.txt"]);
  });

  test("polls if asked to or out of watches, and reports that", async () => {
    const files = { "a/f": "1", "b/f": "2" };
    const asked = await tracked(files, { polling: true, pollMs: 20 });
    expect(asked.told[0]).toMatchObject({ type: "polling", reason: "asked" });
    const limited = await tracked(files, { maxWatches: 1, pollMs: 20 });
    expect(limited.told[0]).toMatchObject({ type: "polling", reason: "watch_limit" });
    expect(limited.tracking.status()).toMatchObject({ files: 2, attached: 2, watchedFolders: 1, polledFolders: 1 });
    for (const { words, write } of [asked, limited]) {
      words();
      write("a/f", "changed");
      write("b/f", "changed too");
      const heard: string[] = [];
      const all = () => {
        heard.push(...words());
        return heard.toSorted();
      };
      await expect.poll(all, { timeout: patience, interval: 5 }).toEqual(["updated a/f", "updated b/f"]);
    }
  });

  test("takes more files, and gives files up", async () => {
    const { folder, tracking, words, write, settle } = await tracked({ "a.txt": "one" });
    write("b.txt", "one");
    await tracking.add(["b.txt", "a.txt"], { cwd: folder });
    await settle();
    expect(words()).toEqual(["created a.txt", "created b.txt"]);
    await tracking.remove(["a.txt", "never"], { cwd: folder });
    write("a.txt", "two");
    write("b.txt", "two");
    await settle();
    expect(words()).toEqual(["updated b.txt"]);
    expect(tracking.status().files).toBe(1);
  });

  test("ends with close, and with that of the store", async () => {
    const first = await tracked({ "a.txt": "one" });
    await first.tracking.close();
    await first.tracking.close();
    const second = await tracked({ "a.txt": "one" });
    await second.store.close();
    for (const { told, tracking, write } of [first, second]) {
      told.length = 0;
      write("a.txt", "two");
      expect(await tracking.settle(100)).toBe(false);
      expect(told).toEqual([]);
    }
  });

  test("refuses arguments of other shapes", async () => {
    const opened = await store();
    const nothing = () => {};
    expect((await rejection(() => opened.track(wrong("a"), nothing))).code).toBe("INVALID_ARGUMENT");
    expect((await rejection(() => opened.track([], nothing, { cwd: "relative" }))).code).toBe("INVALID_ARGUMENT");
    expect((await rejection(() => opened.track([], wrong("no function")))).code).toBe("INVALID_ARGUMENT");
  });

  test("never keeps a process alive, nor ends it", () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "a.txt"), "one");
    const source = `import { writeFileSync } from "node:fs";
      const store = await addon.openStore({ path: ":memory:" });
      let told = 0;
      const tracking = await store.track(["a.txt"], () => { told += 1; }, { cwd: ${JSON.stringify(folder)} });
      await tracking.settle(60_000);
      await new Promise((resolve) => setImmediate(resolve));
      for (let number = 0; number < 50; number += 1) {
        writeFileSync(${JSON.stringify(join(folder, "a.txt"))}, String(number).repeat(1_000));
      }
      process.stdout.write(String(told));`;
    expect(runModule(source)).toEqual({ status: 0, signal: null, stdout: "1", stderr: "" });
  });

  test("a slow listener loses no version", async () => {
    const folder = temporaryFolder();
    const opened = await store();
    const names = Array.from({ length: 3_000 }, (_, number) => `f${number}`);
    for (const name of names) {
      writeFileSync(join(folder, name), "one");
    }
    let batches = 0;
    const tracking = await opened.track(
      names,
      () => {
        batches += 1;
        const until = Date.now() + 5;
        while (Date.now() < until) {}
      },
      { cwd: folder },
    );
    onTestFinished(() => tracking.close());
    expect(await tracking.settle(patience)).toBe(true);
    expect(await opened.list("file", { limit: 5_000 })).toHaveLength(names.length);
    expect(batches).toBeGreaterThan(0);
  });
});

describe("beside other programs", () => {
  test("a git checkout of many files is one version of each", { timeout: 300_000 }, async () => {
    if (missing("git")) {
      return;
    }
    const names = Array.from(
      { length: isEverything ? 5_000 : 500 },
      (_, number) => `part${number % 50}/f${number}.txt`,
    );
    const { folder, store, tracking, told, settle } = await tracked(
      Object.fromEntries(names.map((name) => [name, `first ${name}`])),
    );
    const git = (...args: string[]) => {
      const who = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"];
      const done = spawnSync("git", [...who, ...args], { cwd: folder, encoding: "utf8" });
      expect(done.stderr.includes("fatal"), done.stderr).toBe(false);
    };
    git("init", "-q", "-b", "main");
    git("add", ".");
    git("commit", "-q", "-m", "first");
    git("checkout", "-q", "-b", "other");
    for (const name of names) {
      writeFileSync(join(folder, name), `second ${name}`);
    }
    git("commit", "-q", "-a", "-m", "second");
    await settle();
    told.length = 0;
    git("checkout", "-q", "main");
    await settle();
    expect(told.filter((event) => event.type === "updated")).toHaveLength(names.length);
    expect(told.filter((event) => event.type === "deleted")).toEqual([]);
    for (const name of names.slice(0, 20)) {
      expect(await store.content(join(folder, name))).toBe(readFileSync(join(folder, name), "utf8"));
    }
    const { mostPending, files } = tracking.status();
    expect(mostPending).toBeLessThanOrEqual(files);
  });

  test("ignores files that an install puts beside a tracked one", { timeout: 120_000 }, async () => {
    const { folder, tracking, words, write, settle } = await tracked({
      "package.json": "{}",
      "node_modules/.package-lock.json": "{}",
    });
    words();
    for (let number = 0; number < 3_000; number += 1) {
      write(`node_modules/m${number % 300}/f${number}.js`, "module");
    }
    write("package.json", '{ "dependencies": {} }');
    await settle();
    expect(words()).toEqual(["updated package.json"]);
    rmSync(join(folder, "node_modules"), { recursive: true });
    await settle();
    expect(words()).toEqual(["deleted node_modules/.package-lock.json"]);
    expect(tracking.status().mostPending).toBeLessThanOrEqual(2);
  });
});
