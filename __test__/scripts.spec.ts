// The scripts' pure parts: counting test results, and what is missing on the path.
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  comparison,
  libraryOf,
  percentileTable,
  ratioTable,
  rustPercentiles,
  trackingTable,
} from "../scripts/lib/bench-report.js";
import { currentPi, piCli } from "../scripts/lib/pi-versions.js";
import { claimPort } from "../scripts/lib/ports.js";
import { spread } from "../scripts/lib/store-bench.js";
import {
  addUp,
  closingLines,
  parseCargoOutput,
  parseClosingLines,
  parseVitestReport,
} from "../scripts/lib/test-results.js";
import { requirePrograms, root } from "../scripts/setup.js";
import { temporaryFolder } from "./e2e/support.ts";

describe("test results", () => {
  const twoBinaries = [
    "running 3 tests",
    "test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s",
    "running 6 tests",
    "",
    "failures:",
    "",
    "---- flush::keeps stdout ----",
    "",
    "thread 'flush::keeps' (7) panicked at tests/flush.rs:9:5:",
    "two lines",
    "---- flush::loses stdout ----",
    "Error: NotFound",
    "",
    "",
    "failures:",
    "    flush::keeps",
    "    flush::loses",
    "",
    "test result: \u001b[31mFAILED\u001b[m. 4 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s",
  ].join("\n");
  const failed = (fullName: string, message: string) => ({ fullName, status: "failed", failureMessages: [message] });
  const file = { name: "a.spec.ts", message: "", status: "passed" as const, assertionResults: [] };

  test("of all cargo test binaries are summed, colours or not, with how each failure begins", () => {
    expect(parseCargoOutput(twoBinaries, 101)).toEqual({
      passed: 6,
      failed: 2,
      skipped: 1,
      failures: [
        "flush::keeps: thread 'flush::keeps' (7) panicked at tests/flush.rs:9:5: two lines",
        "flush::loses: Error: NotFound",
      ],
    });
  });

  test("of a run that broke without a failed test have one failure", () => {
    const broken = { passed: 0, failed: 1, skipped: 0 };
    expect(parseCargoOutput("error[E0308]: mismatched types", 101)).toEqual({
      ...broken,
      failures: ["cargo ended with 101"],
    });
    expect(parseVitestReport(undefined, 1)).toEqual({ ...broken, failures: ["vitest ended with 1"] });
  });

  test("of vitest count pending and to-do tests as skipped", () => {
    const report = { numPassedTests: 5, numFailedTests: 0, numPendingTests: 2, numTodoTests: 1, testResults: [file] };
    expect(parseVitestReport(report, 0)).toEqual({ passed: 5, failed: 0, skipped: 3, failures: [] });
  });

  test("of vitest name each failed test, and a file that did not load", () => {
    const counts = { numPassedTests: 0, numFailedTests: 1, numPendingTests: 0, numTodoTests: 0 };
    const testResults = [
      {
        ...file,
        status: "failed" as const,
        assertionResults: [failed("adds up", `\u001b[31mnot\n  ${"2".repeat(500)}`)],
      },
      { ...file, name: "b.spec.ts", status: "failed" as const, message: "no such module" },
    ];
    expect(parseVitestReport({ ...counts, testResults }, 1).failures).toEqual([
      `a.spec.ts > adds up: not ${"2".repeat(296)}`,
      "b.spec.ts: no such module",
    ]);
  });

  test("add up", () => {
    const one = { passed: 1, failed: 1, skipped: 3, failures: ["a"] };
    expect(addUp([one, one])).toEqual({ passed: 2, failed: 2, skipped: 6, failures: ["a", "a"] });
  });

  test("end with the failures, which whoever runs the tests finds among all that was printed", () => {
    const lines = closingLines({ passed: 1, failed: 1, skipped: 0, failures: ["a: not 2"] });
    expect(lines).toEqual(["failed: a: not 2", "1 passed, 1 failed, 0 skipped"]);
    const stdout = ["something", ...lines, ""].join("\n");
    expect(parseClosingLines("tests", stdout, 1)).toEqual({
      passed: 1,
      failed: 1,
      skipped: 0,
      failures: ["tests", "a: not 2"],
    });
    expect(parseClosingLines("lint", "all is well", 0)).toEqual({ passed: 0, failed: 0, skipped: 0, failures: [] });
    expect(parseClosingLines("lint", "", 1)).toEqual({ passed: 0, failed: 1, skipped: 0, failures: ["lint"] });
  });
});

test("the second type check takes the types of the Pi that users run", () => {
  const { compilerOptions } = JSON.parse(readFileSync(join(root, "tsconfig.current-pi.json"), "utf8"));
  const [types] = compilerOptions.paths["@earendil-works/pi-coding-agent"];
  // tsc says nothing of a path that is not there, and takes the installed package.
  expect(readFileSync(join(root, types), "utf8")).toContain("ToolExposure");
  expect(join(root, types)).toBe(join(piCli(currentPi), "..", "..", "index.d.ts"));
});

test("benches that ran stand in a table with their ratios", () => {
  const means: Record<string, number> = {
    "transformContext-100": 3,
    "structuredClone-100": 1.5,
    "transformContext-1000": 9,
  };
  expect(
    ratioTable(
      comparison(
        () => undefined,
        (name) => means[name],
      ),
    ),
  ).toBe(
    [
      "mean per call                     ms  beside             ms  ratio",
      "transformContext, 100 messages  3.00  structuredClone  1.50   2.00",
    ].join("\n"),
  );
});

test("tracked files stand in a table beside the watcher of the same run", () => {
  const spread = { median: 1, p95: 3 };
  const side = {
    readyMs: 10,
    told: spread,
    stored: spread,
    memoryMiB: 4,
    idleMsPerSecond: 0,
    burstMs: 9,
    settledMs: 2,
    stale: 0,
  };
  const plain = { ...side, told: { median: 4, p95: 6 }, memoryMiB: 16 };
  const printed = trackingTable({ files: 10_000, burst: 50_000, ours: { ...side, mostPending: 7 }, plain });
  expect(printed).toMatch(/^tracking, 10,000 files .* ratio$/m);
  expect(printed).toMatch(/change to its event, median +1\.00 +chokidar +4\.00 +0\.25$/m);
  expect(printed).toMatch(/MiB of memory more +4\.00 +chokidar +16\.0 +0\.25$/m);
  expect(printed).toMatch(/idle second +0\.00 +chokidar +0\.00$/m);
  expect(printed.endsWith("of 10,000 tracked files at most 7 waited at once")).toBe(true);
});

test("percentiles that the Rust benches print stand in a table beside the plain ones", () => {
  const output = [
    "get/store/100000  time: [11.9 µs 12.0 µs 12.1 µs]",
    "percentiles: get/store/100000 = 12.00 30.00",
    "percentiles: get/plain/100000 = 6.00 7.00",
    "percentiles: as of/store by time/100000 = 1.00 2.00",
    "percentiles: search/store/0.1 % and 50 % = 2000.00 3000.00",
    "percentiles: search/plain/0.1 % and 50 % = 4000.00 5000.00",
  ].join("\n");
  expect(percentileTable("per call", rustPercentiles(output))).toBe(
    [
      "per call                         median ms  p95 ms  beside    median ms   p95 ms  ratio",
      "get, 100,000 objects                0.0120  0.0300  rusqlite    0.00600  0.00700   2.00",
      "search, words in 0.1 % and 50 %       2.00    3.00  rusqlite       4.00     5.00   0.50",
    ].join("\n"),
  );
});

test("the 95th percentile is the least sample that 95 % do not exceed", () => {
  const samples = Array.from({ length: 100 }, (_, index) => 100 - index);
  expect(spread(samples)).toEqual({ median: 50, p95: 95 });
  expect(spread([7])).toEqual({ median: 7, p95: 7 });
});

test("the addon's library is found among what cargo built", () => {
  const artifact = (name: string, crate_types: string[], filenames: string[]) =>
    JSON.stringify({ reason: "compiler-artifact", target: { name, crate_types }, filenames });
  const messages = [
    artifact("napi_derive", ["proc-macro"], ["/t/libnapi_derive.so"]),
    artifact("palimpsest", ["cdylib", "rlib"], ["/t/libpalimpsest.rlib", "/t/libpalimpsest.so"]),
    "",
  ];
  expect(libraryOf(messages.join("\n"))).toBe("/t/libpalimpsest.so");
  expect(libraryOf("")).toBeUndefined();
});

describe("a claimed port", () => {
  const ports = pathToFileURL(join(root, "scripts", "lib", "ports.js")).href;

  test("is free, its claimer's alone, and none that the system gives out", async () => {
    const claims = await Promise.all(Array.from({ length: 20 }, claimPort));
    onTestFinished(() => claims.forEach(({ release }) => void release()));
    const numbers = claims.map(({ port }) => port);
    expect(new Set(numbers).size).toBe(20);
    expect(Math.min(...numbers)).toBeGreaterThan(20_000);
    expect(Math.max(...numbers)).toBeLessThan(32_000);
    const servers = numbers.map((port) => createServer().listen(port, "127.0.0.1"));
    onTestFinished(() => servers.forEach((server) => void server.close()));
    await Promise.all(servers.map((server) => once(server, "listening")));
  });

  test("goes to nobody else while no server is at it, also not to another process", async () => {
    const { port, release } = await claimPort();
    onTestFinished(release);
    const claim = (choice: string) => `import { claimPort } from ${JSON.stringify(ports)};
      Math.random = () => ${choice};
      claimPort().then(({ port }) => console.log(port), ({ code }) => console.log(code));`;
    const said = (choice: string) => spawnSync(process.execPath, ["--input-type=module", "-e", claim(choice)]).stdout;
    // In the middle of its place: its start, as a fraction, may round to the place before.
    const place = (port - 1 - 20_000 + 10) / 12_000;
    expect(String(said(`${place}`)).trim()).toBe("EADDRINUSE");
    release();
    expect(String(said(`${place}`)).trim()).toBe(String(port));
  });
});

test("a missing program is named with how to get it, in one line", () => {
  const folder = temporaryFolder();
  for (const name of ["npm", "cc"]) {
    writeFileSync(join(folder, name), "");
    chmodSync(join(folder, name), 0o755);
  }
  expect(() => requirePrograms({ PATH: folder })).toThrow(/^missing: cargo \(install Rust: \S+\)$/);
});

test("the release workflow builds the addon for every target of package.json, and the page on releasing lists their packages", () => {
  const { napi } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { napi: { targets: string[] } };
  const workflow = readFileSync(join(root, ".github", "workflows", "release.yml"), "utf8");
  const built = [...workflow.matchAll(/\{ target: ([\w-]+)/g)].map(([, target]) => target);
  expect(built.sort()).toEqual([...napi.targets].sort());
  const page = readFileSync(join(root, "docs", "releasing.md"), "utf8");
  expect([...page.matchAll(/^\| `palimpsest-[\w-]+` +\|/gm)]).toHaveLength(napi.targets.length);
});
