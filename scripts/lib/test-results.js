// What cargo and vitest report of their tests: how many passed, failed and were skipped, and why each failed. Pure.
import { stripVTControlCharacters } from "node:util";

/**
 * @typedef {object} Results
 * @property {number} passed
 * @property {number} failed
 * @property {number} skipped
 * @property {readonly string[]} failures a line for each failed test: its name and how its message begins
 *
 * @typedef {object} VitestReport the part of vitest's JSON report that is read here
 * @property {number} numPassedTests
 * @property {number} numFailedTests
 * @property {number} numPendingTests
 * @property {number} numTodoTests
 * @property {readonly FileReport[]} [testResults]
 *
 * @typedef {object} FileReport
 * @property {string} name the file's path
 * @property {string} message why the file has no tests, or empty
 * @property {"passed" | "failed"} status
 * @property {readonly TestReport[]} assertionResults
 *
 * @typedef {object} TestReport
 * @property {string} fullName
 * @property {string} status
 * @property {readonly string[]} [failureMessages]
 */

/** What the line of a failure begins with. */
const MARK = "failed: ";

/** Characters of a failure's message that are shown. */
const SHOWN = 300;

/** @type {Results} */
const nothing = { passed: 0, failed: 0, skipped: 0, failures: [] };

const cargoSummary = /^test result: .* (\d+) passed; (\d+) failed; (\d+) ignored;/;
const closing = /^(\d+) passed, (\d+) failed, (\d+) skipped$/;
const cargoFailure = /^---- (.+) stdout ----\n([\s\S]*?)(?=^---- .+ stdout ----$|^failures:$)/gm;

/**
 * Sums the summary lines of all test binaries.
 * @param {string} stdout
 * @param {number} code cargo's exit code
 * @returns {Results}
 */
export function parseCargoOutput(stdout, code) {
  const plain = stripVTControlCharacters(stdout);
  const summaries = plain
    .split("\n")
    .map((line) => line.match(cargoSummary))
    .filter((match) => match !== null)
    .map(([, passed, failed, skipped]) => ({ ...nothing, passed: +passed, failed: +failed, skipped: +skipped }));
  const failures = [...plain.matchAll(cargoFailure)].map(([, name, message]) => asLine(name, message));
  return countBrokenRun({ ...addUp(summaries), failures }, "cargo", code);
}

/**
 * @param {VitestReport | undefined} report
 * @param {number} code vitest's exit code
 * @returns {Results}
 */
export function parseVitestReport(report, code) {
  const results = {
    passed: report?.numPassedTests ?? 0,
    failed: report?.numFailedTests ?? 0,
    skipped: (report?.numPendingTests ?? 0) + (report?.numTodoTests ?? 0),
    failures: (report?.testResults ?? []).flatMap(fileFailures),
  };
  return countBrokenRun(results, "vitest", code);
}

/**
 * @param {readonly Results[]} all
 * @returns {Results}
 */
export function addUp(all) {
  return all.reduce(
    (sum, { passed, failed, skipped, failures }) => ({
      passed: sum.passed + passed,
      failed: sum.failed + failed,
      skipped: sum.skipped + skipped,
      failures: [...sum.failures, ...failures],
    }),
    nothing,
  );
}

/**
 * The end of a test program's output: a line for each failure, then one that sums up.
 * @param {Results} results
 */
export function closingLines({ passed, failed, skipped, failures }) {
  return [...failures.map((failure) => `${MARK}${failure}`), `${passed} passed, ${failed} failed, ${skipped} skipped`];
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
  const failures = lines.filter((line) => line.startsWith(MARK)).map((line) => line.slice(MARK.length));
  const results = counts ? { passed, failed, skipped, failures } : nothing;
  return code === 0 ? results : { ...results, failed: Math.max(results.failed, 1), failures: [name, ...failures] };
}

/**
 * @param {FileReport} file
 * @returns {string[]}
 */
function fileFailures({ name, message, status, assertionResults }) {
  const failed = assertionResults.filter((test) => test.status === "failed");
  if (failed.length === 0) {
    return status === "failed" ? [asLine(name, message)] : [];
  }
  return failed.map((test) => asLine(`${name} > ${test.fullName}`, test.failureMessages?.join(" ") ?? ""));
}

/**
 * @param {string} name
 * @param {string} message
 */
function asLine(name, message) {
  const words = stripVTControlCharacters(message).replaceAll(/\s+/g, " ").trim();
  return words === "" ? name : `${name}: ${words.slice(0, SHOWN)}`;
}

/**
 * A run that failed without a failed test (it did not compile, a file did not load) counts as one failure.
 * @param {Results} results
 * @param {string} program
 * @param {number} code
 * @returns {Results}
 */
function countBrokenRun(results, program, code) {
  if (code === 0 || results.failed > 0) {
    return results;
  }
  const failures = results.failures.length > 0 ? results.failures : [`${program} ended with ${code}`];
  return { ...results, failed: 1, failures };
}
