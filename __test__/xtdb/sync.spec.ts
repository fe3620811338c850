// `palimpsest sync`, `doctor` and `Store.shared` on a real node of XTDB: what is shared, what a person reads, and what is refused.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo, Server } from "node:net";
import { hostname } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { openSession, openStore, type SharingMachine, type SharingProgress, type SharingStatus } from "../../index.js";
import { claimPort } from "../../scripts/lib/ports.js";
import { isEverything } from "../../scripts/lib/tiers.js";
import { type Desk, desk, withSession } from "../command.ts";
import { patient, rejection, user } from "../sessions.ts";
import { type Node, noXtdb, startNode, submit } from "./nodes.ts";

let node: Node;

describe.skipIf(noXtdb)("a shared store", { timeout: 120_000 }, () => {
  beforeAll(async () => {
    node = await startNode();
  }, 120_000);

  test("brings every version to other machines, and shows the queue", () => {
    const url = node.database();
    const [one, other] = [machine(url), machine(url)];
    one.write("a.md", "one\n");
    one.run("index", "a.md");
    one.write("a.md", "two\n");
    one.run("index", "a.md");
    const waiting = one.json<SharingStatus>("sync", "status");
    expect(waiting).toMatchObject({ url, outbox: 2, behind: 0, last: null, error: null, sessions: false });
    expect(Date.now() - Date.parse(waiting.oldest ?? "")).toBeLessThan(60_000);
    expect(one.run("sync", "push").stdout).toBe("sent 2 versions, 0 were there\n");
    expect(one.run("sync", "push").stdout).toBe("sent 0 versions, 0 were there\n");
    expect(other.json<SharingStatus>("sync", "status")).toMatchObject({
      storeId: waiting.storeId,
      outbox: 0,
      behind: 2,
    });
    expect(other.run("sync", "pull").stdout).toBe("fetched 2 versions, 0 were here\n");
    const path = join(one.folder, "a.md");
    expect(other.run("show", path).stdout).toBe("two\n");
    expect(other.run("show", `${path}@-1`).stdout).toBe("one\n");
    const { status, stdout } = other.run("sync", "status");
    expect(stdout).toMatch(/^waits to be sent +nothing$/m);
    expect(stdout).toMatch(/^waits to be fetched +nothing$/m);
    expect(stdout).toMatch(/^all was alike +now$/m);
    expect(status).toBe(0);
  });

  test("sends again what a restored server lost, and says so", async () => {
    const url = node.database();
    const one = machine(url);
    one.write("a.md", "one\n");
    one.run("index", "a.md");
    one.run("sync", "push");
    await fetch(`${url}/copies/save/0`, { method: "POST" });
    one.write("a.md", "two\n");
    one.run("index", "a.md");
    one.run("sync", "push");
    await fetch(`${url}/copies/put-back/0`, { method: "POST" });
    const noticed = one.run("sync", "status").stdout;
    expect(noticed).toMatch(
      /^what it lost +it was found put back to an older state 0 s ago; what it lacks is sent again, 0 so far$/m,
    );
    expect(noticed).not.toMatch(/^all was alike +now$/m);
    const doctor = one.run("doctor");
    expect(doctor.status).toBe(1);
    expect(doctor.stdout).toMatch(/^sharing: the shared store `\S+` was found put back to an older state/m);
    expect(one.run("sync", "push").stdout).toBe(
      "sent 1 version, 1 were there; 1 of them again, because it had lost them\n",
    );
    expect(one.run("sync", "push").stdout).toBe("sent 0 versions, 0 were there\n");
    one.run("sync", "pull");
    const { stdout } = one.run("sync", "status");
    expect(stdout).toMatch(
      /^what it lost +it was found put back to an older state \d+ s ago; 1 version was sent again$/m,
    );
    expect(stdout).toMatch(/^all was alike +now$/m);
    expect(one.run("doctor").stdout).toMatch(/^what it lost +it was found put back/m);
  });

  test("names the files that others changed", () => {
    const url = node.database();
    const [one, other] = [machine(url), machine(url)];
    const shared = { mounts: [{ agentPrefix: "/", canonicalPrefix: "/" }] };
    for (const at of [one, other]) {
      const mapping = {
        agentPrefix: at.folder,
        canonicalPrefix: "/app",
        filesystemId: "team",
        clientPrefix: at.folder,
      };
      set(at, { xtdbUrl: url, mounts: [...shared.mounts, mapping] });
      at.write("a.md", `of ${at === one ? "one" : "the other"}\n`);
    }
    one.run("index", "a.md");
    one.run("sync", "push");
    other.run("index", "a.md");
    other.run("sync", "push");
    const { stdout } = one.run("sync", "pull");
    expect(stdout).toMatch(/^fetched 1 version, \d were here$/m);
    expect(stdout).toMatch(/^latest version changed: file \/app\/a\.md: .* written by the store \S+$/m);
    expect(one.run("show", "a.md").stdout).toBe("of the other\n");
    expect(one.run("show", "a.md@-1").stdout).toBe("of one\n");
  });

  test("gets a session only on request, and finds it by both IDs", async () => {
    const url = node.database();
    const [one, other, third] = [machine(url), machine(url), machine(url)];
    await withSession(one, "of-one");
    one.run("sync", "push");
    expect(other.json("sync", "sessions")).toEqual({ sessions: [] });
    expect(one.run("sync", "push", "of-one").status).toBe(0);
    const { sessions } = other.json<{ sessions: { id: string }[] }>("sync", "sessions");
    expect(sessions).toMatchObject([{ harness: "test", hostSessionId: "of-one", cwd: one.folder, state: "paused" }]);
    const [{ id }] = sessions;
    const request = one.run("context", "of-one", "--call", "2").stdout;
    for (const [at, name] of [
      [other, "of-one"],
      [third, id],
    ] as const) {
      expect(at.run("sync", "pull", name).status).toBe(0);
      expect(at.run("context", "of-one", "--call", "2").stdout).toBe(request);
    }
    expect(other.failure("sync", "pull", "nobody")).toMatchObject({ status: 3, code: "UNKNOWN_NAME" });
    expect(one.failure("sync", "push", "nobody")).toMatchObject({ status: 3, code: "UNKNOWN_NAME" });
  });

  test("gets sessions where the setting says so", async () => {
    const url = node.database();
    const one = machine(url);
    set(one, { xtdbUrl: url, shareSessions: true });
    await withSession(one, "of-one");
    expect(one.run("sync", "push").status).toBe(0);
    expect(machine(url).json("sync", "sessions")).toMatchObject({ sessions: [{ hostSessionId: "of-one" }] });
  });

  test("names who wrote what, and brings the sessions of others", async () => {
    const url = node.database();
    const [ann, bob] = [machine(url), machine(url)];
    set(ann, { xtdbUrl: url, shareSessions: true, shareAs: "Ann" });
    set(bob, { xtdbUrl: url, shareAs: "Bob" });
    ann.write("a.md", "one\n");
    ann.run("index", "a.md");
    await withSession(ann, "of-ann");
    const waiting = ann.run("sessions");
    expect(waiting.stdout).toMatch(/\twaits$/m);
    expect(waiting.stderr).toMatch(/^palimpsest: \d+ transactions wait to be sent to http:\S+, the oldest for \d+ s$/m);
    ann.run("sync", "push");
    expect(ann.run("sessions")).toMatchObject({ stdout: expect.stringMatching(/\t-$/m), stderr: "" });
    bob.write("b.md", "two\n");
    bob.run("index", "b.md");
    bob.run("sync", "push");

    const from = `Ann on ${hostname()}`;
    expect(bob.run("sync", "sessions").stdout).toMatch(new RegExp(`\tof-ann\t${from}$`, "m"));
    const { stdout } = bob.run("sync", "pull", "--sessions", "new");
    expect(stdout).toMatch(/^fetched \d+ versions, /);
    expect(bob.run("sync", "pull", "--sessions", "all").stdout).toMatch(/^fetched 0 versions, /);
    expect(bob.run("sessions").stdout).toMatch(new RegExp(`\t${from}$`, "m"));
    const file = join(ann.folder, "a.md");
    expect(bob.run("history", file).stdout).toMatch(new RegExp(`\t${from}$`, "m"));
    expect(bob.run("objects").stdout).toContain(`${file} · from ${from}`);
    expect(bob.run("show", file, "--metadata").stdout).toMatch(new RegExp(`^origin +\\S+ \\d+ \\S+ ${from}$`, "m"));

    const { machines } = ann.json<{ machines: SharingMachine[] }>("sync", "machines");
    expect(machines.map(({ author, machine }) => [author, machine])).toEqual(
      expect.arrayContaining([
        ["Ann", hostname()],
        ["Bob", hostname()],
      ]),
    );
    const rows = ann.run("sync", "machines").stdout;
    expect(rows).toMatch(new RegExp(`^${hostname()} \\(here\\)\tAnn\t.*\t1 to be fetched\t\\S+$`, "m"));
  });

  test("gets what a session left from a program of its own", async () => {
    const { port, release } = await claimPort();
    onTestFinished(release);
    const url = `http://127.0.0.1:${port}`;
    const one = machine(url);
    const settings = { ...patient, xtdbUrl: url, shareSessions: true };
    const store = await openStore({ path: one.store, settings });
    const session = await openSession(store, { harness: "test", sessionId: "left", cwd: one.folder, settings });
    await session.transformContext([user("Run it.")]);
    await session.close();
    expect(await store.sessions()).toMatchObject([{ hostSessionId: "left", waits: true }]);
    await store.close();
    const server = await startNode({ port });
    const sessions = () => machine(server.url).json<{ sessions: object[] }>("sync", "sessions").sessions;
    await expect.poll(sessions, { timeout: 60_000 }).toMatchObject([{ hostSessionId: "left" }]);
  });

  test("waits no longer for such a program than its time", async () => {
    const one = machine("http://127.0.0.1:1");
    one.write("a.md", "one\n");
    one.run("index", "a.md");
    const left = { path: one.store, settings: { xtdbUrl: "http://127.0.0.1:1" }, seconds: 1 };
    const sender = fileURLToPath(new URL("../../lib/sender.js", import.meta.url));
    const env = { ...one.env, PALIMPSEST_LEFT: JSON.stringify(left) };
    const [code] = await once(spawn(process.execPath, [sender], { env, stdio: "inherit" }), "exit");
    expect(code).toBe(0);
    const { stdout } = one.run("sync", "status");
    expect(stdout).toMatch(/^waits to be sent +1 transaction/m);
  });

  test("never gets text of excluded files or secrets of a session", async () => {
    const url = node.database();
    const [one, other] = [machine(url), machine(url)];
    one.write("plans.md", "of our plans\n");
    one.run("index", "plans.md");
    set(one, { xtdbUrl: url, excludeAlso: ["plans.md"] });
    const { stderr } = one.run("sync", "push");
    expect(stderr).toMatch(/^palimpsest: left out \S+plans\.md: /m);
    other.run("sync", "pull");
    expect(other.run("show", join(one.folder, "plans.md")).stdout).not.toContain("of our plans");
    const secret = "ghp_016C7f8dKq2mXv4ZtB9sLwE3yR5uNcA1hJgP";
    const store = await openStore({ path: one.store });
    const session = await openSession(store, { harness: "test", sessionId: "s", cwd: one.folder, settings: patient });
    await session.transformContext([user(`Push with ${secret}.`)]);
    await session.close();
    await store.close();
    one.run("sync", "push", "s");
    other.run("sync", "pull", "s");
    expect(one.run("context", "s", "--call", "1").stdout).toContain(secret);
    const there = other.run("context", "s", "--call", "1").stdout;
    expect(there).toContain("[redacted:github_token]");
    expect(there).not.toContain(secret);
  });

  test("forgets what is forgotten on one machine", () => {
    const url = node.database();
    const [one, other] = [machine(url), machine(url)];
    const path = one.write("a.md", "to be forgotten\n");
    one.run("index", "a.md");
    one.run("sync", "push");
    other.run("sync", "pull");
    expect(one.run("forget", "a.md", "--yes").status).toBe(0);
    expect(one.run("sync", "push").stdout).toMatch(/1 object forgotten there$/m);
    expect(other.run("sync", "pull").stdout).toMatch(/1 object forgotten here$/m);
    expect(other.run("show", path).stdout).not.toContain("to be forgotten");
  });

  test("tells a program how far it is, in versions", async () => {
    const at = machine(node.database());
    for (let file = 0; file < 300; file += 1) {
      at.write(`d/${file}.txt`, `${file}\n`);
    }
    at.run("index", "d");
    const store = await openStore({ path: at.store, settings: { xtdbUrl: node.database() } });
    onTestFinished(() => store.close());
    const shared = await store.shared();
    const told: SharingProgress[] = [];
    const sent = await shared.push((progress) => told.push(progress));
    expect(sent).toMatchObject({ versions: 300, present: 0, leftOut: [] });
    // It is told on the event loop, which may come to it after the answer.
    await expect.poll(() => told[0], { timeout: 60_000 }).toMatchObject({ stage: "sending", of: null });
    expect(told[0].done).toBeGreaterThan(0);
    expect((await shared.look()).behind).toBe(0);
    expect((await shared.pull()).present).toBe(300);
    expect(await shared.status()).toMatchObject({ outbox: 0, behind: null, error: null });
    expect(await shared.server()).toMatchObject({ version: "1.24.3", ingesterFailed: false });
  });

  test("is part of what doctor checks: server, clock, what waits", () => {
    const url = node.database();
    const at = machine(url);
    at.write("a.md", "one\n");
    at.run("index", "a.md");
    const { stdout } = at.run("doctor");
    expect(stdout).toMatch(new RegExp(`^shared store +${url}$`, "m"));
    expect(stdout).toMatch(/^its server +XTDB 1\.24\.3 on \S+, answers in \d+ ms, clock as ours$/m);
    expect(stdout).toMatch(/^waits to be sent +1 transaction, the oldest for \d+ s$/m);
    expect(stdout).toMatch(/^waits to be fetched +nothing$/m);
    const [look] = at.json<{ sharing: { server: { clockAheadMs: number } }[] }>("doctor").sharing;
    expect(Math.abs(look.server.clockAheadMs)).toBeLessThan(2_000);
  });

  test("gets no text of memory", () => {
    const url = node.database();
    const [one, other] = [machine(url), machine(url)];
    one.write(".pi/memory/MEMORY.md", "- what we know\n");
    one.write("a.md", "one\n");
    one.run("index", "--all", ".");
    expect(one.run("show", ".pi/memory/MEMORY.md").stdout).toBe("- what we know\n");
    expect(one.run("sync", "push").stderr).toMatch(/^palimpsest: left out .*/m);
    other.run("sync", "pull");
    expect(other.run("show", join(one.folder, "a.md")).stdout).toBe("one\n");
    expect(other.run("show", join(one.folder, ".pi/memory/MEMORY.md")).stdout).not.toContain("what we know");
  });

  test("is named by option, then environment, then settings", () => {
    const [url, another] = [node.database(), node.database()];
    const at = machine("http://127.0.0.1:1");
    at.write("a.md", "one\n");
    at.run("index", "a.md");
    at.env.PALIMPSEST_XTDB_URL = url;
    expect(at.json("sync", "status")).toMatchObject({ url, error: null });
    expect(at.json("sync", "status", "--url", another)).toMatchObject({ url: another, error: null });
    at.env.PALIMPSEST_XTDB_URL = "";
    expect(at.failure("sync", "status")).toMatchObject({ status: 2, code: "INVALID_ARGUMENT" });
  });
});

describe.skipIf(noXtdb || !isEverything)(
  "an unusable shared store is named, and local data stays:",
  { timeout: 120_000 },
  () => {
    beforeAll(async () => {
      node ??= await startNode();
    }, 120_000);

    /** Tries all that speaks to a server, which must fail in one way and change nothing. */
    function refused(at: Desk, code: string, message: RegExp) {
      at.write("a.md", "one\n");
      at.run("index", "a.md");
      const before = at.run("objects", "--json").stdout;
      for (const part of ["push", "pull", "sessions"]) {
        const failure = at.failure("sync", part);
        expect({ status: failure.status, code: failure.code }, part).toEqual({ status: 1, code });
        expect(failure.message, part).toMatch(message);
        expect(failure.hint, part).not.toBeNull();
      }
      const { status, stdout } = at.run("sync", "status");
      expect(status).toBe(1);
      expect(stdout).toMatch(/^waits to be sent +1 transaction, the oldest for \d+ s$/m);
      expect(stdout).toMatch(new RegExp(`^error +.*\\(${code}\\)(, for \\d+ s)?$`, "m"));
      const doctor = at.run("doctor");
      expect(doctor.stdout).toMatch(new RegExp(`^sharing: ${message.source}`, "m"));
      expect(doctor.status).toBe(1);
      expect(at.run("objects", "--json").stdout).toBe(before);
    }

    test("an address where nothing answers", () => {
      refused(
        machine("http://127.0.0.1:1"),
        "XTDB_UNAVAILABLE",
        /the XTDB server `http:\/\/127\.0\.0\.1:1` cannot be used now/,
      );
    });

    test("an address that is none", () => {
      const at = desk();
      set(at, { xtdbUrl: "http://me:word@127.0.0.1:3000" });
      at.write("a.md", "one\n");
      at.run("index", "a.md");
      const failure = at.failure("sync", "status");
      expect(failure).toMatchObject({ status: 1, code: "INVALID_SETTINGS" });
      expect(failure.message).toContain("`xtdbUrl` is `http://…@127.0.0.1:3000`, which holds a name or password");
      const all = ["sync status", "doctor", "objects"].map((command) => at.run(...command.split(" ")));
      expect(all.map(({ stdout, stderr }) => stdout + stderr).join("")).not.toContain("word@");
      const typed = at.failure("sync", "status", "--url", "nonsense");
      expect(typed).toMatchObject({ status: 1, code: "INVALID_SETTINGS" });
      set(at, {});
      const alone = at.failure("sync", "status", "--url", "nonsense");
      expect(alone).toMatchObject({ status: 2, code: "INVALID_ARGUMENT" });
      expect(alone.message).toMatch(/^`--url` is `nonsense`, which is not an address of a server/);
    });

    test("a server that wants another token", async () => {
      const right = "eyJhbGciOi.only-this-server.takes-it";
      const guarded = await startNode({ token: right });
      const at = machine(guarded.url);
      refused(at, "XTDB_REFUSED", /the XTDB server `\S+` (?:refused|refuses|did not let).*/);
      set(at, { xtdbUrl: guarded.url, xtdbTokenFile: token(at, "wrong", 0o600) });
      expect(at.failure("sync", "push").code).toBe("XTDB_REFUSED");
      set(at, { xtdbUrl: guarded.url, xtdbTokenFile: token(at, right, 0o600) });
      const { status, stderr } = at.run("sync", "push");
      expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
      const archive = join(at.folder, "all.jsonl");
      const commands = [["doctor"], ["doctor", "--json"], ["sync", "status"], ["sync", "pull"], ["export", archive]];
      const said = commands.map((command) => at.run(...command));
      expect(said.map(({ status }) => status)).toEqual(commands.map(() => 0));
      expect(said[0].stdout).toMatch(/^its token +in \S+token$/m);
      expect(said.map(({ stdout, stderr }) => stdout + stderr).join("")).not.toContain(right);
      const holding = readdirSync(at.env.HOME ?? "", { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name))
        .filter((file) => readFileSync(file).includes(right));
      expect(holding).toEqual([join(at.env.PI_CODING_AGENT_DIR ?? "", "token")]);
    });

    test("a token file that is public, missing or empty", () => {
      const url = node.database();
      const at = machine(url);
      set(at, { xtdbUrl: url, xtdbTokenFile: token(at, "right", 0o644) });
      refused(at, "NOT_PRIVATE", /.*token.*/);
      set(at, { xtdbUrl: url, xtdbTokenFile: "nowhere" });
      expect(at.failure("sync", "push")).toMatchObject({ status: 1, code: "FILE" });
      set(at, { xtdbUrl: url, xtdbTokenFile: token(at, "two words", 0o600) });
      expect(at.failure("sync", "push")).toMatchObject({ status: 2, code: "INVALID_ARGUMENT" });
    });

    test("a token that belongs to another server goes nowhere else", async () => {
      const seen: (string | undefined)[] = [];
      const other = await listening(
        createServer((request, response) => {
          seen.push(request.headers.authorization);
          response.writeHead(404).end();
        }),
      );
      const at = machine(node.database());
      set(at, { xtdbUrl: node.database(), xtdbTokenFile: token(at, "right", 0o600) });
      at.write("a.md", "one\n");
      at.run("index", "a.md");
      // In a process of its own: this one has to answer it.
      const store = await openStore({
        path: at.store,
        settings: { xtdbUrl: node.database(), xtdbTokenFile: join(at.env.PI_CODING_AGENT_DIR ?? "", "token") },
      });
      onTestFinished(() => store.close());
      const shared = await store.shared({ url: other });
      expect(await rejection(() => shared.push())).toMatchObject({ code: "XTDB_FOREIGN" });
      expect(seen.length).toBeGreaterThan(0);
      expect(seen.every((header) => header === undefined)).toBe(true);
    });

    test("a server that may only be read", async () => {
      const url = node.database();
      const reader = await startNode({ readOnly: true });
      const at = machine(reader.url);
      at.write("a.md", "one\n");
      at.run("index", "a.md");
      expect(at.failure("sync", "push")).toMatchObject({ status: 1, code: "XTDB_REFUSED" });
      expect(url).not.toBe(reader.url);
    });

    test("a database in which others keep their documents", async () => {
      const url = node.database();
      await submit(url, [["put", { "xt/id": "invoice-1", amount: 3 }]]);
      refused(machine(url), "XTDB_FOREIGN", /.*documents of others, .*`(?:amount|"invoice-1")`/);
      const answer = await fetch(`${url}/_xtdb/attribute-stats`, { headers: { Accept: "application/json" } });
      expect(await answer.json()).toEqual({ "xt/id": 1, amount: 1 });
    });

    test("a store of a later release", async () => {
      const url = node.database();
      await submit(url, [["put", { "xt/id": "palimpsest/store", store_id: "s", format: 99 }]]);
      refused(machine(url), "XTDB_FOREIGN", /.*format 99.*/);
    });

    test("documents that are not ours, which are skipped", async () => {
      const url = node.database();
      const [one, other] = [machine(url), machine(url)];
      one.write("a.md", "one\n");
      one.run("index", "a.md");
      one.run("sync", "push");
      await submit(url, [
        ["put", { "xt/id": "0".repeat(64), type: "file", identity_hash: "0".repeat(64), payload: "{" }],
      ]);
      one.write("a.md", "two\n");
      one.run("index", "a.md");
      one.run("sync", "push");
      const { status, stderr } = other.run("sync", "pull");
      expect(status).toBe(0);
      expect(stderr).toMatch(/^palimpsest: passed over: .*0{64}/m);
      expect(other.run("show", join(one.folder, "a.md")).stdout).toBe("two\n");
    });

    test("XTDB 2, by the port that speaks PostgreSQL", async () => {
      const port = await inOwnProcess(
        `require("node:net").createServer((socket) => socket.on("error", () => {}).once("data", (sent) =>
        sent.readInt32BE(0) === 8 ? socket.write("N") : socket.end())).listen(0, "127.0.0.1", function () { console.log(this.address().port); });`,
      );
      refused(machine(`http://127.0.0.1:${port}`), "XTDB_FOREIGN", /.*it speaks PostgreSQL's protocol, as XTDB 2 does/);
    });

    test("a node that stopped indexing, and a clock that is off", async () => {
      // What such a node answers, as XTDB's own server printed it; to break a real one would take a document that nests too deep.
      const port = await inOwnProcess(
        `require("node:http").createServer((request, to) => {
        const status = JSON.stringify({ version: "1.24.3", kvStore: "xtdb.rocksdb.RocksKv", indexVersion: 22, "ingesterFailed?": true });
        const time = new Date(Date.now() - 75_000).toISOString().replace("Z", "-00:00");
        const db = '{:xtdb.api/valid-time #inst "' + time + '", :xtdb.api/tx {:xtdb.api/tx-time nil, :xtdb.api/tx-id nil}}';
        const isStatus = request.url === "/_xtdb/status";
        to.writeHead(200, { "content-type": isStatus ? "application/json" : "application/edn" }).end(isStatus ? status : db);
      }).listen(0, "127.0.0.1", function () { console.log(this.address().port); });`,
      );
      const at = machine(`http://127.0.0.1:${port}`);
      const { status, stdout } = at.run("doctor");
      expect(stdout).toMatch(/^its server +XTDB 1\.24\.3 on RocksKv, ingester failed, .*, clock 75 s behind ours$/m);
      expect(stdout).toMatch(/^sharing: the ingester of the XTDB server `\S+` has failed: .*\n {2}start it again; /m);
      expect(stdout).toMatch(
        /^sharing: the clock of the XTDB server `\S+` is 75 s behind this machine's\n {2}let both keep time by NTP/m,
      );
      expect(status).toBe(1);
      expect(at.failure("sync", "pull")).toMatchObject({ status: 1, code: "XTDB_FAILED" });
    });

    test("a web server", async () => {
      const port = await inOwnProcess(
        `require("node:http").createServer((_, to) => to.writeHead(200, { "content-type": "text/html", server: "nginx" }).end("<title>Welcome</title>"))
        .listen(0, "127.0.0.1", function () { console.log(this.address().port); });`,
      );
      refused(
        machine(`http://127.0.0.1:${port}`),
        "XTDB_FOREIGN",
        /.*an answer from `nginx` with status 200 and an HTML page in it/,
      );
    });
  },
);

/** A machine of its own, with a store that does not exist yet and the setting for a shared one. */
function machine(xtdbUrl: string): Desk {
  const at = desk();
  set(at, { xtdbUrl });
  return at;
}

function set(at: Desk, settings: object): void {
  const folder = at.env.PI_CODING_AGENT_DIR ?? "";
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "palimpsest.json"), JSON.stringify(settings));
}

/** Writes a token file; its name as the settings have it. */
function token(at: Desk, text: string, mode: number): string {
  const file = join(at.env.PI_CODING_AGENT_DIR ?? "", "token");
  writeFileSync(file, `${text}\n`);
  chmodSync(file, mode);
  return "token";
}

/** The address of a server of this process. */
async function listening(server: Server): Promise<string> {
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The port of a server in a process of its own: this one waits for the commands that it runs. */
async function inOwnProcess(script: string): Promise<number> {
  const child = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [port] = await once(createInterface({ input: child.stdout }), "line");
  return Number(port);
}
