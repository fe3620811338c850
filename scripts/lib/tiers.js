// How much a run of the tests does, and what it may cost: `npm test` ("quick"), `npm run check` ("ci") and `npm run check:all`
// ("everything"). CONTRIBUTING.md says what each has and how long it takes.
// Must not import anything: configurations, scripts and tests ask it.

/** What a run of everything sets: how many inputs proptest tries. Few enough to wait for: each run has seeds of its own. */
export const everything = { PROPTEST_CASES: "64" };

/**
 * Whether this is a run of everything. Otherwise a test takes a small number where it has a large one, or is left out. Tests in Rust go
 * by the same variable.
 */
export const isEverything = process.env.PROPTEST_CASES !== undefined;

/**
 * Seconds of processor time that all tests of a tier may take together, with all that they start and without compilers. One and a half
 * times what they took when this was written, and more on a slower machine (`machine-speed.js`). Owner: whoever adds a test. A run that takes more fails; make the tests that it names as
 * slowest cheaper, or leave their large numbers to `npm run check:all`, before you raise a number here.
 */
export const budgetSeconds = { quick: 1_450, ci: 2_600, everything: 20_000 };

/** What `npm test` has on the Pi that users run, by the names in `__test__/e2e`: how sessions go, and what a person does with them. */
export const quickOnCurrentPi = [
  "changes",
  "command",
  "compaction",
  "continue",
  "discovery",
  "extension",
  "fail-open",
  "harness",
  "lifecycle",
  "memory",
  "requests",
  "terminal",
  "terminal-rows",
  "turns",
  "ways",
  "pi-1.5/scripts",
];

/** What `npm test` has on the oldest Pi, and what CI has there: Pi itself, prompts and the terminal, which differ. */
export const quickOnOldestPi = ["extension"];
export const ciOnOldestPi = ["extension", "harness", "lifecycle", "prompts", "terminal-rows"];

/** Files that `npm test` leaves to CI, by their names in `__test__`: many views, texts and servers, where others walk through once. */
export const leftToCi = [
  "inspector/hostile",
  "inspector/odd-calls",
  "inspector/sessions",
  "inspector/views",
  "inspector/what-if",
  "marks-study",
  "xtdb-server",
  "xtdb/migrate",
];
