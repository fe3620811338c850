// Files of strangers that commands read, and what a stranger plants where they write: each ends with an error in seconds, within a bound
// of memory.
import { spawnSync } from "node:child_process";
import { existsSync, lstatSync, readFileSync, symlinkSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { pinnedNode } from "../scripts/setup.js";
import { type Desk, desk, program, withSession } from "./command.ts";

const maxBytes = 400 << 20;

const head = '{"type":"session","version":3,"id":"a","timestamp":"2026-01-01T00:00:00Z","cwd":"/x"}\n';
const chat = ["user", "assistant"].map(
  (role) => `${JSON.stringify({ role, content: [{ type: "text", text: "Hi." }] })}\n`,
);
const neutral = `${JSON.stringify({ session: { id: "n", cwd: "/x" } })}\n${chat.join("")}`;

/** Tells at the end how much memory the process took at most. */
const tell = `import { readFileSync } from "node:fs";
  process.on("exit", () => process.stderr.write(/VmHWM.*/.exec(readFileSync("/proc/self/status", "utf8"))[0]));`;

function measured(at: Desk, ...args: string[]): { stdout: string; peak: number } {
  const all = ["--import", `data:text/javascript,${encodeURIComponent(tell)}`, program, ...args];
  const options = { cwd: at.folder, env: at.env, encoding: "utf8", timeout: 50_000 } as const;
  const { stdout, stderr } = spawnSync(pinnedNode(), all, options);
  return { stdout, peak: Number(/VmHWM:\s*(\d+) kB/.exec(stderr)?.[1]) * 1_024 };
}

function fifo(at: Desk, name: string): string {
  const path = join(at.folder, name);
  expect(spawnSync("mkfifo", [path]).status).toBe(0);
  return path;
}

describe.skipIf(!existsSync("/proc/self/status"))("a session file of a stranger", () => {
  const part = "x".repeat(50_000_000);
  test.each([
    { name: "a gzip that expands to a gigabyte", bytes: () => [gzipSync(head), ...Array(20).fill(gzipSync(part))] },
    { name: "a zstd that does", bytes: () => [zstdCompressSync(head), ...Array(20).fill(zstdCompressSync(part))] },
    { name: "many small values", bytes: () => [Buffer.from(`${head}{"a":[${'{"a":1},'.repeat(2_000_000)}0]}\n`)] },
    { name: "many small lines", bytes: () => [Buffer.from(`${head}${"{}\n".repeat(4_000_000)}`)] },
  ])("with $name is refused cheaply", ({ bytes }) => {
    const at = desk();
    const path = at.write("bomb.jsonl.gz", Buffer.concat(bytes()));
    const { stdout, peak } = measured(at, "replay", path, "--json");
    const [{ error }] = JSON.parse(stdout).failed;
    expect(["ARCHIVE_EXPANDS", "MALFORMED_TRANSCRIPT"]).toContain(error.code);
    expect(peak).toBeGreaterThan(20 << 20);
    expect(peak).toBeLessThan(maxBytes);
  });

  test("that is nothing but nesting is read in a bound of memory", () => {
    const at = desk();
    const path = at.write("deep.jsonl", `${head}${'{"a":['.repeat(3_000_000)}`);
    expect(measured(at, "replay", path, "--json").peak).toBeLessThan(maxBytes);
  });

  test("that is a database of views without end is not a session", () => {
    const at = desk();
    const path = join(at.folder, "strange.db");
    const database = new DatabaseSync(path);
    const endless = `with recursive c(id) as (select 'a' union all select id || 'a' from c)
      select id, id as message_id, id as session_id, id as data, id as time_created, id as directory from c`;
    for (const table of ["session", "message", "part"]) {
      database.exec(`create view ${table} as ${endless}`);
    }
    database.close();
    const { stdout, peak } = measured(at, "replay", `${path}#a`, "--json");
    expect(JSON.parse(stdout).error.message).toContain("no session file");
    expect(peak).toBeLessThan(maxBytes);
  });
});

test("a FIFO in the place of a file to read is an error at once", () => {
  const at = desk();
  const path = fifo(at, "pipe.jsonl");
  expect(at.failure("import", path).code).toBe("FILE");
  const { stdout } = at.run("replay", path, "--json");
  expect(JSON.parse(stdout).failed[0].error.code).toBe("FILE");
  expect(at.run("learn", at.folder).status).not.toBe(0);
});

test("commands do not write to a FIFO, a folder or through a link", async () => {
  const at = desk();
  await withSession(at);
  const session = at.write("n.jsonl", neutral);
  const secret = at.write("secret", "mine");
  const ways = [
    (path: string) => ["export", path],
    (path: string) => ["open", "latest", "--html", path],
    (path: string) => ["replay", session, "--html", path],
  ];
  for (const [number, way] of ways.entries()) {
    const pipe = fifo(at, `pipe-${number}`);
    expect(at.failure(...way(pipe)).code).toBe("FILE");
    expect(lstatSync(pipe).isFIFO()).toBe(true);
    expect(at.failure(...way(at.folder)).code).toBe("FILE");
    const link = join(at.folder, `link-${number}`);
    symlinkSync(secret, link);
    expect(at.run(...way(link)).status).toBe(0);
    expect(lstatSync(link).isFile()).toBe(true);
    expect(lstatSync(link).mode & 0o777).toBe(0o600);
    expect(readFileSync(secret, "utf8")).toBe("mine");
  }
  const dump = join(at.folder, "dump");
  expect(at.run("replay", session, "--dump", dump).status).toBe(0);
  expect(lstatSync(join(dump, "n.jsonl.gz")).mode & 0o777).toBe(0o600);
  const piped = spawnSync("sh", ["-c", '"$0" "$1" export /dev/stdout | cat', pinnedNode(), program], {
    cwd: at.folder,
    env: at.env,
    encoding: "utf8",
  });
  expect(piped.stdout).toContain("palimpsest-archive");
  expect(at.run("export", "-").stdout).toContain("palimpsest-archive");
  expect(at.run("export", "/dev/null").status).toBe(0);
});

describe.skipIf(!existsSync("/proc/self/status"))("a server", () => {
  test.each([
    { name: "an answer", status: 200, head: "[", piece: '{"a":1},' },
    { name: "an answer to a query", status: 200, head: "[", piece: '[{"a":1}],' },
    { name: "an error", status: 500, head: "[", piece: '{"a":1},' },
    { name: "an error in words", status: 401, head: "", piece: "no reason " },
  ])("that sends $name without end fills no memory", async ({ status, head, piece }) => {
    const at = desk();
    const many = Buffer.from(piece.repeat(100_000));
    const server = createServer((_, response) => {
      response.on("error", () => {});
      response.writeHead(status, { "content-type": "application/json" });
      response.write(head);
      let sent = 0;
      const go = (): void => {
        while (sent < 60e6 && !response.destroyed) {
          sent += many.length;
          if (!response.write(many)) {
            response.once("drain", go);
            return;
          }
        }
        response.end();
      };
      go();
    });
    const port = await new Promise<number>((done) => {
      server.listen(0, "127.0.0.1", () => done((server.address() as { port: number }).port));
    });
    const url = `http://127.0.0.1:${port}`;
    try {
      const { spawn } = await import("node:child_process");
      const args = [
        "--import",
        `data:text/javascript,${encodeURIComponent(tell)}`,
        program,
        "sync",
        "status",
        "--url",
        url,
      ];
      const child = spawn(pinnedNode(), args, { cwd: at.folder, env: at.env, stdio: ["ignore", "ignore", "pipe"] });
      let told = "";
      child.stderr.on("data", (data) => {
        told += data;
      });
      await new Promise((done) => child.on("close", done));
      const peak = Number(/VmHWM:\s*(\d+) kB/.exec(told)?.[1]) * 1_024;
      expect(peak).toBeGreaterThan(20 << 20);
      expect(peak).toBeLessThan(maxBytes);
      expect(told.length).toBeLessThan(4_000);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });
});
