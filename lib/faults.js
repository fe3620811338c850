// Faults in words: needs of what had left the window, by the way in which they show. One source for all who show them, the inspector's page
// included, so it imports nothing.

/** @import { FaultKind, LedgerFaults } from "../index.js" */

/** Short names, in the order in which they are shown. @type {Readonly<Record<FaultKind, string>>} */
export const faultNames = {
  asked: "asked for",
  reread: "read again",
  repeated: "run again",
  failedEdit: "failed edit",
  quoted: "quoted",
};

/** What the model did, with how often. @type {Readonly<Record<FaultKind, (times: string) => string>>} */
const deeds = {
  asked: (times) => `asked for it ${times}`,
  reread: (times) => `read it again ${times}`,
  repeated: (times) => `ran a command for it again ${times}`,
  failedEdit: (times) => `failed ${times} to edit it`,
  quoted: (times) => `wrote it without asking ${times}`,
};

const all = /** @type {FaultKind[]} */ (Object.keys(faultNames));

/** Such as `asked for 2, read again 1`; empty without faults. @param {Pick<LedgerFaults, "kinds">} faults */
export function faultCounts({ kinds }) {
  return all.flatMap((kind) => (kinds[kind].count > 0 ? [`${faultNames[kind]} ${kinds[kind].count}`] : [])).join(", ");
}

/** Such as `asked for it twice, read it again once`. @param {Pick<LedgerFaults, "kinds">} faults */
export function faultDeeds({ kinds }) {
  const found = all.filter((kind) => kinds[kind].count > 0);
  return found.map((kind) => deeds[kind](times(kinds[kind].count))).join(", ");
}

/** @param {number} count */
function times(count) {
  return count === 1 ? "once" : `${count} times`;
}
