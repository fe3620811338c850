// Progress on stderr for what takes longer than a second: one line that is written over on a terminal, else a line now and
// then. stdout stays free for results.

/** Nothing is said before. */
const firstAfterMs = 1_000;

/** How often a terminal's line is written again, and how often another stream gets a line. */
const terminalEveryMs = 200;
const lineEveryMs = 10_000;

/**
 * Does work and says how it goes.
 * @template T
 * @param {string} what the work, such as `counting`
 * @param {(report: (state: string) => void) => Promise<T>} work reports how far it is, as often as it likes
 * @returns {Promise<T>}
 */
export async function withProgress(what, work) {
  const { stderr } = process;
  const start = performance.now();
  let state = "";
  let shown = false;
  const say = () => {
    const seconds = Math.floor((performance.now() - start) / 1_000);
    const line = `${what}${state === "" ? "" : ` ${state}`} (${seconds} s)`;
    stderr.write(stderr.isTTY ? `\r\u001b[K${line}` : `${line}\n`);
    shown = true;
  };
  /** @type {NodeJS.Timeout | undefined} */
  let again;
  const first = setTimeout(() => {
    say();
    again = setInterval(say, stderr.isTTY ? terminalEveryMs : lineEveryMs);
  }, firstAfterMs);
  try {
    return await work((now) => {
      state = now;
    });
  } finally {
    clearTimeout(first);
    clearInterval(again);
    if (shown && stderr.isTTY) {
      stderr.write("\r\u001b[K");
    }
  }
}
