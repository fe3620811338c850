// The bench's handle on the process of one side of scripts/bench-tracking.js: asks questions and waits for answers. Measures nothing.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

/** The process of one side, and the answers that are awaited from it. */
export class Side {
  /** @type {Map<string, (answer: any) => void>} */
  #waiting = new Map();
  #process;

  /** @param {string} side @param {string} store */
  constructor(side, store) {
    const script = fileURLToPath(new URL("tracking-side.js", import.meta.url));
    this.#process = spawn(process.execPath, ["--expose-gc", script, side, store], {
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    this.#process.on("message", (/** @type {any} */ message) => {
      const [key] = Object.keys(message);
      this.#waiting.get(key)?.(message);
    });
    this.#process.once("exit", (code) => {
      if (code !== 0) {
        throw new Error(`the ${side} side ended with ${code}`);
      }
    });
  }

  /**
   * @param {object} question @param {string} key of the answer
   * @returns {Promise<any>}
   */
  ask(question, key) {
    const answer = this.#next(key);
    this.#process.send(question);
    return answer;
  }

  /** @param {string} name of the file whose change is reported next */
  expect(name) {
    this.#changed = this.#next("changed");
    this.#name = name;
  }

  /** @type {Promise<any> | undefined} */
  #changed;
  #name = "";

  /** When the change was reported and when its version was stored. @returns {Promise<{ told: number, stored: number }>} */
  async changed() {
    for (;;) {
      const { changed } = await this.#changed;
      if (changed.name === this.#name) {
        return changed;
      }
      this.#changed = this.#next("changed");
    }
  }

  end() {
    this.#process.disconnect();
  }

  /** @param {string} key */
  #next(key) {
    return new Promise((resolve) => this.#waiting.set(key, resolve));
  }
}
