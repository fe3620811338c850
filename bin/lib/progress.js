// Progress on stderr: on a terminal one line that is overwritten, for work that takes longer than a second; elsewhere a line from time
// to time, for work that takes long enough for somebody to look into a log. stdout stays free for results. Who ends such work by a signal
// finds no temporary file of it.

/** Milliseconds before the first line, and between two. */
const onTerminal = { first: 1_000, every: 200 };
const elsewhere = { first: 10_000, every: 10_000 };

const endings = /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"]);

/**
 * What a store says of its progress, as a state.
 * @param {(state: string) => void} report
 * @param {string} [what] the work itself: a stage of that name is not named again
 * @returns {(progress: import("../../index.js").SharingProgress | import("../../index.js").StoreProgress) => void}
 */
export function progressText(report, what) {
  return ({ stage, done, of }) => {
    const count = of === null ? `${done}` : `${done} of ${of}`;
    report(stage === what ? count : `${stage} ${count}`);
  };
}

/**
 * Ends this process as the signal does by itself, without its temporary files.
 * @param {NodeJS.Signals} signal
 */
async function end(signal) {
  const { removeTemporary } = await import("../../index.js");
  removeTemporary();
  process.kill(process.pid, signal);
}

/**
 * Runs work and reports its progress.
 * @template T
 * @param {string} what the work in one word or a few, such as `counting`
 * @param {(report: (state: string) => void) => Promise<T>} work reports how far it is, as often as it likes
 * @returns {Promise<T>}
 */
export async function withProgress(what, work) {
  const { stderr } = process;
  const start = performance.now();
  const times = stderr.isTTY ? onTerminal : elsewhere;
  let state = "";
  let shown = false;
  const say = () => {
    const seconds = Math.floor((performance.now() - start) / 1_000);
    const line = `${what}${state === "" ? "" : `: ${state}`} (${seconds} s)`;
    stderr.write(stderr.isTTY ? `\r\u001b[K${line}` : `${line}\n`);
    shown = true;
  };
  /** @type {NodeJS.Timeout | undefined} */
  let again;
  const first = setTimeout(() => {
    say();
    again = setInterval(say, times.every);
  }, times.first);
  for (const signal of endings) {
    process.once(signal, end);
  }
  try {
    return await work((now) => {
      state = now;
    });
  } finally {
    for (const signal of endings) {
      process.off(signal, end);
    }
    clearTimeout(first);
    clearInterval(again);
    if (shown && stderr.isTTY) {
      stderr.write("\r\u001b[K");
    }
  }
}
