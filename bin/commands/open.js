// `palimpsest open`: the inspector, as a page that this process serves, or as a file.
import { resolve } from "node:path";
import { idleMinutes, show } from "../../inspector/server/browser.js";
import { piAgentDir } from "../../lib/places.js";
import { text, UsageError, wholeNumber } from "../lib/arguments.js";
import { version } from "../lib/help.js";
import { write, writeError, writeJson } from "../lib/output.js";
import { withProgress } from "../lib/progress.js";
import { forNames, settingsFor, withStore } from "../lib/store.js";
import { spokenBytes } from "../lib/table.js";

/** @import { Answers } from "../../inspector/server/answers.js" */

/** @type {import("../lib/arguments.js").Command} */
export const open = {
  name: "open",
  usage: "[SESSION] [--html FILE] [--redact] [--memory] [--port PORT] [--minutes N] [--no-browser]",
  summary: "See in the browser what the model saw, and what it cost",
  arguments: [0, 1],
  options: {
    html: { type: "string", value: "FILE", text: "write the session as one page that loads nothing, and end" },
    redact: { type: "boolean", text: "in that page, replace what looks like a secret, such as keys and tokens" },
    memory: {
      type: "boolean",
      text: "in that page, add memory as it is now: that of the folder and your global memory",
    },
    port: { type: "string", value: "PORT", text: "serve on this port; default: any that is free" },
    minutes: { type: "string", value: "N", text: `end after so long without a viewer; default: ${idleMinutes}` },
    "no-browser": { type: "boolean", text: "only print the address" },
  },
  notes: [
    "Serves a page on this machine only, prints its address and opens the browser where there is one. The address holds a token: who does not have it is refused. The page reads the store and writes nothing but its index for searching and the bills of sessions; a session that runs is followed live. Ends with Ctrl-C.",
    "With --html, writes all of a session into FILE, which only you may read: every call, and the objects that it met, as they stood while it ran. Of memory it holds what stood in the session's own prompts; `--memory` adds all that the memory view shows. Nothing of the page asks for anything elsewhere, so that it can go with a bug report; `--redact` is meant for that. It takes out what `palimpsest export --redact` does, wherever it stands; paths, with the name of your home folder in them, stay.",
  ],
  json: "{ url: string, store: string, session: string | null }; with --html { path: string, bytes: number, session: string }",
  examples: ["palimpsest open", "palimpsest open latest", "palimpsest open latest --html session.html --redact"],
  async run(given) {
    const port = wholeNumber(given, "port");
    if (port !== undefined && port > 65_535) {
      throw new UsageError(`\`--port\` must be at most 65535, is \`${port}\``, "write it as `8080`");
    }
    const minutes = wholeNumber(given, "minutes") ?? idleMinutes;
    if (minutes === 0 || minutes > 24 * 60) {
      throw new UsageError(`\`--minutes\` must be between 1 and 1440, is \`${minutes}\``, "write it as `60`");
    }
    const html = text(given, "html");
    const [name] = given.positionals;
    if (html !== undefined && name === undefined) {
      throw new UsageError("`--html` writes one session", "name it, such as `palimpsest open latest --html FILE`");
    }
    const ofPage = ["redact", "memory"].find((option) => given.values[option] === true);
    if (html === undefined && ofPage !== undefined) {
      throw new UsageError(`\`--${ofPage}\` is for a page that is written`, "give `--html FILE` too");
    }
    const { Answers } = await import("../../inspector/server/answers.js");
    await withStore(
      given,
      async (store) => {
        const session = name === undefined ? null : await store.findSession(name);
        const answers = new Answers({
          store,
          refreshed: (work) => withStore(given, work, { access: "refresh", needed: forNames }),
          written: (work) => withStore(given, work, { access: "write", needed: forNames }),
          settings: await settingsFor(forNames),
          agentDir: piAgentDir(),
          version: version(),
          session,
        });
        await (html !== undefined && session !== null
          ? writePage(given, answers, session, resolve(html))
          : servePage(given, answers, { port, idleMs: minutes * 60_000 }));
      },
      { needed: forNames },
    );
  },
};

/**
 * @param {import("../lib/arguments.js").Given} given
 * @param {Answers} answers
 * @param {string} session
 * @param {string} path
 */
async function writePage(given, answers, session, path) {
  const { carry } = await import("../../inspector/server/carry.js");
  const { oneFile } = await import("../../inspector/server/one-file.js");
  const page = await withProgress("writing", async (say) =>
    oneFile(
      await carry(answers, session, {
        redact: given.values.redact === true,
        memory: given.values.memory === true,
        onProgress: say,
      }),
    ),
  );
  const { writePrivate } = await import("../../index.js");
  await writePrivate(path, page);
  const bytes = Buffer.byteLength(page);
  await (given.json ? writeJson({ path, bytes, session }) : write(`wrote ${spokenBytes(bytes)} to ${path}\n`));
}

/**
 * @param {import("../lib/arguments.js").Given} given
 * @param {Answers} answers
 * @param {{ port?: number, idleMs: number }} options
 */
async function servePage(given, answers, options) {
  const { serve } = await import("../../inspector/server/serve.js");
  const served = await serve(answers, options);
  const isInterrupted = closedBySignals(served);
  const { session, store } = answers.around;
  await (given.json ? writeJson({ url: served.url, store: store.path, session }) : write(`${served.url}\n`));
  const way = await show(served.url, { mayOpen: given.values["no-browser"] !== true });
  await writeError(`${way}; Ctrl-C ends it\n`);
  if ((await served.ended) === "idle") {
    await writeError("ended: nobody had the page open\n");
  }
  if (isInterrupted()) {
    // What waits for its turn, such as a session to be played again, is not begun: nobody will see it. Nothing is written here.
    process.exit(0);
  }
}

/**
 * Has a signal close the page; a second one ends the process as it would any other. Returns whether one came.
 * @param {import("../../inspector/server/serve.js").Served} served
 */
function closedBySignals({ close }) {
  let isInterrupted = false;
  for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"])) {
    process.once(signal, () => {
      isInterrupted = true;
      void close();
    });
  }
  return () => isInterrupted;
}
