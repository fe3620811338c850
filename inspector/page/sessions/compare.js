// Two sessions beside each other: their figures, and their windows and bills over their calls.

import { shortCount } from "../../../lib/figures.js";
import { besideData, besideTable, COLOURS } from "../charts/beside.js";
import { Panel } from "../charts/panel.js";
import { Course } from "../charts/series.js";
import { element, fill } from "../elements/dom.js";
import { keptParts } from "../elements/kept-parts.js";
import { cost, percent, savedShare, whole } from "../elements/numbers.js";
import { oneLine } from "../elements/text.js";
import { hashOf } from "../routes.js";

/** @typedef {import("../../protocol.js").SessionView} Session */
/** @typedef {import("../charts/shapes.js").Series} Series */
/** Two sessions: `A` and `B`. @typedef {{ name: string, session: Session, course: Course }[]} Both */

/**
 * @param {import("../main.js").Context} context
 * @param {import("../main.js").Route} route
 * @returns {import("../main.js").View}
 */
export function compareView(context, route) {
  context.title("Two sessions");
  const ids = [route.id, route.other].map(String);
  const place = element("div", { class: "view" });
  const content = element("div", { class: "view" });
  const show = keptParts(content);
  /** @type {Panel | null} */
  let panel = null;
  context.signal.addEventListener("abort", () => panel?.end());
  const load = (keeps = false) =>
    fill(
      place,
      context.signal,
      () => Promise.all(ids.map((id) => context.source.session(id))),
      (sessions) => {
        const both = sessions.map((session, at) => ({ name: "AB"[at], session, course: new Course(session) }));
        context.kept.walk ??= {};
        if (panel === null) {
          panel = new Panel(context.kept.walk, panelData(both));
        } else {
          panel.show(panelData(both));
        }
        const { node } = panel;
        show([
          { name: "figures", of: sessions.map(({ info }) => info), build: () => figuresTable(both) },
          { name: "charts", of: null, build: () => node },
        ]);
        return content;
      },
      { keeps },
    );
  const head = element("h1", { tabindex: "-1" }, "Two sessions");
  return {
    node: element("div", { class: "view compare" }, head, place),
    ready: load(),
    refresh: () => void load(true),
  };
}

/** What is compared. @type {[string, (one: Both[number], isDollars: boolean) => string][]} */
const ROWS = [
  ["host", ({ session }) => session.info.harness],
  ["folder", ({ session }) => session.info.cwd],
  ["calls", ({ course }) => whole(course.calls.length)],
  ["bill", ({ session }, isDollars) => cost(billOf(session, isDollars).bill, isDollars)],
  ["plain’s bill", ({ session }, isDollars) => cost(billOf(session, isDollars).plainBill, isDollars)],
  [
    "saved",
    ({ session }, isDollars) => {
      const { bill, plainBill } = billOf(session, isDollars);
      return `${cost(plainBill - bill, isDollars)} · ${percent(savedShare(bill, plainBill))}`;
    },
  ],
  ["longest request", ({ course }) => `${shortCount(longest(course, "ours"))} tokens`],
  ["longest of plain", ({ course }) => `${shortCount(longest(course, "plain"))} tokens`],
  ["epochs", ({ session }) => whole(session.ledger.epochs.length)],
  ["faults", ({ session }) => whole(session.ledger.faults.count)],
  ["objects", ({ session }) => whole(session.timeline.objects.length)],
];

/** @param {Both} both */
function figuresTable(both) {
  const isDollars = both.every(({ course }) => course.isDollars);
  const heads = both.map(({ name, session: { info } }) =>
    element(
      "span",
      {},
      `${name}: `,
      element("a", { href: hashOf({ view: "session", id: info.id }) }, oneLine(info.title ?? "untitled session", 80)),
    ),
  );
  return besideTable(
    heads,
    ROWS.map(([name, text]) => [name, ...both.map((one) => text(one, isDollars))]),
  );
}

/**
 * @param {Session} session
 * @param {boolean} isDollars
 */
function billOf({ ledger }, isDollars) {
  return isDollars && ledger.dollars !== null ? ledger.dollars : ledger;
}

/**
 * @param {Course} course
 * @param {"ours" | "plain"} side
 */
function longest(course, side) {
  return course.calls.reduce((most, _, at) => Math.max(most, course.window(at)?.[side] ?? 0), 0);
}

/**
 * @param {Both} both
 * @returns {import("../charts/panel.js").PanelData}
 */
function panelData(both) {
  const length = Math.max(...both.map(({ course }) => course.calls.length));
  /** @param {(course: Course, at: number) => number | null} value @param {string} name @param {Series["draw"]} draw */
  const lines = (value, name, draw) =>
    both.map(({ name: letter, course }, of) => ({
      name: `${letter}${name}`,
      colour: COLOURS[of],
      draw,
      values: Array.from({ length }, (_, at) => (at < course.calls.length ? value(course, at) : null)),
    }));
  return besideData({
    numbers: Array.from({ length }, (_, at) => at + 1),
    windows: [
      ...lines((course, at) => course.window(at)?.ours ?? null, "", "line"),
      ...lines((course, at) => course.window(at)?.plain ?? null, ", plain", "dashes"),
    ],
    bills: [
      ...lines((course, at) => course.bills[at].sum.ours, "", "line"),
      ...lines((course, at) => course.bills[at].sum.plain, ", plain", "dashes"),
    ],
    isDollars: both.every(({ course }) => course.isDollars),
    lanes: [],
    events: (at) =>
      both.flatMap(({ name, course }) => (course.events[at] ?? []).map((mark) => `${name}: ${course.words(mark)}`)),
  });
}
