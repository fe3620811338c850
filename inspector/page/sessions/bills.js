// What the sessions of a list cost: asked for those in sight, in groups, and kept while the page is open. Knows nothing of lists.

import { shortCount } from "../../../lib/figures.js";
import { put } from "../elements/dom.js";
import { cost, counted, percent, savedShare, whole } from "../elements/numbers.js";

/** @typedef {import("../../../index.js").SessionInfo} SessionInfo */
/** @typedef {import("../../../index.js").SessionBill} SessionBill */
/** @typedef {import("../../protocol.js").Bills[string]} Bill */

/** Most bills that are asked for at once, and the wait until scrolling stands still, in milliseconds. */
const MOST = 50;
const WAIT_MS = 60;

/**
 * By session: the transaction that was asked about, and the newest bill that is known. One that was written since has another.
 * @type {Map<string, { txId: number, bill: Bill | null }>}
 */
const known = new Map();

/**
 * @param {string} id
 * @param {number} txId
 * @param {Bill | undefined} bill
 */
function know(id, txId, bill) {
  if (bill === undefined) {
    // Nobody answered: it is asked for again when it comes into sight.
    known.delete(id);
  } else {
    known.set(id, { txId, bill });
  }
}

export class Bills {
  /** @param {import("../main.js").Context} context */
  constructor({ source, signal }) {
    this.source = source;
    this.signal = signal;
    /** The cells of each row that was shown. @type {Map<string, HTMLElement[]>} */
    this.cells = new Map();
    /** @type {SessionInfo[]} */
    this.wanted = [];
    this.timer = 0;
  }

  /** @param {SessionInfo[]} sessions those in sight now; others need not be asked for any more */
  want(sessions) {
    this.wanted = sessions.filter(({ id, txId }) => known.get(id)?.txId !== txId);
    clearTimeout(this.timer);
    if (this.wanted.length > 0) {
      this.timer = setTimeout(() => void this.ask(), WAIT_MS);
    }
  }

  async ask() {
    const asked = this.wanted.splice(0, MOST);
    for (const { id, txId } of asked) {
      known.set(id, { txId, bill: known.get(id)?.bill ?? null });
    }
    const bills = await this.source.bills(asked.map(({ id }) => id)).catch(() => null);
    for (const { id, txId } of asked) {
      // Otherwise it was written meanwhile and asked for again.
      if (known.get(id)?.txId === txId) {
        know(id, txId, bills?.[id]);
      }
    }
    if (this.signal.aborted) {
      return;
    }
    for (const { id } of asked) {
      this.fill(id);
    }
    if (this.wanted.length > 0) {
      await this.ask();
    }
  }

  /**
   * Fills cells for window, saving and faults of a session, now or when its bill is there.
   * @param {SessionInfo} session
   * @param {HTMLElement[]} cells
   */
  show({ id }, cells) {
    this.cells.set(id, cells);
    this.fill(id);
  }

  /** @param {string} id */
  fill(id) {
    const cells = this.cells.get(id);
    const bill = known.get(id)?.bill ?? null;
    if (cells === undefined || bill === null) {
      return;
    }
    const isKnown = !("error" in bill);
    const texts = isKnown ? billTexts(bill) : ["", "not readable", ""];
    cells.forEach((cell, at) => {
      put(cell, texts[at]);
    });
    const [, saved] = cells;
    saved.classList.toggle("over", !isKnown || bill.bill > bill.plainBill);
    saved.title = isKnown ? billTitle(bill) : `${bill.error.message} (${bill.error.code})`;
  }
}

/**
 * Window, saving and faults of a session, in short.
 * @param {SessionBill} bill
 */
function billTexts({ bill, plainBill, dollars, faults, window }) {
  const sums = dollars ?? { bill, plainBill };
  const share = savedShare(sums.bill, sums.plainBill);
  const saved = cost(sums.plainBill - sums.bill, dollars !== null);
  return [
    window === null ? "–" : `${shortCount(window.ours)} / ${shortCount(window.plain)}`,
    share === null ? "–" : `${saved} · ${percent(share)}`,
    whole(faults),
  ];
}

/** @param {SessionBill} bill */
function billTitle({ bill, plainBill, dollars }) {
  const [ours, plain] = dollars === null ? [bill, plainBill] : [dollars.bill, dollars.plainBill];
  const isDollars = dollars !== null;
  const of = dollars === null ? "" : `, for ${counted(dollars.calls, "call")} of known price`;
  return `${cost(ours, isDollars)} instead of ${cost(plain, isDollars)}${of}`;
}
