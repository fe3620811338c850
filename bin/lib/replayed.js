// What a person reads of a replay around its table: by which terms it was played, what the sessions cost and would have cost, what was
// left out, and how far our estimate is from what the providers counted. Decides nothing but when it is worth a word.
import { plural } from "../../lib/describe.js";
import { dollars, shortCount } from "../../lib/figures.js";
import { name as spelt } from "../../lib/terminal.js";
import { percent } from "../../lib/words.js";

/**
 * @typedef {import("../../index.js").ReplayedFile} ReplayedFile
 * @typedef {import("../../index.js").ReplayReport} ReplayReport
 * @typedef {import("../../index.js").FoundSession} FoundSession
 */

/** How far our estimate may be from what was counted before it is said. */
const farApart = 0.15;
/** The share of a session's requests that must be counted for it to be what the session cost. */
const mostly = 0.9;
/** Sessions or files that are named. */
const named = 5;
const dayMs = 86_400_000;
const daysOfMonth = 30;

/**
 * By which terms the sessions were played, as a line.
 * @param {ReplayReport} report
 * @param {{ prices?: string, window?: number }} given what options said
 */
export function terms({ files, layout, prices, window }, given) {
  const tables = [...new Set(files.map(({ recorded }) => recorded.prices))];
  const models = [...new Set(files.map(({ recorded }) => recorded.model).filter((model) => model !== null))];
  const of =
    given.prices === undefined && models.length > 0 && models.length < 4 ? ` (${models.map(spelt).join(", ")})` : "";
  const table = tables.length > 1 ? `prices of ${listed(tables)}` : `${tables[0] ?? prices} prices`;
  const limit = given.window === undefined ? windows(files) : `a window of ${shortCount(window ?? 0)} tokens`;
  const fixed = files.filter(({ recorded }) => recorded.requests > 0).map(({ recorded }) => recorded.fixedTokens);
  const prompts = fixed.length > 0 ? `; system prompt and tools of ${range(fixed)} tokens` : "";
  return `${layout === "log" ? "" : `${layout}, `}${table}${of}, ${limit}${prompts}\n`;
}

/** Such as `a`, or `a, b and c`. @param {string[]} words */
function listed(words) {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words[words.length - 1]}`;
}

/** @param {ReplayedFile[]} files */
function windows(files) {
  const points = files.map(({ recorded }) => recorded.compactedAt).filter((point) => point !== null);
  if (points.length === 0) {
    return files.some(({ recorded }) => recorded.requests > 0) ? "the host never compacted" : "no window";
  }
  const all = files.length === 1 ? "" : ` in ${points.length} of ${files.length} sessions`;
  return `the host compacted at ${range(points)} tokens${all}`;
}

/** Such as `about 160k`, or `about 90k to 160k`. @param {number[]} counts */
function range(counts) {
  const sorted = counts.toSorted((one, other) => one - other);
  const [least, most] = [sorted[0], sorted[sorted.length - 1]].map(shortCount);
  return least === most ? `about ${least}` : `about ${least} to ${most}`;
}

/**
 * What sessions cost, what they would have cost, and how often something would have been missing. Costs are of input: in US dollars of
 * those whose model has a known price, else in uncached input tokens. With other prices or another window than they had, both costs are
 * our estimate.
 * @param {ReplayReport} report
 * @param {{ prices?: string, window?: number }} given what options said
 */
export function answer({ files, layout }, given) {
  const isAsRecorded = given.prices === undefined && given.window === undefined;
  const isCounted = (/** @type {ReplayedFile} */ file) => isAsRecorded && isMostlyCounted(file);
  const costOf = (/** @type {ReplayedFile} */ file) => {
    const { calls, bill, recorded } = file;
    return isCounted(file) ? (recorded.cost * calls) / recorded.requests : bill.plain * recorded.scale;
  };
  const played = files.filter(({ calls }) => calls > 0);
  const priced = played.filter(({ recorded }) => recorded.usdPerMillion !== null);
  const isMoney = priced.length > 0;
  const counted = isMoney ? priced : played;
  const sum = (/** @type {(file: ReplayedFile) => number} */ of) => counted.reduce((all, file) => all + of(file), 0);
  const unit = (/** @type {ReplayedFile} */ file) => (isMoney ? (file.recorded.usdPerMillion ?? 0) / 1e6 : 1);
  const cost = sum((file) => costOf(file) * unit(file));
  // By the layout, which is ours or a rule of other programs.
  const withLayout = layout === "plain" ? null : sum((file) => costOf(file) * file.bill.ratio * unit(file));
  const withPalimpsest = layout === "log" || layout === "pools" ? withLayout : null;
  const times = counted.flatMap(({ recorded: { from, to } }) => (from === null || to === null ? [] : [from, to]));
  const span =
    times.reduce((most, time) => Math.max(most, time), 0) -
    times.reduce((least, time) => Math.min(least, time), Infinity);
  const days = times.length === 0 ? null : Math.max(1, span / dayMs);
  const requests = played.reduce((all, { calls }) => all + calls, 0);
  const missing = played.reduce((all, { faults }) => all + faults.raw, 0);
  return {
    sessions: counted.length,
    unpriced: played.length - counted.length,
    recorded: counted.filter(isCounted).length,
    unit: /** @type {"dollars" | "tokens"} */ (isMoney ? "dollars" : "tokens"),
    cost,
    layout,
    withLayout,
    withPalimpsest,
    days,
    savedAMonth: days === null || withPalimpsest === null ? null : ((cost - withPalimpsest) * daysOfMonth) / days,
    requests,
    missing,
  };
}

/** Whether the provider counted what a session cost. @param {ReplayedFile} file */
function isMostlyCounted({ calls, recorded }) {
  return recorded.requests >= mostly * calls && recorded.cost > 0;
}

/** The answer in words, lines. @param {ReturnType<typeof answer>} figures */
export function answerText(figures) {
  const { sessions, unpriced, recorded, unit, cost, layout, withLayout, days, savedAMonth, requests, missing } =
    figures;
  if (requests === 0) {
    return "there is no request in these sessions\n";
  }
  const sum = (/** @type {number} */ amount) =>
    unit === "dollars" ? dollars(amount) : `as much as ${shortCount(amount)} uncached input tokens`;
  const some = `as recorded for ${recorded} of them, and as we estimate for the others`;
  const known = recorded === sessions ? "as recorded" : recorded === 0 ? "as we estimate" : some;
  const rest =
    unpriced === 0 ? "" : `; ${unpriced} more ${unpriced === 1 ? "has a model" : "have models"} without a known price`;
  const first = `input of ${plural(sessions, "session")} cost ${sum(cost)} ${known}${rest}\n`;
  if (withLayout === null) {
    return first;
  }
  const by = figures.withPalimpsest === null ? `with \`${layout}\` and without` : "with";
  const saved = cost - withLayout;
  const less = `${percent(Math.abs(saved), cost)} ${saved < 0 ? "more" : "less"}`;
  const month =
    savedAMonth === null || days === null
      ? ""
      : `; ${sum(Math.abs(savedAMonth))} ${saved < 0 ? "more" : "less"} a month at this pace (${plural(Math.ceil(days), "day")})`;
  return `${first}${by} Palimpsest it would have cost ${sum(withLayout)}, ${less}${month}\nsomething that was needed would have been missing in ${missing} of ${plural(requests, "request")} (${((100 * missing) / requests).toFixed(1)} %)\n`;
}

/** Requests of a session that its file holds and no reader read, for another reason than one that is said. @param {ReplayedFile} file */
export function lost({ held, left, interrupted, read }) {
  return Math.max(0, held.requests - left.requests - interrupted.requests - read.requests);
}

/**
 * What was left out, and of how much, lines.
 * @param {ReplayedFile[]} files
 * @param {FoundSession[]} passedOver
 */
export function leftOut(files, passedOver) {
  const total = (/** @type {(file: ReplayedFile) => number} */ of) => files.reduce((sum, file) => sum + of(file), 0);
  const [requests, calls] = [total(({ held }) => held.requests), total(({ held }) => held.calls)];
  const [read, readCalls] = [total(({ read }) => read.requests), total(({ read }) => read.calls)];
  const reasons = [
    [total(({ left }) => left.requests), "on branches that were left"],
    [total(({ interrupted }) => interrupted.requests), "that failed, or whose calls have no result"],
    [total(lost), "that could not be read"],
  ];
  const why = reasons.filter(([count]) => Number(count) > 0).map(([count, reason]) => `${count} ${reason}`);
  const [gone, goneCalls] = [Math.max(0, requests - read), Math.max(0, calls - readCalls)];
  const all = `${plural(requests, "request")} and ${plural(calls, "call")}`;
  const unread = total(({ unreadLines }) => unreadLines);
  const lines = [
    gone + goneCalls === 0
      ? unread === 0
        ? `left out: no request; the files hold ${all}, and all were read`
        : `left out: ${plural(unread, "line")} that cannot be read, and may have held requests; all else was read, ${all}`
      : `left out: ${plural(gone, "request")} and ${plural(goneCalls, "call")} of the ${all} that ${unread === 0 ? "the files hold" : "could be read of the files, which may have held more"}${why.length === 0 ? "" : `; ${why.join(", ")}`}`,
  ];
  const notes = summed(files);
  if (notes.length > 0) {
    lines.push(`besides: ${notes.join("; ")}`);
  }
  const copied = total((file) => file.copied);
  if (copied > 0) {
    lines.push(`counted once: ${plural(copied, "request")} that two of the sessions have`);
  }
  if (passedOver.length > 0) {
    const [{ path, problem }] = passedOver;
    lines.push(
      `passed over: ${plural(passedOver.length, "file")} of the folders that ${passedOver.length === 1 ? "is not a session" : "are not sessions"}, such as \`${spelt(path)}\`, which ${problem}`,
    );
  }
  return lines.map((line) => `${line}\n`).join("");
}

/** The notes of all files, each kind once with its count. @param {ReplayedFile[]} files */
function summed(files) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const note of files.flatMap(({ notes }) => notes)) {
    const [, what = note, count = "1"] = /^(.*): (\d+)(?: \(.*\))?$/s.exec(note) ?? [];
    counts.set(what, (counts.get(what) ?? 0) + Number(count));
  }
  return [...counts].map(([what, count]) => `${what}: ${count}`);
}

/** Our estimate by what was counted; null if nothing was. @param {Pick<ReplayedFile, "recorded">} file */
export function estimated({ recorded: { tokens, plainTokens } }) {
  return tokens > 0 ? plainTokens / tokens : null;
}

/** Our estimate beside what the providers counted, in all and of the sessions that are far from it, lines. @param {ReplayedFile[]} files */
export function compared(files) {
  const sum = (/** @type {"tokens" | "plainTokens" | "requests" | "output" | "hiddenTokens"} */ key) =>
    files.reduce((all, { recorded }) => all + recorded[key], 0);
  const all = { tokens: sum("tokens"), plainTokens: sum("plainTokens") };
  if (all.tokens === 0) {
    return "no session records what was counted, so all sizes are our estimate\n";
  }
  const share = all.plainTokens / all.tokens;
  const isFar = (/** @type {number | null} */ share) => share !== null && Math.abs(share - 1) > farApart;
  const far = files.filter((file) => isFar(estimated(file)));
  const first = `recorded: ${shortCount(all.tokens)} input tokens in ${plural(sum("requests"), "request")}; we estimate ${shortCount(all.plainTokens)} for the host alone, ${apart(share)}${isFar(share) ? ", which is more than 15 % apart" : ""}\n${hidden(sum("hiddenTokens"), sum("output"))}`;
  if (far.length === 0) {
    return first;
  }
  const shown = far.slice(0, named).map((file) => `${spelt(file.name)} (${apart(estimated(file) ?? 1)})`);
  const more = far.length > named ? ` and ${far.length - named} more` : "";
  return `${first}more than 15 % apart: ${far.length} of ${plural(files.length, "session")}: ${shown.join(", ")}${more}\n`;
}

/** @param {number} tokens @param {number} output */
function hidden(tokens, output) {
  return tokens === 0
    ? ""
    : `of ${shortCount(output)} output tokens, ${shortCount(tokens)} are in no text of the files, such as thinking, and went out again; they are counted on both sides\n`;
}

/** Such as `12 % less`. @param {number} share */
function apart(share) {
  return `${percent(Math.abs(share - 1), 1)} ${share < 1 ? "less" : "more"}`;
}
