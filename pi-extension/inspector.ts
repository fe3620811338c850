// The inspector that a Pi serves: a page that shows its session in the browser while the session lasts. Reads a store of its own, also where
// Palimpsest is off; only one in memory, which cannot be opened twice, is that of the session. Changes nothing, and no failure of the page
// reaches Pi.
import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import { Answers } from "../inspector/server/answers.js";
import { idleMinutes, show } from "../inspector/server/browser.js";
import { type Served, serve } from "../inspector/server/serve.js";
import { openElsewhere } from "../lib/open-elsewhere.js";
import { withRefreshed, withWritten } from "../lib/refreshed.js";
import { loadAddon, type Store, thisCopy } from "./addon.ts";
import { inMemory, type Live, settingsOf } from "./live.ts";

/** What is shown: a store, and a session in it. */
interface Looked {
  store: Store;
  /** ID; null where the store does not have it. */
  session: string | null;
  refreshed: Answers["around"]["refreshed"];
  written: Answers["around"]["written"];
  settings: Answers["around"]["settings"];
  close(): Promise<void>;
}

/** The inspector of one Pi's session. */
export class Inspector {
  readonly #agentDir: string;
  #page: (Served & { session: string | null }) | undefined;

  constructor(agentDir: string) {
    this.#agentDir = agentDir;
  }

  /** Shows the page, which is served once, and says where and for how long. `live`: the open session. Rejects where there is no store. */
  async open(ctx: ExtensionContext, live: Live | undefined): Promise<string> {
    if (ctx.mode === "print" || ctx.mode === "json") {
      return this.#elsewhere(ctx, live);
    }
    this.#page ??= await this.#serve(ctx, live);
    const { url, session } = this.#page;
    // A program that drives Pi may show itself on another machine.
    const way = await show(url, { mayOpen: ctx.mode === "tui" });
    const what =
      session === null ? "No call of this session is stored yet, so it lists the others" : "It follows this session";
    const end = `it closes with the session, with \`/context off\`, or after ${idleMinutes} minutes without a viewer`;
    return `${url}\n${way.charAt(0).toUpperCase()}${way.slice(1)}. ${what}; ${end}.`;
  }

  /** Ends the page, if one is served. */
  async end(): Promise<void> {
    const page = this.#page;
    this.#page = undefined;
    await page?.close();
  }

  async #serve(ctx: ExtensionContext, live: Live | undefined) {
    const { close, ...looked } = await this.#look(ctx, live);
    const around = { ...looked, agentDir: this.#agentDir, version: thisCopy().version };
    try {
      const served = await serve(new Answers(around), { idleMs: idleMinutes * 60_000 });
      // Pi ends when it has nothing to do, whoever looks.
      served.unref();
      const page = { ...served, session: looked.session };
      void served.ended.then(() => {
        if (this.#page === page) {
          this.#page = undefined;
        }
        return close().catch(() => {});
      });
      return page;
    } catch (error) {
      await close();
      throw error;
    }
  }

  async #look(ctx: ExtensionContext, live: Live | undefined): Promise<Looked> {
    const addon = await loadAddon();
    const settings = await settingsOf(addon, this.#agentDir, ctx);
    if (live?.store.path === inMemory) {
      const { store } = live;
      const close = () => Promise.resolve();
      const run: Looked["refreshed"] = (work) => work(store);
      return { store, session: live.session.id, settings, refreshed: run, written: run, close };
    }
    const path = live?.store.path ?? (await addon.storePath({ settings, agentDir: this.#agentDir }));
    const options = { path, settings, agentDir: this.#agentDir };
    const store = await addon.openStore({ ...options, readOnly: true });
    const session = live?.session.id ?? (await stored(store, ctx));
    const refreshed: Looked["refreshed"] = (work) => withRefreshed(options, work);
    const written: Looked["written"] = (work) => withWritten(options, work);
    return { store, session, settings, refreshed, written, close: () => store.close() };
  }

  /** What is said where Pi ends with this answer, and the page would, too. */
  async #elsewhere(ctx: ExtensionContext, live: Live | undefined): Promise<string> {
    const { store, session, close } = await this.#look(ctx, live);
    return openElsewhere(store, session, "Pi ends with this answer. To look at what is stored, run").finally(close);
  }
}

/** ID of Pi's session in a store; null where it has none. */
async function stored(store: Store, ctx: ExtensionContext): Promise<string | null> {
  return store.findSession(ctx.sessionManager.getSessionId()).catch((error: { code?: unknown }) => {
    if (error.code === "UNKNOWN_NAME") {
      return null;
    }
    throw error;
  });
}
