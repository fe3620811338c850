// What a person reads of us in one line: the status line and notices. Decides nothing.

import { shortCount } from "../lib/figures.js";
import { pinWords, splitWords, usageIgnored } from "../lib/notices.js";
import { line, name } from "../lib/terminal.js";
import { cut, percent } from "../lib/words.js";
import type { SessionEvent, SessionStatus } from "./addon.ts";

/** Below this many tokens a request is so small that figures about it mean nothing. */
const smallRequestTokens = 20_000;

/** Below a cent there is nothing to tell. */
const leastDollars = 0.005;

/** Characters of a reason: the line is shared with other extensions. `/context` has all of it. */
const maxReason = 72;

/** What is not as it should be. */
export interface Trouble {
  /** Whether Pi rewrote its list since the last call: then that one's size says nothing. */
  rewritten?: boolean;
  /** Why the last call went out with Pi's own messages. */
  failed?: string;
  /** Where the store is, if not where the settings say. */
  aside?: string;
  /** What waits to be shared, or why it is not. */
  sharing?: string;
}

/**
 * Such as `palimpsest $0.27 saved (20 %) · 34.1k of 200k`; while nothing worth telling is saved, `palimpsest on`. Where calls go out with Pi's own
 * messages it says so, and no figures. Ends with what else is wrong.
 *
 * `contextWindow`: of the model, in tokens; 0 or undefined if it is not known.
 */
export function statusLine(
  status: SessionStatus,
  contextWindow: number | undefined,
  { failed, aside, sharing, rewritten = false }: Trouble = {},
): string {
  const notes = [
    aside,
    status.silentPlaces.length > 0 ? `no answer from ${status.silentPlaces.map(name).join(", ")}` : undefined,
    sharing,
  ];
  const first =
    failed === undefined
      ? `palimpsest ${figures(status, contextWindow, rewritten)}`
      : `palimpsest failing: ${shortReason(failed)}`;
  // Paths and keys of settings hold what they like, and Pi shows the line as it is.
  return line([first, ...notes.filter((note) => note !== undefined)].join(" · "));
}

/** Such as `palimpsest off: palimpsest.json: …`. */
export function offLine(why: string): string {
  return line(`palimpsest off: ${shortReason(why).replace(/^settings in `([^`]+)`: /, "$1: ")}`);
}

/** Such as `palimpsest checking files 1.2k of 5.0k`: while a resumed session checks the files that it knows. */
export function checkingLine(files: number, of: number): string {
  return `palimpsest checking files ${shortCount(files)} of ${shortCount(of)}`;
}

function figures(status: SessionStatus, contextWindow: number | undefined, rewritten: boolean): string {
  const { requestTokens, plainRequestTokens, billDollars, plainBillDollars } = status;
  const saved = Math.abs((plainBillDollars ?? 0) - (billDollars ?? 0));
  const isSmall = Math.max(requestTokens, plainRequestTokens) < smallRequestTokens;
  // A large session that was compacted has saved what it has.
  if (isSmall && saved < leastDollars) {
    return "on";
  }
  const of = contextWindow ? ` of ${shortCount(contextWindow)}` : " tokens";
  return `${savedWords(status)}${rewritten ? "" : ` · ${shortCount(requestTokens)}${of}`}`;
}

/** What the session has saved so far, in money where prices are known. */
function savedWords({ billDollars, plainBillDollars, billRatio }: SessionStatus): string {
  if (billDollars !== null && plainBillDollars !== null) {
    const saved = plainBillDollars - billDollars;
    if (Math.abs(saved) < leastDollars) {
      return "on";
    }
    const share = percent(Math.abs(saved), plainBillDollars);
    return saved > 0 ? `${cents(saved)} saved (${share})` : `${cents(-saved)} more than plain Pi (${share})`;
  }
  const share = Math.round(100 * (1 - (billRatio ?? 1)));
  if (share === 0) {
    return "on";
  }
  return share > 0 ? `${share} % saved` : `${-share} % more than plain Pi`;
}

function cents(sum: number): string {
  return `$${sum.toFixed(2)}`;
}

/** The first sentence of an error's description: no code, no hint, of paths the last part. */
function shortReason(why: string): string {
  const sentence = why.split("; hint: ")[0].replace(/ \([A-Z_]+\)$/, "");
  return cut(sentence.replaceAll(/(?<=`)(?:[A-Za-z]:)?[/\\](?:[^/\\`]+[/\\])*(?=[^/\\`])/g, ""), maxReason);
}

/** The notice about an event; undefined for those that a person need not know. */
export function noticeOf(event: SessionEvent): string | undefined {
  switch (event.type) {
    case "list_changes": {
      const by = event.by === null ? "something" : `the extension of \`${name(event.by)}\``;
      return `${by} changes the list of messages at most calls, now from message ${event.at + 1} on: little can be cached or saved`;
    }
    case "message_volatile":
      return `message ${event.at + 1} changes on every call; it passes through, and caching ends before it`;
    case "files_polled":
      return event.reason === "watch_limit"
        ? `the system allows no more watches; files of ${event.folders} folders are looked at every 2 s`
        : undefined;
    case "window_exceeded":
      return `the request has about ${shortCount(event.tokens)} tokens, and the model's window ${shortCount(event.window)}: all that may leave has left`;
    case "pin_left_out":
    case "pin_ended":
      return pinWords(event);
    case "session_split":
      return splitWords(event, "Pi");
    case "tracking_failed":
      return `files cannot be watched (${line(event.problem)}), but are still looked at before each call`;
    case "usage_ignored":
      return usageIgnored[event.why];
    case "disk_silent":
      return `\`${name(event.path)}\` does not answer; what is known of its files stands, and they are looked at again later`;
    case "disk_answers":
      return `\`${name(event.path)}\` answers again`;
    default:
      return undefined;
  }
}
