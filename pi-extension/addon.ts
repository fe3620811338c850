// The package that this extension is part of: its native addon, with the types for the rest of the extension, which imports it nowhere
// else; and which copy of the package serves a Pi, since two would answer each call one after the other. Copies find each other on Pi's
// event bus, whatever their versions, so what they exchange must never change its shape.
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { dirname, isAbsolute, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import type * as Addon from "../index.js";

export type {
  ContextTool,
  Ledger,
  LedgerEpoch,
  Memory,
  MemoryCaptureModel,
  MemoryFlush,
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

/**
 * A function that imports a module when it is first called. Pi's loader gives a module that is being evaluated to whoever asks for it
 * again, without its functions; so it is asked once.
 */
export function once<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | undefined;
  return () => {
    loading ??= load();
    return loading;
  };
}

/**
 * Imports the addon; rejects when there is no binary for this platform or it does not load. The import is dynamic, so that the extension
 * loads all the same.
 */
export const loadAddon: () => Promise<typeof Addon> = once(() => import("../index.js"));

/** A copy of the package. */
export interface Copy {
  readonly version: string;
  /** Its folder, canonical. */
  readonly folder: string;
}

/** What a copy asks when it is loaded. The first one answers. */
interface Question {
  first?: Copy;
}

const channel = "palimpsest:copies";

/**
 * The copy that Pi loaded before this one, and that serves it. Undefined if this one does; until its sessions end it tells the others.
 * An earlier load of this same copy, as before `/reload`, is no other.
 *
 * Pi loads the person's packages, asks whether the project is trusted, and then puts the project's package in the place of the person's:
 * the one that was loaded first is never started, and answers all the same.
 */
export function servingCopy(pi: ExtensionAPI, agentDir: string): Copy | undefined {
  const here = thisCopy();
  const question: Question = {};
  pi.events.emit(channel, question);
  const { first } = question;
  if (first !== undefined && first.folder !== here.folder && !takesPlaceOf(here, first, agentDir)) {
    return first;
  }
  let serves = true;
  pi.on("session_shutdown", () => {
    serves = false;
  });
  pi.events.on(channel, (asked) => {
    const { first: other } = asked as Question;
    if (serves && (other === undefined || takesPlaceOf(here, other, agentDir))) {
      (asked as Question).first = here;
    }
  });
  return undefined;
}

/** Whether one is a project's package of the name and source that the other is among the person's. */
function takesPlaceOf({ folder }: Copy, other: Copy, agentDir: string): boolean {
  const person = existsSync(agentDir) ? realpathSync(agentDir) : agentDir;
  const place = relative(person, other.folder);
  return !place.startsWith("..") && !isAbsolute(place) && folder.endsWith(join(sep, ".pi", place));
}

/** What the user is told by a copy that does not serve. */
export function standsAside(first: Copy): string {
  const here = thisCopy();
  const shown = ({ version, folder }: Copy) => `${version} in ${folder}`;
  return `two copies are loaded; ${shown(first)} serves, ${shown(here)} is off. Remove one of them`;
}

/** The copy that this file belongs to. */
export function thisCopy(): Copy {
  const folder = realpathSync(dirname(dirname(fileURLToPath(import.meta.url))));
  const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { version: string };
  return { version, folder };
}
