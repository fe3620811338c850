// The extension's log: where it is, what a session begins with, and how long our handlers take. What lines look like and how the file
// is kept is in lib/log.js.
import { join } from "node:path";
import { type ContextEvent, type ExtensionAPI, type ExtensionContext, VERSION } from "@earendil-works/pi-coding-agent";
import { type Log, openLog } from "../lib/log.js";
import { type Addon, loadAddon } from "./addon.ts";
import { thisCopy } from "./copies.ts";

/** Handlers that take so long are logged at `info`, the others at `debug`. A person may notice it. */
const slowMs = 100;

/** Opens the log of an agent folder. */
export function openExtensionLog(agentDir: string): ReturnType<typeof openLog> {
  return openLog(join(agentDir, "palimpsest"), { withoutSecrets });
}

/** What a report of a fault has to name. */
export function environment(addon: typeof Addon, store: string): string {
  const { version } = thisCopy();
  const machine = `Node ${process.version}, ${process.platform} ${process.arch}`;
  return `palimpsest ${version} (${addon.__napiBindingTarget}), Pi ${VERSION}, ${machine}, store ${store}`;
}

/** `pi.on`, with handlers whose time is logged where the log has such lines. */
export function timedHooks(pi: ExtensionAPI, log: Log): ExtensionAPI["on"] {
  if (!log.writes("info")) {
    return pi.on.bind(pi);
  }
  type Handler = (event: ContextEvent, ctx: ExtensionContext) => Promise<undefined>;
  const timed = (name: "context", handler: Handler) =>
    pi.on(name, async (event, ctx) => {
      const start = performance.now();
      try {
        return await handler(event, ctx);
      } finally {
        const ms = performance.now() - start;
        void log.write(ms < slowMs ? "debug" : "info", `${name} took ${ms.toFixed(1)} ms`);
      }
    });
  // For any event: what it is called with goes through as it is.
  return timed as ExtensionAPI["on"];
}

async function withoutSecrets(text: string): Promise<string> {
  const addon = await loadAddon().catch(() => undefined);
  return addon?.withoutSecrets(text) ?? text;
}
