// How much a run of the tests does, and what it may cost. There are three tiers: `npm test`, `npm run check` (that, lints and generated
// files: CI) and `npm run check:all` (everything at full counts: every night). CONTRIBUTING.md says what each has and how long it takes.
// Must not import anything: configurations, scripts and tests ask it.

/** What a run of everything sets: how many inputs proptest tries. */
export const everything = { PROPTEST_CASES: "256" };

/**
 * Whether this is a run of everything. Otherwise a test takes a small number where it has a large one, or is left out. Tests in Rust go
 * by the same variable.
 */
export const isEverything = process.env.PROPTEST_CASES !== undefined;

/**
 * Seconds of processor time that all tests of a run may take together, what they start among it and compilers not. One and a half times
 * what they took on an idle machine when this was written. Owner: whoever adds a test. A run that takes more fails; make the tests that
 * it names as slowest cheaper, or have them take their large numbers in `npm run check:all` alone, before you raise a number here.
 */
export const budgetSeconds = isEverything ? 18_000 : 1_500;
