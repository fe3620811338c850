// Counts of passed, failed and skipped tests, from what cargo and vitest report. Pure.
import { stripVTControlCharacters } from "node:util";

/**
 * @typedef {{ passed: number, failed: number, skipped: number }} Results
 *
 * @typedef {object} VitestReport the part of vitest's JSON report that is read here
 * @property {number} numPassedTests
 * @property {number} numFailedTests
 * @property {number} numPendingTests
 * @property {number} numTodoTests
 */

const cargoSummary = /^test result: .* (\d+) passed; (\d+) failed; (\d+) ignored;/;

/**
 * Sums the summary lines of all test binaries.
 * @param {string} stdout
 * @param {number} code cargo's exit code
 * @returns {Results}
 */
export function parseCargoOutput(stdout, code) {
  const summaries = stdout
    .split("\n")
    .map((line) => stripVTControlCharacters(line).match(cargoSummary))
    .filter((match) => match !== null)
    .map(([, passed, failed, skipped]) => ({ passed: +passed, failed: +failed, skipped: +skipped }));
  return countBrokenRun(addUp(summaries), code);
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
  };
  return countBrokenRun(results, code);
}

/**
 * @param {readonly Results[]} all
 * @returns {Results}
 */
export function addUp(all) {
  return all.reduce(
    (sum, { passed, failed, skipped }) => ({
      passed: sum.passed + passed,
      failed: sum.failed + failed,
      skipped: sum.skipped + skipped,
    }),
    { passed: 0, failed: 0, skipped: 0 },
  );
}

/**
 * A run that failed without a failed test (it did not compile, a file did not load) counts as one failure.
 * @param {Results} results
 * @param {number} code
 * @returns {Results}
 */
function countBrokenRun(results, code) {
  return code !== 0 && results.failed === 0 ? { ...results, failed: 1 } : results;
}
