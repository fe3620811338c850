// Loads the native addon, and names its types for the rest of the extension. Nothing else imports it.
// A missing or broken binary must not keep the extension from loading, so the import is a dynamic one.
import type * as Addon from "../index.js";

export type {
  ContextTool,
  Ledger,
  Message,
  Session,
  SessionEvent,
  SessionStatus,
  Settings,
  Store,
  UsageReport,
} from "../index.js";
export type { Addon };

/** Imports the addon; rejects when there is no binary for this platform or it does not load. */
export async function loadAddon(): Promise<typeof Addon> {
  return import("../index.js");
}
