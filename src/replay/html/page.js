// The page: what the report says in sum, a table of the sessions, and the charts of the chosen one.

const { CHART, areaPath, chart, drawn, element, frame, legend, linePath, percent, scales, short, whole } =
  globalThis.drawing;
const report = JSON.parse(document.getElementById("report").textContent);

/** Kinds of content as they are stacked from below. */
const KINDS = [
  ["fixed", "system prompt and tools"],
  ["user", "people and host"],
  ["assistant", "the model"],
  ["output", "tool outputs"],
  ["reference", "reference lines and folds"],
];

/** Our faults: what the needed line was. */
const FAULTS = { strict: "line of an output", ownWords: "the model's own words", raw: "also found elsewhere" };

/** Columns of the table: heading, the text of a cell, and what it is sorted by. */
const COLUMNS = [
  { head: "session", text: (file) => file.name, key: (file) => file.name },
  { head: "calls", text: (file) => whole(file.calls), key: (file) => file.calls },
  {
    head: "bill, of plain's",
    text: (file) => percent(file.bill?.ratio, 1),
    key: (file) => file.bill?.ratio,
    bar: true,
  },
  pair("tokens", "tokens", short),
  pair("peak window", "peakWindow", short),
  pair("cached", "cachedShare", percent),
  { head: "epochs", text: (file) => whole(file.epochCount), key: (file) => file.epochCount },
  { head: "faults strict / own / all", text: (file) => faultText(file.faults), key: (file) => file.faults?.raw },
  { head: "plain's", text: (file) => faultText(file.plainFaults), key: (file) => file.plainFaults?.raw },
];

/** A column of ours beside plain's. */
function pair(head, figure, text) {
  return {
    head: `${head}, ours / plain`,
    text: (file) => `${text(file[figure]?.ours ?? 0)} / ${text(file[figure]?.plain ?? 0)}`,
    key: (file) => file[figure]?.ours ?? 0,
  };
}

function faultText(faults) {
  return `${faults?.strict ?? 0} / ${faults?.ownWords ?? 0} / ${faults?.raw ?? 0}`;
}

/** How the figures were taken. */
function showTerms() {
  const window = report.window ? `a window of ${short(report.window)} tokens` : "no limit to the window";
  const parts = [`layout ${report.layout ?? "log"}`, `prices ${report.prices ?? "unknown"}`, window];
  document.getElementById("terms").textContent =
    `${parts.join(", ")}. Plain is the same session as the host alone would have sent it. Costs are in prices of an input token, faults included.`;
}

/** The figures over all sessions. */
function showSum() {
  const sum = report.sum ?? {};
  const ofPlain = (figure) => percent((sum[figure]?.ours ?? 0) / (sum[figure]?.plain ?? 0));
  const ofCalls = (count) => percent((count ?? 0) / (sum.calls ?? 0), 2);
  const tiles = [
    ["bill, of plain's", sum.calls ? percent(sum.bill?.ratio) : "none"],
    ["median / worst session", sum.calls ? `${percent(sum.median)} / ${percent(sum.worst)}` : "none"],
    ["input tokens, of plain's", ofPlain("tokens")],
    ["peak window, ours / plain", `${short(sum.peakWindow?.ours ?? 0)} / ${short(sum.peakWindow?.plain ?? 0)}`],
    ["calls that missed a line of an output", ofCalls(sum.faults?.strict)],
    ["calls that missed own words", ofCalls(sum.faults?.ownWords)],
  ];
  const counted = `${whole(sum.files ?? report.files.length)} sessions, ${whole(sum.calls)} calls, ${whole(sum.epochs)} epochs`;
  const left = sum.leftOut ? `. Of few calls, and in the table only: ${whole(sum.leftOut)}` : "";
  document
    .getElementById("sum")
    .append(
      element(
        "div",
        { class: "tiles" },
        ...tiles.map(([name, figure]) =>
          element("div", { class: "tile" }, element("span", {}, name), element("strong", {}, figure)),
        ),
      ),
      element("p", { class: "hint" }, `${counted}${left}.`),
    );
}

/** The table of sessions; a click on a heading sorts, one on a name shows the session. */
function showFiles() {
  const body = element("tbody", {});
  let order = { column: undefined, down: false };
  const rows = report.files.map((file) => ({ file, row: rowOf(file) }));
  const heads = COLUMNS.map((column) => {
    const sort = () => {
      order = { column, down: order.column === column ? !order.down : column !== COLUMNS[0] };
      rows.sort((a, b) => compare(column.key(a.file), column.key(b.file)) * (order.down ? -1 : 1));
      heads.forEach((head, at) => {
        const isIt = COLUMNS[at] === column;
        head.setAttribute("aria-sort", isIt ? (order.down ? "descending" : "ascending") : "none");
      });
      body.append(...rows.map(({ row }) => row));
    };
    return element("th", { scope: "col" }, element("button", { type: "button", onclick: sort }, column.head));
  });
  body.append(...rows.map(({ row }) => row));
  const table = element("table", {}, element("thead", {}, element("tr", {}, ...heads)), body);
  document
    .getElementById("files")
    .append(element("h2", {}, "Sessions"), element("div", { class: "scroll", tabindex: "0" }, table));
}

function compare(a, b) {
  return typeof a === "string" ? a.localeCompare(b) : (a ?? 0) - (b ?? 0);
}

function rowOf(file) {
  const row = element(
    "tr",
    {},
    ...COLUMNS.map((column, at) => {
      const text = column.text(file);
      if (at === 0) {
        const show = () => showSession(file, row);
        const name = element("button", { type: "button", onclick: show }, text);
        return element("td", { class: "name", title: text }, name);
      }
      return element("td", {}, text, column.bar ? barOf(column.key(file)) : undefined);
    }),
  );
  return row;
}

function barOf(share) {
  const part = element("i", { class: share > 1 ? "over" : "" });
  part.style.width = `${Math.min(Math.max(share || 0, 0), 1) * 100}%`;
  return element("span", { class: "bar", "aria-hidden": "true" }, part);
}

/** Shows a session below the table. */
function showSession(file, row) {
  for (const other of document.querySelectorAll("tr.chosen")) {
    other.classList.remove("chosen");
  }
  row.classList.add("chosen");
  const shown = file.points.call.length;
  const thinned =
    shown < file.calls ? ` Of ${whole(file.calls)} calls ${whole(shown)} are drawn, ours at its peaks.` : "";
  document
    .getElementById("session")
    .replaceChildren(
      element("h2", {}, file.name),
      element("p", { class: "hint" }, `Point at a chart, or focus it and use the arrow keys.${thinned}`),
      ...(file.notes ?? []).map((note) => element("p", { class: "hint" }, `Of the file: ${note}.`)),
      element("h3", {}, "Window, by kind of content"),
      ...windowChart(file),
      element("h3", {}, "Bill so far"),
      ...billChart(file),
      ...epochTable(file),
    );
}

/** The window over the calls, ours stacked, plain's as a line; epochs and faults marked. */
function windowChart(file) {
  const { points, calls } = file;
  const height = 380;
  const stack = [points.call.map(() => 0)];
  for (const [kind] of KINDS) {
    stack.push(points[kind].map((value, at) => value + stack[stack.length - 1][at]));
  }
  const ours = stack[KINDS.length];
  const most = ours.concat(points.plain).reduce((a, b) => Math.max(a, b), 0);
  const scale = scales(calls, most, height);
  const svg = frame(`Window over the calls of ${file.name}`, "tokens", calls, scale, height);
  KINDS.forEach(([kind], at) => {
    const d = areaPath(points.call, calls, stack[at], stack[at + 1], scale);
    svg.append(drawn("path", { d, style: `fill:var(--${kind})` }));
  });
  // Many lines close together would hide what they mark.
  const strength = Math.min(1, 60 / file.epochs.length);
  for (const { call } of file.epochs) {
    const x = scale.x(call);
    svg.append(
      drawn("line", { class: "epoch", opacity: strength, x1: x, x2: x, y1: CHART.top, y2: height - CHART.bottom }),
    );
  }
  svg.append(plainLine(points.plain, file, scale));
  for (const { call, kind } of file.faultCalls) {
    svg.append(drawn("path", { d: markAt(scale.x(call + 0.5), CHART.top - 14), style: `fill:var(--${kind})` }));
  }
  const entries = [
    ...KINDS.map(([kind, name]) => ({ kind: "area", color: `var(--${kind})`, name })),
    { kind: "line", color: "var(--plain)", name: plainName(file) },
    { kind: "line", color: "var(--epoch)", name: "epoch", dotted: true },
    ...Object.entries(FAULTS).map(([kind, name]) => ({
      kind: "mark",
      color: `var(--${kind})`,
      name: `fault: ${name}`,
    })),
  ];
  const tell = (at) => tellCall(file, at, ours[at]);
  return [legend(entries), chart({ svg, points: points.call, end: calls, scale, height, tell })];
}

function plainName(file) {
  const count = file.plainCompactions ?? 0;
  return count ? `plain, ${whole(count)} compactions` : "plain";
}

function plainLine(values, file, scale) {
  const d = linePath(file.points.call, file.calls, values, scale);
  return drawn("path", { class: "line", d, style: "stroke:var(--plain)" });
}

/** A triangle that points down. */
function markAt(x, y) {
  return `M${(x - 5).toFixed(1)} ${y}h10l-5 9Z`;
}

/** Both bills up to each call. */
function billChart(file) {
  const { points, calls } = file;
  const height = 260;
  const most = points.oursBill.concat(points.plainBill).reduce((a, b) => Math.max(a, b), 0);
  const scale = scales(calls, most, height);
  const svg = frame(`Bill over the calls of ${file.name}`, "prices of an input token", calls, scale, height);
  const ours = linePath(points.call, calls, points.oursBill, scale);
  svg.append(
    plainLine(points.plainBill, file, scale),
    drawn("path", { class: "line", d: ours, style: "stroke:var(--ours)" }),
  );
  const entries = [
    { kind: "line", color: "var(--ours)", name: "ours" },
    { kind: "line", color: "var(--plain)", name: "plain" },
  ];
  const stack = (at) => KINDS.reduce((sum, [kind]) => sum + points[kind][at], 0);
  const tell = (at) => tellCall(file, at, stack(at));
  return [legend(entries), chart({ svg, points: points.call, end: calls, scale, height, tell })];
}

/** What the tooltip says of a point: the call's figures, and what happened since the point before. */
function tellCall(file, at, ours) {
  const { points } = file;
  const call = points.call[at];
  const after = at > 0 ? points.call[at - 1] : -1;
  const isHere = (item) => item.call > after && item.call <= call;
  const bills = [points.oursBill[at], points.plainBill[at]];
  const rows = [
    ["window, ours", whole(ours)],
    ...KINDS.map(([kind, name]) => [name, whole(points[kind][at])]),
    ["window, plain", whole(points.plain[at])],
    ["bill so far, ours", whole(bills[0])],
    ["bill so far, plain", whole(bills[1])],
    ["of plain's", percent(bills[0] / bills[1], 1)],
  ];
  const events = [
    ...file.epochs.filter(isHere).map((epoch) => `Epoch at call ${epoch.call}: ${epochText(epoch)}`),
    ...file.faultCalls
      .filter(isHere)
      .map((fault) => `Fault at call ${fault.call}: ${FAULTS[fault.kind]}, ${whole(fault.cost)}`),
    ...file.hostCompactions
      .filter(isHere)
      .map(({ call, side }) => `The host compacts ${side === "plain" ? "plain's" : "our"} request at call ${call}`),
  ];
  const shown = events.slice(0, 4);
  const more = events.length > shown.length ? [`and ${events.length - shown.length} more`] : [];
  return [
    element("strong", {}, `call ${call}`),
    element("dl", {}, ...rows.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)])),
    ...[...shown, ...more].map((event) => element("p", {}, event)),
  ];
}

function epochText(epoch) {
  return `${epoch.reason ?? "no reason"} (${whole(epoch.collapsed)} collapsed, ${whole(epoch.freedTokens)} tokens freed)`;
}

/** The epochs with their reasons. */
function epochTable(file) {
  if (file.epochs.length === 0) {
    return [element("p", { class: "hint" }, "No epoch started.")];
  }
  const heads = [["call"], ["reason", "text"], ["collapsed"], ["tokens freed"]];
  const rows = file.epochs.map((epoch) =>
    element(
      "tr",
      {},
      element("td", {}, String(epoch.call)),
      element("td", { class: "text" }, epoch.reason ?? ""),
      element("td", {}, whole(epoch.collapsed)),
      element("td", {}, whole(epoch.freedTokens)),
    ),
  );
  const some = file.epochs.length < file.epochCount ? `, the ${whole(file.epochs.length)} that freed most` : "";
  const head = element(
    "thead",
    {},
    element("tr", {}, ...heads.map(([text, kind]) => element("th", { scope: "col", class: kind }, text))),
  );
  return [
    element(
      "details",
      {},
      element("summary", {}, `${whole(file.epochCount)} epochs${some}`),
      element("div", { class: "scroll", tabindex: "0" }, element("table", {}, head, element("tbody", {}, ...rows))),
    ),
  ];
}

showTerms();
if (report.files.length === 0) {
  document.getElementById("files").append(element("p", {}, "No session was replayed."));
} else {
  showSum();
  showFiles();
  document.querySelector("td.name button").click();
}
