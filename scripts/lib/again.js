// Runs what failed once more, alone. What passes then is flaky: it is named, and fails the run only in numbers (scripts/lib/test-results.js).
import { asFlaky } from "./test-results.js";

/**
 * @import { Results, TestTime } from "./test-results.js"
 *
 * @typedef {object} Played tests that were run
 * @property {Results} results
 * @property {readonly TestTime[]} times
 * @property {number} seconds of processor time that they took, without compiling
 * @property {(alone: readonly string[]) => Promise<Results>} playAlone runs one of them, by the arguments of its failure
 */

/** Where more failed than this, none is run again: it is no chance, and would take long. */
const mostAgain = 20;

/**
 * @param {Pick<Played, "results" | "playAlone">} played
 * @returns {Promise<Results>}
 */
export async function settle({ results, playAlone }) {
  if (results.failures.length > mostAgain) {
    return results;
  }
  let settled = results;
  for (const failure of results.failures) {
    if (failure.alone === undefined) {
      continue;
    }
    console.log(`once more, alone: ${failure.name}`);
    const { passed, failed } = await playAlone(failure.alone);
    settled = passed > 0 && failed === 0 ? asFlaky(settled, failure) : settled;
  }
  return settled;
}
