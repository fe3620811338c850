// The scripts' pure parts: counting test results, and what is missing on the path.
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { settle } from "../scripts/lib/again.js";
import {
  comparison,
  libraryOf,
  percentileTable,
  ratioTable,
  rustPercentiles,
  trackingTable,
} from "../scripts/lib/bench-report.js";
import { runCargoTests } from "../scripts/lib/cargo.js";
import { currentPi, piCli } from "../scripts/lib/pi-versions.js";
import { claimPort } from "../scripts/lib/ports.js";
import { spread } from "../scripts/lib/store-bench.js";
import {
  addUp,
  cargoTimes,
  closingLines,
  overBudget,
  parseCargoOutput,
  parseClosingLines,
  parseVitestReport,
  slowestTests,
  vitestTimes,
} from "../scripts/lib/test-results.js";
import { runVitest } from "../scripts/lib/vitest.js";
import { requirePrograms, root } from "../scripts/setup.js";
import { temporaryFolder } from "./e2e/support.ts";

describe("test results", () => {
  const stdout = [
    "running 3 tests",
    "test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s",
    "running 1 test",
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
    "running 1 test",
    "",
    "failures:",
    "",
    "---- src/lib.rs - open (line 1) stdout ----",
    "Test executable failed (exit status: 101).",
    "",
    "failures:",
    "    src/lib.rs - open (line 1)",
    "",
    "test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.33s",
  ].join("\n");
  const stderr = [
    "     Running unittests src/lib.rs (target/debug/deps/p-5a)",
    "     Running tests/crash.rs (target/debug/deps/crash-97)",
    "error: test failed, to rerun pass `--test crash`",
    "",
    "Caused by:",
    "  process didn't exit successfully: `crash-97` (signal: 6, SIGABRT: process abort signal)",
    "\u001b[1m\u001b[91merror\u001b[0m: test failed, to rerun pass `-p memory --test memory`",
    "   Doc-tests p",
    "error: doctest failed, to rerun pass `--doc`",
    "error: 3 targets failed:",
    "    `--test crash`",
  ].join("\n");
  const file = { path: "/c/a.spec.ts", name: "a.spec.ts", project: "here", isFinished: true, errors: [], tests: [] };
  const failing = { name: "sums > adds (up)", state: "failed" as const, message: "not 2", ms: 1 };
  const results = { passed: 1, failed: 0, skipped: 0, failures: [], flaky: [] };

  test("of all cargo programs are added up, with each failure", () => {
    const whole = ["--test", "crash"];
    const doc = "src/lib.rs - open (line 1)";
    expect(parseCargoOutput({ stdout, stderr, code: 101 })).toEqual({
      passed: 6,
      failed: 4,
      skipped: 1,
      failures: [
        { name: "--test crash", message: "the program broke", alone: whole },
        {
          name: "-p memory --test memory flush::keeps",
          message: "thread 'flush::keeps' (7) panicked at tests/flush.rs:9:5: two lines",
          alone: ["--test", "memory", "--", "--exact", "flush::keeps"],
        },
        {
          name: "-p memory --test memory flush::loses",
          message: "Error: NotFound",
          alone: ["--test", "memory", "--", "--exact", "flush::loses"],
        },
        {
          name: `--doc ${doc}`,
          message: "Test executable failed (exit status: 101).",
          alone: ["--doc", "--", "--exact", doc],
        },
      ],
      flaky: [],
    });
  });

  test("of a program that names no failed test count as one failure", () => {
    const silent = stdout.slice(0, stdout.indexOf("running 1 test\n\nfailures"));
    const { failures } = parseCargoOutput({ stdout: silent, stderr, code: 101 });
    expect(failures.map(({ alone }) => alone)).toEqual([["--test", "crash"], ["--test", "memory"], ["--doc"]]);
  });

  test("of a run that broke without a failed test have one failure", () => {
    const broken = { passed: 0, failed: 1, skipped: 0, flaky: [] };
    const stderr = "error[E0308]: mismatched types";
    expect(parseCargoOutput({ stdout: "", stderr, code: 101 })).toEqual({
      ...broken,
      failures: [{ name: "cargo ended with 101" }],
    });
    expect(parseVitestReport(undefined, 1)).toEqual({ ...broken, failures: [{ name: "vitest ended with 1" }] });
  });

  test("of vitest name failed tests and broken files", () => {
    const skipped = { ...failing, state: "skipped" as const };
    const passed = { ...failing, state: "passed" as const };
    const files = [
      { ...file, tests: [passed, skipped, { ...failing, message: `\u001b[31mnot\n  ${"2".repeat(500)}` }] },
      { ...file, path: "/c/b.spec.ts", name: "b.spec.ts", errors: ["no such module"] },
      { ...file, path: "/c/c.spec.ts", name: "c.spec.ts", isFinished: false, tests: [failing] },
    ];
    const errors = [{ message: "Unhandled: no", path: "/c/a.spec.ts" }, { message: "Worker exited" }];
    expect(parseVitestReport({ files, errors }, 1)).toEqual({
      passed: 1,
      failed: 5,
      skipped: 1,
      failures: [
        {
          name: "a.spec.ts > sums > adds (up) [here]",
          message: `not ${"2".repeat(296)}`,
          alone: ["/c/a.spec.ts", "--project", "here", "--testNamePattern", "^sums > adds \\(up\\)$"],
        },
        { name: "b.spec.ts [here]", message: "no such module", alone: ["/c/b.spec.ts", "--project", "here"] },
        { name: "c.spec.ts [here]", message: "did not finish", alone: ["/c/c.spec.ts", "--project", "here"] },
        { name: "/c/a.spec.ts", message: "Unhandled: no", alone: ["/c/a.spec.ts"] },
        { name: "vitest", message: "Worker exited" },
      ],
      flaky: [],
    });
  });

  test("name the ten slowest tests, the slowest first", () => {
    const tests = [1_240, 30, 61_000].map((ms) => ({ ...failing, name: `${ms}`, ms }));
    const times = vitestTimes({ files: [{ ...file, tests }], errors: [] });
    expect(slowestTests([...times, ...times, ...times, ...times])).toEqual([
      ...Array(4).fill("slow: 61.0 s a.spec.ts > 61000 [here]"),
      ...Array(4).fill("slow: 1.2 s a.spec.ts > 1240 [here]"),
      ...Array(2).fill("slow: 0.0 s a.spec.ts > 30 [here]"),
    ]);
  });

  test("have the times of cargo's tests by their programs", () => {
    const stderr = [
      "   Compiling p v0.1.0",
      "     Running unittests src/lib.rs (target/x86_64-unknown-linux-gnu/debug/deps/p_core-5a97)",
      "     Running `target/debug/deps/kill-0f`",
      "\u001b[1m\u001b[92m     Running\u001b[0m tests/live/main.rs (target\\debug\\deps\\live-97.exe)",
    ].join("\n");
    const stdout = [
      "running 2 tests",
      "test plain ... ok <0.250s>",
      "test old ... ignored",
      "running 1 test",
      "test deep::fails ... \u001b[31mFAILED\u001b[m <61.002s>",
    ].join("\n");
    expect(cargoTimes({ stdout, stderr })).toEqual([
      { name: "p_core plain", ms: 250 },
      { name: "live deep::fails", ms: 61_002 },
    ]);
  });

  test("fail when they took more processor time than they may", () => {
    expect(overBudget(90, 90)).toMatchObject({ failed: 0, failures: [] });
    const { lines, code } = closingLines(addUp([results, overBudget(91.2, 90)]));
    expect(code).toBe(1);
    expect(lines[0]).toMatch(/^failed: the time of all tests: 91 s of processor time, more than 90 /);
  });

  test("add up", () => {
    const one = { passed: 1, failed: 1, skipped: 3, failures: [{ name: "a" }], flaky: ["b"] };
    const both = { failures: [...one.failures, ...one.failures], flaky: ["b", "b"] };
    expect(addUp([one, one])).toEqual({ passed: 2, failed: 2, skipped: 6, ...both });
  });

  test("end with the failures and the flaky tests", () => {
    const { lines, code } = closingLines({
      ...results,
      failed: 1,
      failures: [{ name: "a", message: "not 2" }],
      flaky: ["b"],
    });
    expect(code).toBe(1);
    expect(lines).toEqual(["failed: a: not 2", "flaky: b", "1 passed, 1 failed, 0 skipped"]);
    const stdout = ["something", ...lines, ""].join("\n");
    expect(parseClosingLines("tests", stdout, 1)).toEqual({
      ...results,
      failed: 1,
      failures: [{ name: "tests" }, { name: "a: not 2" }],
      flaky: ["b"],
    });
    const nothing = { ...results, passed: 0 };
    expect(parseClosingLines("lint", "all is well", 0)).toEqual(nothing);
    expect(parseClosingLines("lint", "", 1)).toEqual({ ...nothing, failed: 1, failures: [{ name: "lint" }] });
  });

  test("are green with two flaky tests, and red with three", () => {
    expect(closingLines({ ...results, flaky: ["a", "b"] })).toEqual({
      lines: ["flaky: a", "flaky: b", "1 passed, 0 failed, 0 skipped"],
      code: 0,
    });
    const parts = [["a", "b"], ["c"]].map((flaky) => closingLines({ ...results, flaky }).lines.join("\n"));
    expect(closingLines(addUp(parts.map((part) => parseClosingLines("tests", part, 0))))).toEqual({
      lines: [
        "failed: 3 tests are flaky, more than 2",
        "flaky: a",
        "flaky: b",
        "flaky: c",
        "2 passed, 0 failed, 0 skipped",
      ],
      code: 1,
    });
  });
});

describe("what failed is run once more, alone:", () => {
  /** A folder in the clone, where cargo and vitest find what they need. */
  const folderHere = () => {
    mkdirSync(join(root, "__test__", ".tmp"), { recursive: true });
    const folder = mkdtempSync(join(root, "__test__", ".tmp", "again-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    return folder;
  };
  const { VITEST: _, VITEST_MODE: __, VITEST_WORKER_ID: ___, ...env } = process.env;

  test("a vitest test or file that then passes is flaky", async () => {
    const folder = folderHere();
    const first = (name: string) =>
      `const first = !existsSync(${JSON.stringify(join(folder, name))}); writeFileSync(${JSON.stringify(join(folder, name))}, "");`;
    const header = `import { existsSync, writeFileSync } from "node:fs"; import { describe, expect, test } from "vitest";`;
    writeFileSync(
      join(folder, "once.spec.js"),
      `${header}
      ${first("test")}
      describe("a (b)", () => { test("fails once $", () => expect(first).toBe(false)); test("fails once $ too", () => {}); });
      test("fails", () => expect(1).toBe(2));`,
    );
    writeFileSync(
      join(folder, "loads.spec.js"),
      `${header} ${first("file")} if (first) throw new Error("no"); test("is well", () => {});`,
    );
    const config = `export default { test: { projects: [{ test: { name: "one", include: ["*.spec.js"] } }] } };`;
    writeFileSync(join(folder, "vitest.config.js"), config);
    const { results, playAlone } = await runVitest(["--root", folder], env);
    expect(results).toMatchObject({ passed: 1, failed: 3 });
    const settled = await settle({ results, playAlone: (alone) => playAlone(["--root", folder, ...alone]) });
    expect(settled.flaky.toSorted()).toEqual(["loads.spec.js [one]", "once.spec.js > a (b) > fails once $ [one]"]);
    expect(settled).toMatchObject({ passed: 3, failed: 1, failures: [{ name: "once.spec.js > fails [one]" }] });
  });

  test("in cargo, a program that breaks too", async () => {
    const folder = folderHere();
    mkdirSync(join(folder, "tests"));
    writeFileSync(
      join(folder, "Cargo.toml"),
      `[package]\nname = "again"\nversion = "0.1.0"\nedition = "2024"\n[workspace]\n`,
    );
    const first = (name: string) => `std::fs::create_dir(${JSON.stringify(join(folder, name))}).is_ok()`;
    const once = `mod deep { #[test] fn once() { assert!(!${first("test")}); } #[test] fn well() {} } #[test] fn fails() { panic!("no") }`;
    writeFileSync(join(folder, "tests", "some.rs"), once);
    writeFileSync(
      join(folder, "tests", "whole.rs"),
      `#[test] fn aborts() { if ${first("whole")} { std::process::abort() } }`,
    );
    const where = ["--offline", "--manifest-path", join(folder, "Cargo.toml")];
    const played = await runCargoTests([], { ...env, CARGO_TARGET_DIR: join(folder, "target") }, where);
    expect(played.results).toMatchObject({ passed: 1, failed: 3 });
    expect(played.times.map(({ name }) => name)).toContain("some deep::well");
    const settled = await settle(played);
    expect(settled.flaky).toEqual(["--test some deep::once", "--test whole"]);
    expect(settled).toMatchObject({ passed: 3, failed: 1, failures: [{ name: "--test some fails" }] });
  });

  test("not where so much failed that it is no chance", async () => {
    const failures = Array.from({ length: 21 }, (_, index) => ({ name: `${index}`, alone: [`${index}`] }));
    const results = { passed: 0, failed: 21, skipped: 0, failures, flaky: [] };
    const playAlone = () => Promise.reject(new Error("it is run again"));
    expect(await settle({ results, playAlone })).toBe(results);
  });
});

test("the second type check has the types of the current Pi", () => {
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

test("tracked files share a table with the watcher of their run", () => {
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

test("bench percentiles share a table with the plain ones", () => {
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

test("the 95th percentile is the least that 95 % do not exceed", () => {
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

  test("is free, claimed once, and outside the system's range", async () => {
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

  test("goes to no other process even before a server uses it", async () => {
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

// npm omits what is for other systems where it locks what is installed here, and `npm ci` then refuses the lock file.
test.each([".", "__test__/openclaw/host"])("%s locks the packages of all systems", (folder) => {
  const { packages } = JSON.parse(readFileSync(join(root, folder, "package-lock.json"), "utf8")) as {
    packages: Record<string, { resolved?: string; optionalDependencies?: Record<string, string> }>;
  };
  /** Whether Node finds a package from a place: in a `node_modules` there or above. */
  const isFound = (place: string, name: string): boolean =>
    `${place}${place === "" ? "" : "/"}node_modules/${name}` in packages ||
    (place !== "" && isFound(place.replace(/(?:^|\/)node_modules\/(?:@[^/]+\/)?[^/]+$/, ""), name));
  const locked = Object.entries(packages);
  const absent = locked.flatMap(([place, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter((name) => !isFound(place, name)),
  );
  expect(absent).toEqual([]);
  // Whoever installs has a registry of their own.
  expect(locked.filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
});

test("a missing program is named with how to get it, in one line", () => {
  const folder = temporaryFolder();
  for (const name of ["npm", "cc"]) {
    writeFileSync(join(folder, name), "");
    chmodSync(join(folder, name), 0o755);
  }
  expect(() => requirePrograms({ PATH: folder })).toThrow(/^missing: cargo \(install Rust: \S+\)$/);
  const build = [join(root, "scripts", "build.js"), "--debug"];
  const built = spawnSync(process.execPath, build, { env: { PATH: folder }, encoding: "utf8" });
  expect(built).toMatchObject({ status: 1, stdout: "", stderr: expect.stringMatching(/^missing: cargo \(.*\)\n$/) });
});

test("workflows use actions by the hash of a commit", () => {
  const folder = join(root, ".github", "workflows");
  const used = readdirSync(folder).flatMap((name) => [
    ...readFileSync(join(folder, name), "utf8").matchAll(/uses: (\S+)(.*)/g),
  ]);
  const foreign = used.filter(([, name]) => !name.startsWith("./"));
  expect(foreign.length).toBeGreaterThan(0);
  expect(foreign.filter(([, name, note]) => !/@[0-9a-f]{40}$/.test(name) || !/^ # v\d/.test(note))).toEqual([]);
});

test("the release workflow builds the addon for every target", () => {
  const { napi } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { napi: { targets: string[] } };
  const workflow = readFileSync(join(root, ".github", "workflows", "release.yml"), "utf8");
  const built = [...workflow.matchAll(/\{ target: ([\w-]+)/g)].map(([, target]) => target);
  expect(built.sort()).toEqual([...napi.targets].sort());
  const page = readFileSync(join(root, "docs", "releasing.md"), "utf8");
  expect([...page.matchAll(/^\| `palimpsest-[\w-]+` +\|/gm)]).toHaveLength(napi.targets.length);
});

test("the list of texts has each text whole, and no code", () => {
  const { stdout } = spawnSync(process.execPath, [join(root, "scripts", "texts.js")], { encoding: "utf8" });
  const lines = stdout.split("\n");
  const ours = lines.filter((line) => line.startsWith("pi-extension/words.ts:"));
  // Behind a template with a backtick in a pattern.
  expect(ours.join("\n")).toContain(`: palimpsest checking files $\{shortCount(files)} of $\{shortCount(of)}\n`);
  expect(lines.filter((line) => /; \}|=> \{|\bfunction \w+\(|\blet \w+ = /.test(line))).toEqual([]);
});
