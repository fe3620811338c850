// The events of a session: who listens, and those about the check of its files, which the native side only counts.
import { invalidArgument } from "./arguments.js";

/** @import { SessionEvent } from "../index.js" */

/** Milliseconds between two events about the check of the files. */
const CHECK_INTERVAL_MS = 1_000;

/** The listeners of a session. */
export class Listeners {
  /** @type {Set<{ listener: (event: SessionEvent) => unknown }>} */
  #all = new Set();

  /**
   * Adds a listener; the function that is returned takes it away again.
   * @param {(event: SessionEvent) => unknown} listener
   * @returns {() => void}
   */
  add(listener) {
    if (typeof listener !== "function") {
      throw invalidArgument("`listener` is not a function");
    }
    // An entry of its own: the same function may be added twice.
    const entry = { listener };
    this.#all.add(entry);
    return () => {
      this.#all.delete(entry);
    };
  }

  /**
   * Calls every listener with a copy of the event. What one throws, or rejects with, is its own fault and stops no other.
   * @param {SessionEvent} event
   */
  emit(event) {
    for (const { listener } of [...this.#all]) {
      new Promise((resolve) => resolve(listener({ ...event }))).catch(() => {});
    }
  }
}

/**
 * Emits a `checking_files` event every second while the check of a session's files runs, and one when it has ended. Does not keep
 * the process alive.
 *
 * @param {() => [files: number, of: number] | null} filesChecked files checked so far and in all; null while no check runs
 * @param {(event: SessionEvent) => void} emit
 */
export function watchFileCheck(filesChecked, emit) {
  let of = 0;
  const timer = setInterval(() => {
    const checked = filesChecked();
    if (checked !== null) {
      const [files] = checked;
      [, of] = checked;
      emit({ type: "checking_files", files, of });
      return;
    }
    clearInterval(timer);
    if (of > 0) {
      emit({ type: "checking_files", files: of, of });
    }
  }, CHECK_INTERVAL_MS);
  timer.unref();
}
