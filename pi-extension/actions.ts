// What `/context` does to a session for a person: what the tools do for the model, and an archive of it. Holds no policy.
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { plural } from "../lib/describe.js";
import type { ContextTool, Settings } from "./addon.ts";
import { type Opened, standing } from "./objects.ts";
import { cameWith } from "./rows.ts";
import { shortCount } from "./words.ts";

/** An open session, as a person changes it. */
export interface Changeable extends Opened {
  readonly layout: Settings["layout"];
  readonly tools: readonly ContextTool[];
}

/** `NAME [LINES] [/PATTERN/]`; the name may be `turns 3-5`. */
const wanted = /^((?:turns? \S+|.+?))(?:\s+(\d+(?:[\d\s,-]*\d)?))?(?:\s+\/(.+)\/)?$/s;

/** Activates an object, or some of its lines. */
export async function activated(current: Changeable, given: string): Promise<string> {
  const [, name = given, lines, pattern] = wanted.exec(given) ?? [];
  const result = await execute(current, "activate", { name, lines, pattern });
  const came = cameWith(name, result);
  const hasCame = current.layout === "pools" || result.content[0].text.includes("\n");
  return hasCame ? `\`${name}\` goes to the model with the next message: ${came}` : `\`${name}\`: ${came}`;
}

/**
 * Pins what stands in the window. In the layout `log` other content could only come as an answer to the model, which has to ask for it.
 */
export async function pinned(current: Changeable, name: string): Promise<string> {
  const { id, handle, isActive } = await standing(current, name);
  if (!isActive && current.layout === "log") {
    return `The text of \`${name}\` is not in the window, so that there is nothing to keep. Ask the model to pin it: it can bring it back.`;
  }
  const answered = await changed(current, "pin", handle ?? id);
  const { isPinned } = await standing(current, name);
  return isPinned ? `Pinned: \`${name}\` stays in the window until \`/context unpin ${name}\`.` : answered;
}

/** Does what the tool of that name does. */
export async function changed(current: Changeable, tool: string, name: string): Promise<string> {
  const { content } = await execute(current, tool, { name });
  return content[0].text;
}

/** A person's command belongs to no call of the model. */
async function execute({ session, tools }: Changeable, name: string, args: unknown) {
  const tool = tools.find((known) => known.name === name);
  if (tool === undefined) {
    throw new Error(`\`${name}\` is no tool`);
  }
  const { content, tokens } = await tool.execute(session, "", args);
  return { content, details: { tokens } };
}

/** Writes an archive of the session. `given`: `[FILE] [--redact]`. An existing file of that name is not replaced, but one of ours is. */
export async function exported({ session, store, cwd }: Opened, given: string): Promise<string> {
  const words = given.split(/\s+/).filter((word) => word !== "");
  const redact = words.includes("--redact");
  const [file] = words.filter((word) => word !== "--redact");
  const own = `palimpsest-${session.id.replace(/^session:/, "").replaceAll(/[^\w.-]/g, "-")}.jsonl`;
  const path = resolve(cwd, file ?? own);
  if (file !== undefined && existsSync(path)) {
    return `\`${path}\` is there already, and nothing was written. Name another file.`;
  }
  const { objects, versions, writtenBytes, redactions } = await store.maintenance.exportArchive({
    path,
    session: session.id,
    redact,
  });
  const secrets = Object.values(redactions).reduce((sum, count) => sum + count, 0);
  const left = redact
    ? `${plural(secrets, "secret")} left out`
    : "it holds what the session read, secrets too: `--redact` leaves out what looks like one";
  const what = `${plural(objects, "object")} in ${plural(versions, "version")}, ${shortCount(writtenBytes)} bytes`;
  return `Wrote \`${path}\`: ${what}; ${left}. \`palimpsest import\` reads it.`;
}
