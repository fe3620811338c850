// What a session's timeline and ledger say, as charts and tables need it. Must not touch the document.

import { cost } from "../elements/numbers.js";
import { KINDS, recounted, totalOf } from "./kinds.js";

/** @typedef {import("../../protocol.js").SessionView} Session */
/** @typedef {import("../../../index.js").TimelineMark} TimelineMark */
/** @typedef {import("./shapes.js").Series} Series */
/** @typedef {import("./shapes.js").Lane} Lane */

/** What can happen: its lane, the colour of its mark, and what it is called. @type {{ [kind in TimelineMark["kind"]]: [string, string, string] }} */
const MARKS = {
  fault: ["fault", "bad", "Fault"],
  failed_open: ["failed", "bad", "Went out with the host’s own messages"],
  activated: ["activated", "ours", "Activated"],
  deactivated: ["activated", "faint", "Deactivated"],
  pinned: ["pin", "good", "Pinned"],
  unpinned: ["pin", "faint", "Unpinned"],
  file_changed: ["file", "files", "File"],
  compaction: ["compact", "ours", "The host compacted its list"],
  plain_compaction: ["compact", "plain", "The plain host would have compacted"],
  model: ["model", "person", "Model"],
  branch: ["branch", "references", "The host went back"],
  note: ["note", "notes", "Note to the model"],
  epoch: ["epoch", "epoch", "Epoch"],
};

/**
 * What one side paid since the call before, that call included.
 * @param {import("../../../index.js").LedgerCall} call
 * @param {"ours" | "plain"} side
 */
function paidOf({ ours, plain, warming, faults, hostCalls }, side) {
  return side === "ours"
    ? ours.cost + warming.cost + faults.charged + hostCalls.cost
    : plain.cost + warming.plainCost + hostCalls.plainCost;
}

/** A session with what follows from it. */
export class Course {
  /** @param {Session} session */
  constructor({ ledger, timeline }) {
    this.ledger = ledger;
    this.calls = timeline.calls;
    this.numbers = timeline.calls.map(({ number }) => number);
    this.marks = timeline.marks;
    this.names = new Map(timeline.objects.map(({ id, name }) => [id, name]));
    this.isDollars = ledger.dollars !== null && ledger.dollars.calls === ledger.calls;
    this.known = new Map(ledger.perCall.map((call) => [call.number, call]));
    /** Tokens of each call by kind of content, in the provider's count; null where they are not known. */
    this.kinds = timeline.calls.map(
      ({ number, kinds }) => kinds && recounted(kinds, this.known.get(number)?.ours.sent),
    );
    this.bills = this.sums();
    /** What happened before each call. */
    /** @type {TimelineMark[][]} */
    this.events = timeline.calls.map(() => []);
    for (const mark of timeline.marks) {
      this.events[this.place(mark)]?.push(mark);
    }
  }

  /**
   * Index of the call at which a mark stands: what happened after the newest stands there.
   * @param {TimelineMark} mark
   */
  place(mark) {
    return Math.min(mark.call, this.calls.length) - 1;
  }

  /** What each call cost by itself, and all that was paid up to it, ours beside plain. */
  sums() {
    const sum = { ours: 0, plain: 0 };
    return this.numbers.map((number) => {
      const call = this.known.get(number);
      const price = this.isDollars ? (call?.usdPerMillion ?? 0) / 1e6 : 1;
      sum.ours += call === undefined ? 0 : paidOf(call, "ours") * price;
      sum.plain += call === undefined ? 0 : paidOf(call, "plain") * price;
      return { ours: (call?.ours.cost ?? 0) * price, plain: (call?.plain.cost ?? 0) * price, sum: { ...sum } };
    });
  }

  /** @param {number} value */
  cost(value) {
    return cost(value, this.isDollars);
  }

  /**
   * Tokens of a call, ours and plain's, prompt and tools included; null where it is not known. The plain host compacts as the ledger says.
   * `extra`: whether it would not make the call.
   * @param {number} at
   */
  window(at) {
    const kinds = this.kinds[at];
    if (kinds === null) {
      return null;
    }
    const { number, plainTokens } = this.calls[at];
    const billed = this.known.get(number);
    const plain = billed?.plain.sent ?? (plainTokens ?? 0) + kinds.prompt;
    return { ours: totalOf(kinds), plain, extra: billed?.extra ?? false };
  }

  /** @returns {Series[]} */
  windowSeries() {
    const present = KINDS.filter(([kind]) => this.kinds.some((kinds) => (kinds?.[kind] ?? 0) > 0));
    /** @type {Series[]} */
    const areas = present.map(([kind, name]) => ({
      name,
      colour: kind,
      draw: "area",
      values: this.kinds.map((kinds) => kinds?.[kind] ?? null),
    }));
    // Of a call that failed nothing was counted: plain's line goes on at the height of the call before.
    /** @type {number | null} */
    let last = null;
    const plain = this.calls.map((_, at) => {
      last = this.window(at)?.plain ?? last;
      return last;
    });
    return [...areas, { name: "plain", colour: "plain", draw: "line", values: plain }];
  }

  /** @returns {Series[]} */
  billSeries() {
    const sums = this.bills.map(({ sum }) => sum);
    return [
      { name: "saved", colour: "saved-area", draw: "area", values: sums.map(({ ours, plain }) => plain - ours) },
      { name: "bill", colour: "ours", draw: "line", values: sums.map(({ ours }) => ours) },
      { name: "plain", colour: "plain", draw: "line", values: sums.map(({ plain }) => plain) },
    ];
  }

  /** Lanes in which something happened. @returns {Lane[]} */
  lanes() {
    /** @type {Map<string, Lane>} */
    const lanes = new Map();
    for (const [kind, [name, colour]] of Object.entries(MARKS)) {
      const marks = this.marks
        .filter((mark) => mark.kind === kind && kind !== "epoch")
        .map((mark) => ({ call: this.numbers[this.place(mark)], faint: colour === "faint" }));
      const lane = lanes.get(name);
      if (lane !== undefined) {
        lane.marks = [...lane.marks, ...marks].sort((a, b) => a.call - b.call);
      } else if (marks.length > 0) {
        lanes.set(name, { name, colour, marks });
      }
    }
    return [...lanes.values()];
  }

  /** Numbers of the calls at which an epoch began. */
  epochs() {
    return this.marks.filter(({ kind }) => kind === "epoch").map((mark) => this.numbers[this.place(mark)]);
  }

  /**
   * A mark in words.
   * @param {TimelineMark} mark
   */
  words({ kind, object, text }) {
    const name = object === null ? null : (this.names.get(object) ?? object);
    const rest = [name, text].filter((part) => part !== null).join(", ");
    return rest === "" ? MARKS[kind][2] : `${MARKS[kind][2]}: ${rest}`;
  }
}
