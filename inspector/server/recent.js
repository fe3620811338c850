// Answers that are given again for a short while, and asked for once by many. Must not know what they are.

/** @template Answer */
export class Recent {
  /**
   * @param {number} most how many are kept
   * @param {number} keptMs for how long
   */
  constructor(most, keptMs) {
    this.most = most;
    this.keptMs = keptMs;
    /** @type {Map<string, { answer: Promise<Answer>, until: number }>} */
    this.known = new Map();
  }

  /**
   * The answer known by this key, else the one that `ask` gives. What fails is asked again.
   * @param {string} key
   * @param {() => Promise<Answer>} ask
   * @returns {Promise<Answer>}
   */
  get(key, ask) {
    const found = this.known.get(key);
    if (found !== undefined && performance.now() < found.until) {
      return found.answer;
    }
    const entry = { answer: ask(), until: Number.POSITIVE_INFINITY };
    this.known.delete(key);
    this.known.set(key, entry);
    entry.answer.then(
      () => this.keep(key, entry),
      () => this.known.get(key) === entry && this.known.delete(key),
    );
    if (this.known.size > this.most) {
      this.known.delete(/** @type {string} */ (this.known.keys().next().value));
    }
    return entry.answer;
  }

  /**
   * @param {string} key
   * @param {{ until: number }} entry
   */
  keep(key, entry) {
    entry.until = performance.now() + this.keptMs;
    // Large answers must not stay in memory after the viewer has gone.
    setTimeout(() => this.known.get(key) === entry && this.known.delete(key), this.keptMs).unref();
  }
}

/** Runs some works at a time; the others wait for their turn. */
export class Turns {
  /** @param {number} atOnce */
  constructor(atOnce) {
    this.free = atOnce;
    /** @type {(() => void)[]} */
    this.waiting = [];
  }

  /**
   * @template T
   * @param {() => Promise<T>} work
   * @returns {Promise<T>}
   */
  async take(work) {
    if (this.free > 0) {
      this.free -= 1;
    } else {
      await new Promise((resolve) => this.waiting.push(() => resolve(undefined)));
    }
    try {
      return await work();
    } finally {
      const next = this.waiting.shift();
      if (next === undefined) {
        this.free += 1;
      } else {
        next();
      }
    }
  }
}
