// Loads the native addon, and exports its types for the rest of the extension, which imports it nowhere else. The import is dynamic,
// so that the extension loads even if the binary is missing or broken.
import type * as Addon from "../index.js";

export type {
  ContextTool,
  Ledger,
  LedgerEpoch,
  Session,
  SessionEvent,
  SessionSets,
  SessionStatus,
  Settings,
  SettingValue,
  Store,
  UsageReport,
} from "../index.js";
export type { Addon };

let loading: Promise<typeof Addon> | undefined;

/**
 * Imports the addon; rejects when there is no binary for this platform or it does not load. It is tried once: the second time a module
 * that failed would be there without its functions.
 */
export function loadAddon(): Promise<typeof Addon> {
  loading ??= import("../index.js");
  return loading;
}
