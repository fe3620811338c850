// Whether this person trusts what a project brings, its memory and its settings: asks in the terminal, says elsewhere how to answer. Pi's own
// question is another one: Pi asks nothing where `.pi` holds only our files. What counts is decided by the addon, here nothing is.
import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { trustedText, untrustedText, whatIsBrought } from "../lib/trust.js";
import { loadAddon } from "./addon.ts";
import type { Failures } from "./failures.ts";

/** Name of Pi's option that trusts the project's memory and settings for this run. */
const trustFlag = "trust-memory";

/** The first is what Enter means to somebody who is typing already. */
const answers = { later: "Not now", yes: "Yes, use them", no: "No, and don't ask again" };

let isVouched = () => false;
/** Real paths of which this process said that nobody answered. */
const said = new Set<string>();

/** Registers the option. */
export function registerTrust(pi: ExtensionAPI): void {
  pi.registerFlag(trustFlag, {
    type: "boolean",
    default: false,
    description:
      "Use the project's memory and Palimpsest settings in this run, unasked (put it last: the next word is taken for its value)",
  });
  isVouched = () => pi.getFlag(trustFlag) === true;
}

/** What the addon is told of trust: no where Pi says no, yes where the option does, else the person's own answer counts. */
export function trusted(ctx: ExtensionContext): boolean | undefined {
  return ctx.isProjectTrusted() ? isVouched() || undefined : false;
}

/** Asks about a project that brings something, if nobody answered; in a terminal only. Never rejects. */
export async function askTrust(agentDir: string, ctx: ExtensionContext, failures: Failures): Promise<void> {
  try {
    if (trusted(ctx) !== undefined) {
      return;
    }
    const places = { agentDir, project: ctx.cwd };
    // Whoever opens the session says why there is none.
    const addon = await loadAddon().catch(() => undefined);
    if (addon === undefined) {
      return;
    }
    const { projectTrust, trustProject } = addon;
    const found = await projectTrust(places);
    if (found.counts || found.standing === "denied" || said.has(found.path)) {
      return;
    }
    said.add(found.path);
    if (ctx.mode !== "tui") {
      failures.notice(untrustedText(found, "`/memory trust`, or"));
      return;
    }
    const answer = await ctx.ui.select(whatIsBrought(found), Object.values(answers));
    if (answer === answers.yes || answer === answers.no) {
      failures.notice(trustedText(await trustProject(places, answer === answers.yes)));
    }
  } catch (error) {
    await failures.report(
      "memory and settings of the project are not used: whether you trust it cannot be read",
      error,
    );
  }
}
