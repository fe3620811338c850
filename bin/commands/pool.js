// `palimpsest pool`: takes an object out of a session's metadata pool, or brings it back.
import { UsageError } from "../lib/arguments.js";
import { write, writeJson } from "../lib/output.js";
import { forFiles, settingsFor, withStore } from "../lib/store.js";

/** @type {import("../lib/arguments.js").Command} */
export const pool = {
  name: "pool",
  usage: "SESSION NAME [--out | --in] [--force]",
  summary: "Take an object out of what a session lists, or back",
  arguments: [2, 2],
  options: {
    out: { type: "boolean", text: "take it out: the session knows it, but no longer tells the model of it" },
    in: { type: "boolean", text: "bring it back" },
    force: { type: "boolean", text: "also where the session is not closed, as after a crash" },
  },
  notes: [
    "NAME is a handle of the session, such as t17, or any other name of an object that it met. An object that is out stays in the session index: reading or activating it brings it back. What was sent stays as it is. A session that is open is refused, for it would go on as another; in Pi, `deactivate` twice does the same.",
  ],
  json: "{ id: string, name: string, out: boolean }",
  examples: ["palimpsest pool latest t17 --out", "palimpsest pool latest t17 --in"],
  async run(given) {
    const out = given.values.out === true;
    if (out === (given.values.in === true)) {
      throw new UsageError("either `--out` or `--in` is needed", "such as `palimpsest pool latest t17 --out`");
    }
    const [session, name] = given.positionals;
    await withStore(
      given,
      async (store) => {
        const id = await store.findSession(session);
        const open = await reopened(store, id, given.values.force === true);
        try {
          const answer = await (out ? open.leavePool(name) : open.enterPool(name));
          await (given.json ? writeJson({ id, name, out }) : write(`${answer}\n`));
        } finally {
          await open.close();
        }
      },
      { access: "write", needed: forFiles },
    );
  },
};

/**
 * Opens a session as its harness would.
 * @param {import("../../index.js").Store} store
 * @param {string} id
 * @param {boolean} force
 */
async function reopened(store, id, force) {
  const { fields } = await store.get(id);
  if (fields.state === "active" && !force) {
    throw Object.assign(new Error(`\`${id}\` is open`), {
      code: "IN_USE",
      hint: "close it first; `--force` changes it all the same, such as after a crash",
    });
  }
  const { openSession } = await import("../../index.js");
  const [harness, sessionId, cwd] = [fields.harness, fields.host_session, fields.cwd].map(String);
  const settings = { ...(await settingsFor(forFiles)), track: false };
  const open = await openSession(store, { harness, sessionId, cwd, settings });
  if (open.id !== id) {
    await open.close();
    throw new UsageError(`\`${id}\` parted from \`${open.id}\`, which goes on`, `name \`${open.id}\``);
  }
  return open;
}
