// The objects that a session met: files, tool calls, segments; each with the calls in which it was shown.
import { element, fill, put } from "../elements/dom.js";
import { virtualList } from "../elements/list.js";
import { counted, whole } from "../elements/numbers.js";
import { oneLine } from "../elements/text.js";
import { hashOf } from "../routes.js";
import { ORDERS, SHOWN_WAYS, shownCalls, shownNow, wantedObjects } from "./runs.js";
import { shownStrip } from "./shown.js";

/** @typedef {import("../../../index.js").TimelineObject} TimelineObject */

const TYPES = { "": "all types", file: "files", toolcall: "tool calls", chat_segment: "segments" };
const HEADS = ["object", "how it stands now", "shown in", "calls in which it was shown"];

/**
 * @param {import("../main.js").Context} context
 * @param {import("../main.js").Route} route
 * @returns {import("../main.js").View}
 */
export function objectsView(context, route) {
  const id = /** @type {string} */ (route.id);
  context.title("Objects");
  const above = element("a", { href: hashOf({ view: "session", id }) }, "Session");
  const count = element("span", { class: "faint", role: "status" });
  const place = element("div", { class: "fill" });
  /** @type {{ words: string, type: string, order: string }} */
  const wanted = context.kept.wanted ?? { words: "", type: "", order: Object.keys(ORDERS)[0] };
  context.kept.wanted = wanted;
  context.kept.list ??= {};
  /** @type {{ objects: TimelineObject[], calls: number }} */
  let known = { objects: [], calls: 0 };
  /** @type {TimelineObject[]} */
  let shown = [];
  const list = virtualList({
    label: "Objects",
    heads: HEADS,
    kind: "objects-list",
    row: (at) => objectRow(shown[at], known.calls, id),
    place: context.kept.list,
  });
  const none = element("p", { class: "empty", hidden: true }, "No object matches.");
  const show = () => {
    shown = wantedObjects(known.objects, { ...wanted, calls: known.calls });
    const all = counted(known.objects.length, "object");
    count.textContent = shown.length === known.objects.length ? all : `${whole(shown.length)} of ${all}`;
    list.node.hidden = shown.length === 0;
    none.hidden = shown.length > 0;
    list.show(shown.length);
  };
  const load = (keeps = false) =>
    fill(
      place,
      context.signal,
      () => context.source.session(id),
      ({ info, timeline }) => {
        put(above, oneLine(info.title ?? "untitled session", 80));
        known = { objects: timeline.objects, calls: timeline.calls.length };
        queueMicrotask(show);
        return timeline.objects.length === 0
          ? element("p", { class: "empty" }, "This session met no file and no tool call yet.")
          : [list.node, none];
      },
      { keeps },
    );
  const node = element(
    "div",
    { class: "view objects" },
    element("p", { class: "above" }, above),
    element("div", { class: "headline" }, element("h1", { tabindex: "-1" }, "Objects"), count),
    choices(wanted, show),
    place,
    legend(),
  );
  return { node, ready: load(), refresh: () => void load(true) };
}

/**
 * @param {{ words: string, type: string, order: string }} wanted
 * @param {() => void} show
 */
function choices(wanted, show) {
  const words = element("input", {
    type: "search",
    "aria-label": "Find objects",
    placeholder: "Path, command or handle",
    autocomplete: "off",
    spellcheck: "false",
    value: wanted.words,
    oninput: () => {
      wanted.words = words.value;
      show();
    },
  });
  /**
   * @param {"type" | "order"} key
   * @param {string} label
   * @param {[string, string][]} options
   */
  const choice = (key, label, options) => {
    const made = element(
      "select",
      {
        "aria-label": label,
        onchange: () => {
          wanted[key] = made.value;
          show();
        },
      },
      ...options.map(([value, name]) => element("option", { value, selected: value === wanted[key] }, name)),
    );
    return made;
  };
  return element(
    "div",
    { class: "tools" },
    words,
    choice("type", "Which objects", Object.entries(TYPES)),
    choice(
      "order",
      "Order",
      Object.keys(ORDERS).map((name) => [name, name]),
    ),
  );
}

/**
 * @param {TimelineObject} object
 * @param {number} calls
 * @param {string} session
 */
function objectRow(object, calls, session) {
  const { id, handle, name, pinned, shown } = object;
  const cells = [
    [
      element("span", { class: "handle" }, handle),
      element("a", { href: hashOf({ view: "object", id, options: { session } }), title: name }, oneLine(name, 160)),
      pinned ? element("span", { class: "chip" }, "pinned") : null,
    ],
    [shownNow(shown, calls)],
    [counted(shownCalls(shown), "call")],
    [shownStrip(shown, calls)],
  ];
  const names = ["what", "now", "times", "strip-cell"];
  return element(
    "div",
    {},
    ...cells.map((cell, at) => element("div", { class: `cell ${names[at]}`, role: "cell" }, cell)),
  );
}

function legend() {
  const keys = Object.entries(SHOWN_WAYS).map(([way, name]) =>
    element("span", { class: "key" }, element("i", { class: `swatch way-${way}` }), name),
  );
  return element("p", { class: "legend faint" }, ...keys);
}
