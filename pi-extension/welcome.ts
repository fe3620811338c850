// The one notice of the first session that a person sees: what is on, where data goes, and the way out. An empty file beside the log says
// that it was shown; a session without a person in front of it, such as `pi -p`, leaves it to the next one.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import { harmless, name } from "../lib/terminal.js";
import { shortPath } from "../lib/words.js";
import { tell } from "./failures.ts";

const widgetKey = "palimpsest-welcome";

/** Shows the notice if nobody ever saw it. `path`: of the store. Never rejects. */
export async function welcomeOnce(ctx: ExtensionContext, agentDir: string, path: string): Promise<void> {
  if (!ctx.hasUI || !(await isFirst(agentDir))) {
    return;
  }
  const text = welcome(path);
  try {
    if (ctx.mode === "tui") {
      // Above the editor: in the transcript the next notice of any extension would take its place.
      ctx.ui.setWidget(widgetKey, harmless(text).split("\n"));
    } else {
      tell(ctx, text, "info");
    }
  } catch {
    // The host may be shutting down.
  }
}

/** Takes the notice away: the person goes on. */
export function endWelcome(ctx: ExtensionContext): void {
  if (ctx.mode === "tui") {
    ctx.ui.setWidget(widgetKey, undefined);
  }
}

/** Whether no session showed it yet; from now on one has. */
async function isFirst(agentDir: string): Promise<boolean> {
  const folder = join(agentDir, "palimpsest");
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await writeFile(join(folder, "welcomed"), "", { flag: "wx", mode: 0o600 });
    return true;
  } catch {
    // It is there, or nothing can be written, which the store says.
    return false;
  }
}

/** `path`: of the store; `home`: the user's folder, if not the real one. */
export function welcome(path: string, home?: string): string {
  return [
    "Palimpsest is on: old tool outputs leave the model's window when that saves, and come back when it needs them.",
    `What it keeps stays on this machine, in \`${name(shortPath(path, home))}\`.`,
    "`/context` shows what it does; `/context off` turns it off in this session.",
  ].join("\n");
}
