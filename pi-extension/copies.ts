// One copy of the extension serves a Pi: two would answer each call one after the other. Copies find each other on Pi's event bus,
// whatever their versions, so what they exchange must never change its shape.
import { readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

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
 * The copy that Pi loaded before this one, and that serves it. Undefined if this one does; from now on it tells the others. An earlier
 * load of this same copy, as before `/reload`, is no other.
 */
export function servingCopy(pi: ExtensionAPI): Copy | undefined {
  const here = thisCopy();
  const question: Question = {};
  pi.events.emit(channel, question);
  if (question.first !== undefined && question.first.folder !== here.folder) {
    return question.first;
  }
  pi.events.on(channel, (asked) => {
    (asked as Question).first ??= here;
  });
  return undefined;
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
