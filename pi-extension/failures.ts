// Fail open: a failure of Palimpsest never reaches Pi. The user is notified of the first one of each kind in a session; all are logged
// with their causes. Nothing in this file throws or rejects.
import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { Log } from "../lib/log.js";
import { harmless } from "../lib/terminal.js";

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
      farewell(`${what}: ${describe(error)}. Details: ${file.file}`);
      await logged(what, error);
    },
    notice: (message) => notify(ctx, `Palimpsest: ${message}`),
    async report(what, error) {
      const kind = (error as { code?: unknown } | null)?.code;
      if (!notified.has(kind)) {
        notified.add(kind);
        notify(ctx, `Palimpsest: ${what}: ${describe(error)}. Details: ${file.file}`);
      }
      await logged(what, error);
    },
  };
}

/** The error's code, message and hint, in one line. */
export function describe(error: unknown): string {
  if (!(error instanceof Error)) {
    return String(error);
  }
  const { code, hint } = error as { code?: unknown; hint?: unknown };
  const coded = typeof code === "string" ? `${error.message} (${code})` : error.message;
  const full = typeof hint === "string" ? `${coded}; hint: ${hint}` : coded;
  return full.replaceAll(/\s*\n\s*/g, " ");
}

function withCauses(error: unknown): string {
  const own = error instanceof Error ? `${describe(error)}\n${error.stack ?? ""}` : describe(error);
  const cause = error instanceof Error ? error.cause : undefined;
  return cause === undefined ? own : `${own}\ncaused by ${withCauses(cause)}`;
}

/** Whether something of ours does not work, so that nobody who asks can help it by asking in another way. */
export function isFailure(error: unknown): boolean {
  return !(error instanceof Error) || !("code" in error) || (error as { failure?: unknown }).failure === true;
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
