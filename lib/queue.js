// Work that runs one after another, in the order in which it was asked for.

/** A queue of asynchronous work. */
export class Queue {
  /** @type {Promise<unknown>} */
  #last = Promise.resolve();

  /**
   * Runs `work` when all work before it has ended, well or not; resolves and rejects as it does.
   * @template T
   * @param {() => Promise<T>} work
   * @returns {Promise<T>}
   */
  run(work) {
    const result = this.#last.then(work);
    this.#last = result.catch(() => {});
    return result;
  }
}
