// Small archives that expand to much: the command refuses them, within a bound of memory, and takes nothing of them.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { constants, zstdCompressSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { openStore } from "../index.js";
import { isEverything } from "../scripts/lib/tiers.js";
import { pinnedNode } from "../scripts/setup.js";
import { type Desk, desk, program } from "./command.ts";

const maxBytes = 256 << 20;

const header = JSON.stringify({
  kind: "header",
  format: "palimpsest-archive",
  version: 1,
  store_id: "01997e5e-3c1a-7d04-9b6e-52f0a8c4d711",
  exported_at: "2025-11-21T14:00:00.004Z",
  what: { scope: "everything" },
  redacted: false,
});

/** Frames that expand one after another: the header's line, then 2 GiB of a text. */
function bomb(text: string): Buffer {
  const part = zstdCompressSync(text.repeat(Math.floor((64 << 20) / text.length)));
  return Buffer.concat([zstdCompressSync(`${header}\n`), ...Array.from({ length: 32 }, () => part)]);
}

/** A frame whose window takes 128 MiB of memory. */
function wide(): Buffer {
  const params = { [constants.ZSTD_c_windowLog]: 27, [constants.ZSTD_c_enableLongDistanceMatching]: 1 };
  return zstdCompressSync(`${header}\n${" ".repeat(200 << 20)}`, { params });
}

/** Tells at the end how much memory the process took at most; what `resourceUsage` says counts the parent's too. */
const tell = `import { readFileSync } from "node:fs";
  process.on("exit", () => process.stderr.write(/VmHWM.*/.exec(readFileSync("/proc/self/status", "utf8"))[0]));`;

/** Imports an archive; the code of the error, and the most bytes of memory that the command took. */
function imported(at: Desk, archive: Buffer): { code: string | undefined; peak: number } {
  const path = at.write("bomb.jsonl.zst", archive);
  const args = ["--import", `data:text/javascript,${encodeURIComponent(tell)}`, program, "import", path, "--json"];
  const options = { cwd: at.folder, env: at.env, encoding: "utf8", timeout: 50_000 } as const;
  const { stdout, stderr } = spawnSync(pinnedNode(), args, options);
  return { code: JSON.parse(stdout).error?.code, peak: Number(/VmHWM:\s*(\d+) kB/.exec(stderr)?.[1]) * 1_024 };
}

describe.skipIf(!existsSync("/proc/self/status"))("an archive of few bytes", () => {
  test.each([
    { name: "a line without end", archive: () => bomb("a"), code: "ARCHIVE_EXPANDS" },
    { name: "zeros alone", archive: () => bomb("\0"), code: "ARCHIVE_EXPANDS" },
    {
      name: "lines without end",
      archive: () => bomb(`{"kind":"other","pad":"${"a".repeat(100_000)}"}\n`),
      code: "ARCHIVE_EXPANDS",
    },
    { name: "nothing but nesting", archive: () => bomb('{"kind":['), code: "ARCHIVE_EXPANDS" },
    { name: "lines of ever new kinds", archive: kinds, code: "MALFORMED_ARCHIVE" },
    { name: "a window that fills the memory", archive: wide, code: "MALFORMED_ARCHIVE" },
  ])("with $name is refused in 256 MiB", async ({ archive, code }) => {
    const at = desk();
    const bytes = archive();
    expect(bytes.length).toBeLessThan(2 << 20);
    const found = imported(at, bytes);
    expect(found.code).toBe(code);
    expect(found.peak).toBeGreaterThan(20 << 20);
    expect(found.peak).toBeLessThan(maxBytes);
    const store = await openStore({ path: at.store });
    expect(await store.query("")).toEqual([]);
    await store.close();
  });

  test("with many small values is refused in bounded memory", () => {
    const small = `[${'{"a":1},'.repeat(2_000_000)}0]`;
    for (const lines of [
      `${header.slice(0, -1)},"more":${small}}\n`,
      `${header}\n{"kind":"version","fields":{"a":${small}}}\n`,
    ]) {
      const found = imported(desk(), Buffer.from(lines));
      expect(found.code).toBe("MALFORMED_ARCHIVE");
      expect(found.peak).toBeLessThan(2 * maxBytes);
    }
  });

  test("whose one document is large is taken in less than 256 MiB", async () => {
    const at = desk();
    const lines = isEverything ? 2_000_000 : 500_000;
    const store = await openStore({ path: at.store });
    await store.put({ type: "toolcall", id: "x", content: "a line of text\n".repeat(lines) });
    await store.close();
    const path = join(at.folder, "whole.jsonl.zst");
    expect(at.run("export", path).status).toBe(0);
    const archive = readFileSync(path);
    expect(archive.length).toBeLessThan(100_000);
    const found = imported(desk(), archive);
    expect(found.code).toBeUndefined();
    expect(found.peak).toBeLessThan(maxBytes);
  });
});

function kinds(): Buffer {
  const lines = Array.from({ length: 1_000_000 }, (_, n) => `{"kind":"k${n}"}\n`);
  return zstdCompressSync(`${header}\n${lines.join("")}`);
}
