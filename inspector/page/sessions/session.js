// A session over time: its figures, charts over its calls, and a table of the same.

import { whose } from "../../../lib/describe.js";
import { faultDeeds } from "../../../lib/faults.js";
import { reportedCalls, shortCount } from "../../../lib/figures.js";
import { KINDS } from "../charts/kinds.js";
import { Panel } from "../charts/panel.js";
import { Course } from "../charts/series.js";
import { element, fill } from "../elements/dom.js";
import { keptParts } from "../elements/kept-parts.js";
import { virtualList } from "../elements/list.js";
import { clock, cost, counted, savedText, whole } from "../elements/numbers.js";
import { oneLine } from "../elements/text.js";
import { hashOf } from "../routes.js";

/** @typedef {import("../../protocol.js").SessionView} Session */

const HEADS = ["call", "when", "tokens", "plain’s tokens", "cost", "saved so far", "what happened"];

/** Characters of what happened that a row shows; the rest stands in its title, and above, where the charts stand on the call. */
const lineCharacters = 120;

/**
 * @param {import("../main.js").Context} context
 * @param {import("../main.js").Route} route
 * @returns {import("../main.js").View}
 */
export function sessionView(context, route) {
  const view = new SessionPage(context, /** @type {string} */ (route.id));
  const place = element("div", { class: "view session" }, element("h1", { tabindex: "-1" }, "Session"));
  context.signal.addEventListener("abort", () => view.end());
  const load = () =>
    fill(
      place,
      context.signal,
      () => context.source.session(view.id),
      (session) => view.show(session),
    );
  return { node: place, ready: load(), refresh: () => void view.refresh(load) };
}

class SessionPage {
  /**
   * @param {import("../main.js").Context} context
   * @param {string} id
   */
  constructor(context, id) {
    this.context = context;
    this.id = id;
    /** @type {Panel | null} */
    this.panel = null;
    /** @type {Course | null} */
    this.course = null;
    this.head = element("div", { class: "view" });
    this.headParts = keptParts(this.head);
    context.kept.walk ??= {};
    context.kept.list ??= {};
    this.list = virtualList({
      label: "Calls",
      heads: HEADS,
      kind: "calls-list",
      row: (at) => this.row(at),
      place: context.kept.list,
    });
  }

  /**
   * Looks at the session anew; what is on the page stays until then.
   * @param {() => Promise<unknown>} load
   */
  async refresh(load) {
    if (this.panel === null) {
      await load();
      return;
    }
    const session = await this.context.source.session(this.id).catch(() => null);
    if (session !== null && !this.context.signal.aborted) {
      this.show(session);
    }
  }

  /** @param {Session} session */
  show(session) {
    const course = new Course(session);
    this.course = course;
    this.context.title(session.info.title ?? "Session");
    this.headParts(headOf(session, this.context.source.live));
    if (course.calls.length === 0) {
      return [this.head, element("p", { class: "empty" }, "This session has made no call yet.")];
    }
    if (this.panel === null) {
      this.panel = new Panel(this.context.kept.walk, this.data(course));
    } else {
      this.panel.show(this.data(course));
    }
    queueMicrotask(() => this.list.show(course.calls.length));
    return [this.head, this.panel.node, element("h2", {}, "Calls"), this.list.node];
  }

  /**
   * @param {Course} course
   * @returns {import("../charts/panel.js").PanelData}
   */
  data(course) {
    return {
      numbers: course.numbers,
      windows: course.windowSeries(),
      bills: course.billSeries(),
      billName: course.isDollars ? "Bill so far, in US dollars" : "Bill so far, in uncached input tokens",
      billWords: (value) => (course.isDollars ? cost(value, true) : shortCount(value)),
      lanes: course.lanes(),
      lines: course.epochs(),
      figures: (at) => this.figures(course, at),
      events: (at) => course.events[at].map((mark) => course.words(mark)),
      open: (at) => {
        location.hash = this.callHash(course.numbers[at]);
      },
    };
  }

  /**
   * @param {Course} course
   * @param {number} at
   * @returns {[string, import("../elements/dom.js").Child][]}
   */
  figures(course, at) {
    const { number, time, model, failedOpen } = course.calls[at];
    const kinds = course.kinds[at];
    const call = element("a", { href: this.callHash(number) }, `${number}`);
    const window = course.window(at);
    const bill = course.bills[at];
    if (kinds === null || window === null) {
      return [
        ["call", call],
        ["not known", failedOpen ?? ""],
      ];
    }
    const present = KINDS.filter(([kind]) => kinds[kind] > 0);
    return [
      ["call", call],
      ["window", whole(window.ours)],
      ["plain", window.extra ? `${whole(window.plain)}, if it made such a call` : whole(window.plain)],
      ...present.map(([kind, name]) => /** @type {[string, string]} */ ([name, whole(kinds[kind])])),
      ["cost", course.cost(bill.ours)],
      ["plain’s cost", course.cost(bill.plain)],
      ["saved so far", course.cost(bill.sum.plain - bill.sum.ours)],
      ["when", clock(time)],
      ["model", model ?? "–"],
    ];
  }

  /** @param {number} call */
  callHash(call) {
    return hashOf({ view: "call", id: this.id, call });
  }

  /** @param {number} at */
  row(at) {
    const course = /** @type {Course} */ (this.course);
    const { number, time } = course.calls[at];
    const window = course.window(at);
    const bill = course.bills[at];
    const happened = course.events[at].map((mark) => oneLine(course.words(mark), lineCharacters)).join(" · ");
    const all = course.events[at].map((mark) => course.words(mark)).join("\n");
    const cells = [
      element("a", { href: this.callHash(number) }, `${number}`),
      clock(time),
      window === null ? "–" : shortCount(window.ours),
      window === null ? "–" : shortCount(window.plain),
      window === null ? "–" : course.cost(bill.ours),
      course.cost(bill.sum.plain - bill.sum.ours),
      element("span", { title: all }, happened),
    ];
    return element("div", {}, ...cells.map((cell) => element("div", { class: "cell", role: "cell" }, cell)));
  }

  end() {
    this.panel?.end();
  }
}

/**
 * Where a session was: the host, the folder and, if it was written on another machine, who and which.
 * @param {import("../../../index.js").SessionInfo} info
 */
export function placeOf(info) {
  return [info.harness, info.cwd, whose(info)].filter(Boolean).join(" · ");
}

/**
 * Title, place and figures.
 * @param {Session} session
 * @param {boolean} isLive
 * @returns {import("../elements/kept-parts.js").Part[]}
 */
function headOf({ info, ledger, timeline }, isLive) {
  const { id, title, harness, started, updated } = info;
  const from = `, those before it ${info.origin === "parted" ? "parted" : "was forked"} from another session included`;
  const calls = `${counted(timeline.calls.length, "call")}${info.origin === null ? "" : from}`;
  const name = title === null ? "Untitled session" : oneLine(title, 200);
  const place = `${placeOf(info)} · ${clock(started)} to ${clock(updated)} · ${calls}`;
  const newest = timeline.calls.at(-1)?.number;
  const objects = timeline.objects.length;
  return [
    { name: "name", of: name, build: () => element("h1", { tabindex: "-1" }, name) },
    { name: "place", of: place, build: () => element("p", { class: "faint place" }, place) },
    { name: "figures", of: info.txId, build: () => tiles(ledger, harness) },
    { name: "ways", of: [newest, objects], build: () => waysOn(id, { newest, objects, isLive }) },
  ];
}

/**
 * Where one goes on from here.
 * @param {string} id
 * @param {{ newest: number | undefined, objects: number, isLive: boolean }} session `newest`: number of its newest call
 */
function waysOn(id, { newest, objects, isLive }) {
  const way = (/** @type {string} */ name, /** @type {Parameters<typeof hashOf>[0]} */ to) =>
    element("a", { class: "button", href: hashOf(to) }, name);
  return element(
    "nav",
    { class: "tools", "aria-label": "Of this session" },
    newest === undefined ? null : way("Newest call", { view: "call", id, call: newest }),
    way(counted(objects, "object"), { view: "objects", id }),
    way("Memory", { view: "memory", id }),
    isLive ? way("What if …", { view: "what-if", id }) : null,
  );
}

/**
 * What it cost, what it would have cost, what was missing; then the rest.
 * @param {import("../../../index.js").Ledger} ledger
 * @param {string} harness
 */
function tiles(ledger, harness) {
  const { bill, plainBill, dollars, perCall, faults, epochs, failedCalls, hostCalls } = ledger;
  const isDollars = dollars !== null;
  const [ours, plain] = dollars === null ? [bill, plainBill] : [dollars.bill, dollars.plainBill];
  const newest = perCall.at(-1);
  const alone = isDollars ? hostCalls.dollars : hostCalls.cost;
  const waiting = failedCalls - hostCalls.failed;
  const figures = [
    ["input cost", cost(ours, isDollars), said([savedText(ours, plain), ...ofWhichCalls(ledger)])],
    [
      `plain ${harness} would have cost`,
      cost(plain, isDollars),
      plain > ours ? `saved ${cost(plain - ours, isDollars)}` : "",
    ],
    [
      "the model missed something",
      faults.count === 0 ? "nothing" : counted(faults.count, "time"),
      faults.count === 0 ? "" : `it ${faultDeeds(faults)}`,
    ],
    [
      "newest request",
      newest === undefined ? "–" : `${shortCount(newest.ours.sent)} tokens`,
      newest === undefined ? "" : `plain ${shortCount(newest.plain.sent)}`,
    ],
    [
      "epochs",
      whole(epochs.length),
      epochs.length === 0 ? "" : `${shortCount(epochs.reduce((sum, { freed }) => sum + freed, 0))} tokens freed`,
    ],
    [
      "sent by the host alone",
      counted(hostCalls.calls, "call"),
      said([
        alone === 0 ? "" : `${cost(alone, isDollars)} of the input cost`,
        hostCalls.failed === 0 ? "" : `${whole(hostCalls.failed)} because something failed`,
        waiting === 0 ? "" : `${whole(waiting)} more that failed, not in it yet`,
      ]),
    ],
  ];
  return element(
    "dl",
    { class: "figures" },
    ...figures.map(([name, figure, more]) =>
      element(
        "div",
        {},
        element("dt", {}, name),
        element("dd", {}, element("strong", {}, figure), element("span", { class: "faint" }, more)),
      ),
    ),
  );
}

/** @param {string[]} parts those that say nothing are empty */
function said(parts) {
  return parts.filter((part) => part !== "").join("; ");
}

/**
 * Which calls a sum of dollars covers, and which what the provider reported: not always the same ones.
 * @param {import("../../../index.js").Ledger} ledger
 */
function ofWhichCalls(ledger) {
  const { calls, dollars } = ledger;
  if (dollars === null) {
    return [];
  }
  const { reported, estimated } = dollars;
  const reports = reportedCalls(ledger);
  return [
    dollars.calls === calls ? "" : `not in it: ${counted(calls - dollars.calls, "call")}, free or of unknown price`,
    reports === 0
      ? ""
      : `the provider reports ${cost(reported, true)} for ${counted(reports, "call")}, estimated before at ${cost(estimated, true)}`,
  ];
}
