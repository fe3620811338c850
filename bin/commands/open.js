// `palimpsest open`: the inspector, as a page that this process serves, or as a file.
import { openBrowser } from "../../inspector/server/browser.js";
import { piAgentDir } from "../../lib/places.js";
import { UsageError, wholeNumber } from "../lib/arguments.js";
import { version } from "../lib/help.js";
import { write, writeError, writeJson } from "../lib/output.js";
import { forNames, settingsFor, withStore } from "../lib/store.js";

/** Minutes without a viewer after which the page ends. */
const idleMinutes = 30;

/** @type {import("../lib/arguments.js").Command} */
export const open = {
  name: "open",
  usage: "[SESSION] [--port PORT] [--minutes N] [--no-browser]",
  summary: "See in the browser what the model saw, and what it cost",
  arguments: [0, 1],
  options: {
    port: { type: "string", value: "PORT", text: "serve on this port; default: any that is free" },
    minutes: { type: "string", value: "N", text: `end after so long without a viewer; default: ${idleMinutes}` },
    "no-browser": { type: "boolean", text: "only print the address" },
  },
  notes: [
    "Serves a page on this machine only, prints its address and opens the browser where there is one. The address holds a token: who does not have it is refused. The page reads the store and writes nothing but its index for searching; a session that runs is followed live. Ends with Ctrl-C.",
  ],
  json: "{ url: string, store: string, session: string | null }",
  examples: ["palimpsest open", "palimpsest open latest"],
  async run(given) {
    const port = wholeNumber(given, "port");
    const minutes = wholeNumber(given, "minutes") ?? idleMinutes;
    if (minutes === 0 || minutes > 24 * 60) {
      throw new UsageError(`\`--minutes\` must be between 1 and 1440, is \`${minutes}\``, "write it as `60`");
    }
    const { Answers } = await import("../../inspector/server/answers.js");
    const { serve } = await import("../../inspector/server/serve.js");
    await withStore(
      given,
      async (store) => {
        const [name] = given.positionals;
        const session = name === undefined ? null : await store.findSession(name);
        const answers = new Answers({
          store,
          refreshed: (work) => withStore(given, work, { access: "refresh", needed: forNames }),
          settings: await settingsFor(forNames),
          agentDir: piAgentDir(),
          version: version(),
          session,
        });
        const served = await serve(answers, { port, idleMs: minutes * 60_000 });
        await say(given, { url: served.url, store: store.path, session });
        await untilEnded(served);
      },
      { needed: forNames },
    );
  },
};

/**
 * @param {import("../lib/arguments.js").Given} given
 * @param {{ url: string, store: string, session: string | null }} answer
 */
async function say(given, answer) {
  await (given.json ? writeJson(answer) : write(`${answer.url}\n`));
  const isOpened = given.values["no-browser"] !== true && openBrowser(answer.url);
  await writeError(`${isOpened ? "opened in the browser; " : "open this address in a browser; "}Ctrl-C ends it\n`);
}

/** @param {import("../../inspector/server/serve.js").Served} served */
async function untilEnded({ ended, close }) {
  const signals = /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"]);
  const end = () => void close();
  for (const signal of signals) {
    process.once(signal, end);
  }
  if ((await ended) === "idle") {
    await writeError("ended: nobody looked for a while\n");
  }
}
