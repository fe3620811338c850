// Fail open: a failure of Palimpsest never reaches Pi. The user is notified of the first one of each kind in a session; all are logged
// with their causes. Nothing in this file throws or rejects. Here too: where the log is, and how long our handlers take. What its lines
// look like and how the file is kept is in lib/log.js.
import { join } from "node:path";
import { type ContextEvent, type ExtensionAPI, type ExtensionContext, VERSION } from "@earendil-works/pi-coding-agent";
import { describe, told, withCauses } from "../lib/failures.js";
import { type Log, openLog } from "../lib/log.js";
import { harmless } from "../lib/terminal.js";
import { type Addon, loadAddon, thisCopy } from "./addon.ts";

export { describe };

/** Handlers that take so long are logged at `info`, the others at `debug`. A person may notice it. */
const slowMs = 100;

/** Reports and logs the failures of one session. */
export interface Failures {
  /** Logs `error`; notifies the user of it if it is the first of its kind in the session. `what`: what happened. */
  report(what: string, error: unknown): Promise<void>;
  /** Logs `error` and tells the user, whatever was told before: nothing comes after it. */
  last(what: string, error: unknown): Promise<void>;
  /** Notifies the user of something at the end of a session. */
  farewell(message: string): void;
  /** Logs `error`. */
  log(what: string, error: unknown): Promise<void>;
  /** Notifies the user of something that is no failure. */
  notice(message: string): void;
}

/** Creates the failure handling of one session. */
export function createFailures(file: Log, ctx: ExtensionContext): Failures {
  // By code: that the disk is full is news where a call was slow before.
  const notified = new Set<unknown>();
  const logged = (what: string, error: unknown) => file.write("error", `${what}: ${withCauses(error)}`);
  const farewell = (message: string) => {
    const text = `Palimpsest: ${message}`;
    if (ctx.hasUI) {
      // Pi takes its screen down with what is shown on it.
      process.once("exit", () => process.stderr.write(`${harmless(text)}\n`));
    }
    notify(ctx, text);
  };
  return {
    log: logged,
    farewell,
    async last(what, error) {
      farewell(`${what}: ${told(error, file)}`);
      await logged(what, error);
    },
    notice: (message) => notify(ctx, `Palimpsest: ${message}`),
    async report(what, error) {
      const kind = (error as { code?: unknown } | null)?.code;
      if (!notified.has(kind)) {
        notified.add(kind);
        notify(ctx, `Palimpsest: ${what}: ${told(error, file)}`);
      }
      await logged(what, error);
    },
  };
}

/** Shows the user a text: in the user interface, else on stderr, since stdout is for the answers of the model. */
export function tell(ctx: ExtensionContext, text: string, level: "info" | "warning"): void {
  // It may name paths and commands, which hold what they like.
  const shown = harmless(text);
  if (ctx.hasUI) {
    ctx.ui.notify(shown, level);
  } else {
    process.stderr.write(`${shown}\n`);
  }
}

function notify(ctx: ExtensionContext, message: string): void {
  try {
    tell(ctx, message, "warning");
  } catch {
    // The host may be shutting down. The log still has the message.
  }
}

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
