// Where a person stands among the calls of a session, and which of them are in sight: one for all charts of a panel, so that they move
// together. Must not touch the document.

/**
 * What is found again when the person comes back. `at`: index of the call; null for the newest, whichever that is then.
 * @typedef {{ at?: number | null, range?: [number, number] | null }} Kept
 */

/** The fewest calls that fill a chart. */
const FEWEST = 4;

/** Sends `cursor` when another call is stood on, and `range` when other calls are in sight. */
export class Walk extends EventTarget {
  /**
   * @param {number[]} numbers those of the calls, ascending
   * @param {Kept} kept
   */
  constructor(numbers, kept) {
    super();
    this.numbers = numbers;
    this.kept = kept;
  }

  /** Index of the call that is stood on; -1 without calls. */
  get at() {
    const last = this.numbers.length - 1;
    return Math.min(this.kept.at ?? last, last);
  }

  /** From where to where all calls go: each has the room of one, half of it on either side of its number. */
  get whole() {
    return /** @type {[number, number]} */ ([(this.numbers[0] ?? 1) - 0.5, (this.numbers.at(-1) ?? 1) + 0.5]);
  }

  /** What is in sight. */
  get range() {
    return this.kept.range ?? this.whole;
  }

  get isZoomed() {
    return Boolean(this.kept.range);
  }

  /**
   * Takes the calls as they are now.
   * @param {number[]} numbers
   */
  renew(numbers) {
    const [, end] = this.range;
    const isAtEnd = end >= this.whole[1];
    const before = this.whole[1];
    this.numbers = numbers;
    if (this.kept.range && isAtEnd) {
      // Who looks at the newest calls goes on doing so.
      const more = this.whole[1] - before;
      this.kept.range = [this.kept.range[0] + more, this.whole[1]];
    }
  }

  /**
   * Index of the call at a place of the axis.
   * @param {number} place
   */
  nearest(place) {
    let low = 0;
    let high = this.numbers.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.numbers[middle] + 0.5 < place) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return high;
  }

  /**
   * Stands on another call, and brings it into sight.
   * @param {number} at
   */
  to(at) {
    const last = this.numbers.length - 1;
    const next = Math.min(Math.max(at, 0), last);
    if (next < 0) {
      return;
    }
    const isNew = next !== this.at;
    this.kept.at = next === last ? null : next;
    this.bringIn(this.numbers[next]);
    if (isNew) {
      this.dispatchEvent(new Event("cursor"));
    }
  }

  /** @param {number} number */
  bringIn(number) {
    const [from, to] = this.range;
    if (number - 0.5 < from) {
      this.pan(number - 0.5 - from);
    } else if (number + 0.5 > to) {
      this.pan(number + 0.5 - to);
    }
  }

  /**
   * Shows the calls from one place of the axis to another; all of them where these reach beyond both ends.
   * @param {number} from
   * @param {number} to
   */
  show(from, to) {
    const [first, last] = this.whole;
    const size = Math.min(Math.max(to - from, Math.min(FEWEST, last - first)), last - first);
    const start = Math.min(Math.max((from + to - size) / 2, first), last - size);
    this.kept.range = size >= last - first ? null : [start, start + size];
    this.dispatchEvent(new Event("range"));
  }

  /**
   * Shows more calls or fewer around a place, which stays where it is.
   * @param {number} factor above 1 for more
   * @param {number} [around]
   */
  zoom(factor, around = this.numbers[this.at] ?? 1) {
    const [from, to] = this.range;
    const still = Math.min(Math.max(around, from), to);
    this.show(still - (still - from) * factor, still + (to - still) * factor);
  }

  /** @param {number} by */
  pan(by) {
    const [from, to] = this.range;
    const [first, last] = this.whole;
    const step = Math.min(Math.max(by, first - from), last - to);
    if (step !== 0) {
      this.show(from + step, to + step);
    }
  }

  /** Shows all calls. */
  reset() {
    this.kept.range = null;
    this.dispatchEvent(new Event("range"));
  }
}

/**
 * What a key does in a chart; false if it means nothing there.
 * @param {Walk} walk
 * @param {{ key: string, shiftKey: boolean }} event
 * @param {{ open: () => void, marked: number[] }} chart `marked`: indices of the calls with marks, ascending
 */
export function keyed(walk, { key, shiftKey }, { open, marked }) {
  const [from, to] = walk.range;
  const page = Math.max(1, Math.round((to - from) / 10));
  /** @param {number} by */
  const step = (by) => walk.to(walk.at + by);
  /** @type {{ [key: string]: () => void }} */
  const keys = {
    ArrowLeft: () => (shiftKey ? walk.to(marked.findLast((at) => at < walk.at) ?? walk.at) : step(-1)),
    ArrowRight: () => (shiftKey ? walk.to(marked.find((at) => at > walk.at) ?? walk.at) : step(1)),
    PageUp: () => step(-page),
    PageDown: () => step(page),
    Home: () => walk.to(0),
    End: () => walk.to(walk.numbers.length - 1),
    "+": () => walk.zoom(0.5),
    "-": () => walk.zoom(2),
    0: () => walk.reset(),
    Enter: open,
  };
  keys[key]?.();
  return key in keys;
}
