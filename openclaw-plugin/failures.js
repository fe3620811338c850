// Fail open: a failure of ours never reaches OpenClaw. Each is logged with its causes; the first of each kind is told through the host's
// log, and `/palimpsest` says the newest. Nothing in this file throws or rejects.
import { describe, told, withCauses } from "../lib/failures.js";
import { openLog } from "../lib/log.js";
import { harmless } from "../lib/terminal.js";

/** @import { HostLogger } from "./host.d.ts" */

/** Kinds of failures that are remembered as told: a gateway runs for months. */
const maxTold = 100;

/** Reports and logs failures. */
export class Failures {
  #log;
  /** @type {HostLogger} */
  #logger;
  /** @type {Set<unknown>} */
  #told = new Set();
  /** The newest failure, in words, with its time. @type {string | undefined} */
  newest;

  /**
   * @param {string} folder of the log
   * @param {HostLogger} logger
   * @param {(text: string) => Promise<string>} withoutSecrets
   */
  constructor(folder, logger, withoutSecrets) {
    this.#log = openLog(folder, { withoutSecrets });
    this.#logger = logger;
    if (this.#log.wrongLevel !== undefined) {
      this.notice(this.#log.wrongLevel);
    }
  }

  /** Path of the log. */
  get file() {
    return this.#log.file;
  }

  /** The host's logger of the newest registration: an earlier one may be gone. @param {HostLogger} logger */
  set logger(logger) {
    this.#logger = logger;
  }

  /**
   * Logs an error, and tells of the first of its kind.
   * @param {string} what happened
   * @param {unknown} error
   */
  async report(what, error) {
    this.newest = `${what}: ${describe(error)} (${new Date().toISOString()})`;
    const kind = /** @type {{ code?: unknown } | null} */ (error)?.code ?? what;
    if (!this.#told.has(kind) && this.#told.size < maxTold) {
      this.#told.add(kind);
      this.notice(`${what}: ${told(error, this.#log)}`);
    }
    await this.#log.write("error", `${what}: ${withCauses(error)}`);
  }

  /** Tells of something that is no failure. @param {string} message */
  notice(message) {
    try {
      this.#logger.warn(harmless(`Palimpsest: ${message}`));
    } catch {
      // The host may be shutting down.
    }
  }

  /** @param {string} text */
  info(text) {
    void this.#log.write("info", text);
  }

  /**
   * Does something that must not fail the host. Resolves to `otherwise` if it fails.
   * @template T
   * @param {string} what happened if it fails
   * @param {T} otherwise
   * @param {() => Promise<T>} work
   */
  async guarded(what, otherwise, work) {
    try {
      return await work();
    } catch (error) {
      await this.report(what, error);
      return otherwise;
    }
  }
}
