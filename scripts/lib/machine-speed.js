// How slow this machine is at the moment, so that a budget of processor time means the same everywhere. A slow core takes longer for the
// same work, and so does one whose other thread is busy: one state of this project took from 954 to 1,573 s. Knows nothing of tests.
import { createHash } from "node:crypto";

/** Milliseconds that {@link work} takes on the machine on which the budgets in `tiers.js` were measured. */
const REFERENCE_MS = 90;
const ROUNDS = 5;

/** How many times longer this machine takes than the one of the budgets; at least 1. The median of some rounds, by processor time. */
export function slowness() {
  const rounds = Array.from({ length: ROUNDS }, () => {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  });
  const median = rounds.toSorted((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? REFERENCE_MS;
  return Math.max(1, median / REFERENCE_MS);
}

/** Some of what tests do: hash, sort, write and read JSON. */
function work() {
  const records = Array.from({ length: 100_000 }, (_, index) => ({
    id: (index * 7_919) % 100_003,
    text: `record ${index}`,
  }));
  const text = JSON.stringify(records.toSorted((a, b) => a.id - b.id));
  createHash("sha256").update(text.repeat(5)).digest();
  return JSON.parse(text);
}
