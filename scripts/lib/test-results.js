// What cargo and vitest report of their tests: how many passed, failed and were skipped, why each failed, and how it is run again. Pure.
import { stripVTControlCharacters } from "node:util";

/**
 * @typedef {object} Results
 * @property {number} passed
 * @property {number} failed
 * @property {number} skipped
 * @property {readonly Failure[]} failures
 * @property {readonly string[]} flaky names of tests that failed, and passed when they were run again
 *
 * @typedef {object} Failure a test, or a whole program or file of tests that broke
 * @property {string} name
 * @property {string} [message] how its message begins
 * @property {readonly string[]} [alone] arguments that run it alone; absent where nothing does
 *
 * @typedef {object} TestTime how long a test took
 * @property {string} name
 * @property {number} ms
 *
 * @typedef {object} VitestReport what scripts/lib/vitest-reporter.js writes
 * @property {readonly FileReport[]} files
 * @property {readonly { message: string, path?: string }[]} errors those of no test
 *
 * @typedef {object} FileReport
 * @property {string} path
 * @property {string} name the path in the clone
 * @property {string} project
 * @property {boolean} isFinished
 * @property {readonly string[]} errors those of no test, such as a hook's
 * @property {readonly TestReport[]} tests
 *
 * @typedef {object} TestReport
 * @property {string} name after those of the suites that it stands in, as vitest's name patterns see it
 * @property {"passed" | "failed" | "skipped" | "pending"} state
 * @property {string} message
 * @property {number} ms
 */

/** What the line of a failure begins with. */
const MARK = "failed: ";

/** What the line of a flaky test begins with. */
const FLAKY_MARK = "flaky: ";

/** Flaky tests that a run may have and still be green. */
const MOST_FLAKY = 2;

/** Tests that are named with the time that they took. */
const MOST_SLOW = 10;

/** Characters of a failure's message that are shown. */
const SHOWN = 300;

/** @type {Results} */
const nothing = { passed: 0, failed: 0, skipped: 0, failures: [], flaky: [] };

const cargoSummary = /^test result: .* (\d+) passed; (\d+) failed; (\d+) ignored;/gm;
const closing = /^(\d+) passed, (\d+) failed, (\d+) skipped$/;
const cargoTime = /^test (.+) \.\.\. .*<([\d.]+)s>$/gm;
const startedProgram = /^ +Running .*\(\S*?([^/\\\s]+)-[0-9a-f]+(?:\.exe)?\)$/gm;
const cargoFailure = /^---- (.+) stdout ----\n([\s\S]*?)(?=^---- .+ stdout ----$|^failures:$)/gm;
const failedTarget = /^error: (?:doc)?test failed, to rerun pass `(.+)`(\n\nCaused by:\n {2}process didn't exit)?/gm;

/**
 * Sums the summary lines of all test programs. Cargo names a program that failed on stderr, in the order in which stdout has their tests.
 * @param {{ stdout: string, stderr: string, code: number }} output
 * @returns {Results}
 */
export function parseCargoOutput({ stdout, stderr, code }) {
  const plain = stripVTControlCharacters(stdout);
  const summaries = [...plain.matchAll(cargoSummary)];
  const targets = [...stripVTControlCharacters(stderr).matchAll(failedTarget)].map(([, args, crashed]) => ({
    args: args.split(" "),
    hasCrashed: crashed !== undefined,
  }));
  const parts = plain.split(/^test result: FAILED/m).slice(0, -1);
  // A program that exits as one with failed tests does, and says nothing of them: then it is not known whose the tests are.
  const isClear = targets.filter(({ hasCrashed }) => !hasCrashed).length === parts.length;
  const failures = targets.flatMap(({ args, hasCrashed }) =>
    hasCrashed || !isClear
      ? [{ name: args.join(" "), message: "the program broke", alone: ofAll(args) }]
      : testsOf(/** @type {string} */ (parts.shift()), args),
  );
  const sum = (/** @type {number} */ group) => summaries.reduce((sum, match) => sum + Number(match[group]), 0);
  return asResults({ passed: sum(1), skipped: sum(3), failures }, "cargo", code);
}

/**
 * @param {VitestReport | undefined} report
 * @param {number} code vitest's exit code
 * @returns {Results}
 */
export function parseVitestReport(report, code) {
  const tests = (report?.files ?? []).flatMap((file) => file.tests);
  const count = (/** @type {string} */ state) => tests.filter((test) => test.state === state).length;
  const failures = [...(report?.files ?? []).flatMap(fileFailures), ...(report?.errors ?? []).map(errorFailure)];
  return asResults({ passed: count("passed"), skipped: count("skipped"), failures }, "vitest", code);
}

/**
 * The times of cargo's tests, where their programs say them. Cargo names each program on stderr before it runs it, and each begins its
 * own output by how many tests it has.
 * @param {{ stdout: string, stderr: string }} output
 * @returns {TestTime[]}
 */
export function cargoTimes({ stdout, stderr }) {
  const programs = [...stripVTControlCharacters(stderr).matchAll(startedProgram)].map(([, name]) => name);
  const [, ...parts] = stripVTControlCharacters(stdout).split(/^running \d+ tests?$/m);
  return parts.flatMap((part, at) =>
    [...part.matchAll(cargoTime)].map(([, name, seconds]) => ({
      name: `${programs[at] ?? "cargo"} ${name}`,
      ms: Number(seconds) * 1000,
    })),
  );
}

/**
 * @param {VitestReport | undefined} report
 * @returns {TestTime[]}
 */
export function vitestTimes(report) {
  return (report?.files ?? []).flatMap((file) =>
    file.tests.filter(({ ms }) => ms > 0).map((test) => ({ ms: test.ms, name: testName(file, test) })),
  );
}

/**
 * The tests that took longest, a line each.
 * @param {readonly TestTime[]} times
 */
export function slowestTests(times) {
  const slowest = times.toSorted((a, b) => b.ms - a.ms).slice(0, MOST_SLOW);
  return slowest.map(({ ms, name }) => `slow: ${(ms / 1000).toFixed(1)} s ${name}`);
}

/**
 * The failure of tests that took more processor time than they may together.
 * @param {number} seconds
 * @param {number} budget
 * @returns {Results}
 */
export function overBudget(seconds, budget) {
  const message = `${Math.round(seconds)} s of processor time, more than ${Math.round(budget)} (scripts/lib/tiers.js)`;
  return seconds > budget ? { ...nothing, failed: 1, failures: [{ name: "the time of all tests", message }] } : nothing;
}

/**
 * @param {readonly Results[]} all
 * @returns {Results}
 */
export function addUp(all) {
  return all.reduce(
    (sum, { passed, failed, skipped, failures, flaky }) => ({
      passed: sum.passed + passed,
      failed: sum.failed + failed,
      skipped: sum.skipped + skipped,
      failures: [...sum.failures, ...failures],
      flaky: [...sum.flaky, ...flaky],
    }),
    nothing,
  );
}

/**
 * The results when a test that failed has passed alone.
 * @param {Results} results
 * @param {Failure} failure
 * @returns {Results}
 */
export function asFlaky({ passed, failed, failures, flaky, ...rest }, failure) {
  return {
    ...rest,
    passed: passed + 1,
    failed: failed - 1,
    failures: failures.filter((other) => other !== failure),
    flaky: [...flaky, failure.name],
  };
}

/**
 * The end of a test program's output: a line for each failure and each flaky test, then one that sums up. And its exit code: more than a
 * few flaky tests fail it.
 * @param {Results} results
 * @returns {{ lines: string[], code: number }}
 */
export function closingLines({ passed, failed, skipped, failures, flaky }) {
  const isTooFlaky = flaky.length > MOST_FLAKY;
  const lines = [
    ...failures.map(({ name, message }) => `${MARK}${message === undefined ? name : `${name}: ${message}`}`),
    ...(isTooFlaky ? [`${MARK}${flaky.length} tests are flaky, more than ${MOST_FLAKY}`] : []),
    ...flaky.map((name) => `${FLAKY_MARK}${name}`),
    `${passed} passed, ${failed} failed, ${skipped} skipped`,
  ];
  return { lines, code: failed > 0 || isTooFlaky ? 1 : 0 };
}

/**
 * What a program's closing lines say, and one failure more, by the program's name, where it failed.
 * @param {string} name
 * @param {string} stdout of any program; one that runs no tests has no closing lines
 * @param {number} code the program's exit code
 * @returns {Results}
 */
export function parseClosingLines(name, stdout, code) {
  const lines = stripVTControlCharacters(stdout).split("\n");
  const counts = lines.map((line) => line.match(closing)).findLast((match) => match !== null);
  const [passed, failed, skipped] = (counts ?? []).slice(1).map(Number);
  const marked = (/** @type {string} */ mark) =>
    lines.filter((line) => line.startsWith(mark)).map((line) => line.slice(mark.length));
  const failures = marked(MARK).map((name) => ({ name }));
  const results = counts ? { passed, failed, skipped, failures, flaky: marked(FLAKY_MARK) } : nothing;
  return code === 0
    ? results
    : { ...results, failed: Math.max(results.failed, 1), failures: [{ name }, ...results.failures] };
}

/**
 * @param {string} output of one program
 * @param {string[]} args that run the program
 * @returns {Failure[]}
 */
function testsOf(output, args) {
  return [...output.matchAll(cargoFailure)].map(([, name, message]) => ({
    name: `${args.join(" ")} ${name}`,
    message: beginning(message),
    alone: [...ofAll(args), "--", "--exact", name],
  }));
}

/**
 * The arguments without the package: alone, it would be compiled anew, since its dependencies then have other features.
 * @param {string[]} args
 */
function ofAll(args) {
  return args.filter((word, at) => word !== "-p" && args[at - 1] !== "-p");
}

/**
 * What broke outside its tests is run again whole.
 * @param {FileReport} file
 * @returns {Failure[]}
 */
function fileFailures(file) {
  const { path, name, project, isFinished, errors, tests } = file;
  const alone = [path, "--project", project];
  if (errors.length > 0 || !isFinished) {
    return [{ name: `${name} [${project}]`, message: beginning(errors[0] ?? "did not finish"), alone }];
  }
  const failed = tests.filter((test) => test.state === "failed");
  return failed.map((test) => ({
    name: testName(file, test),
    message: beginning(test.message),
    alone: [...alone, "--testNamePattern", `^${test.name.replaceAll(/[$()*+.?[\\\]^{|}]/g, "\\$&")}$`],
  }));
}

/**
 * @param {{ message: string, path?: string }} error
 * @returns {Failure}
 */
function errorFailure({ message, path }) {
  return { name: path ?? "vitest", message: beginning(message), ...(path === undefined ? {} : { alone: [path] }) };
}

/**
 * @param {FileReport} file
 * @param {TestReport} test
 */
function testName(file, test) {
  return `${file.name} > ${test.name} [${file.project}]`;
}

/** @param {string} message */
function beginning(message) {
  return stripVTControlCharacters(message).replaceAll(/\s+/g, " ").trim().slice(0, SHOWN);
}

/**
 * A run that failed without a failed test (it did not compile) counts as one failure.
 * @param {Pick<Results, "passed" | "skipped" | "failures">} counted
 * @param {string} program
 * @param {number} code
 * @returns {Results}
 */
function asResults({ passed, skipped, failures }, program, code) {
  const all = code !== 0 && failures.length === 0 ? [{ name: `${program} ended with ${code}` }] : failures;
  return { passed, failed: all.length, skipped, failures: all, flaky: [] };
}
