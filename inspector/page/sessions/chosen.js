// The two sessions that a person chooses to compare. They stay chosen while the page is open. Knows nothing of lists.
import { button, element, put } from "../elements/dom.js";
import { oneLine } from "../elements/text.js";
import { hashOf } from "../routes.js";

/** IDs, in the order in which they were chosen. @type {string[]} */
let chosen = [];

export class Chosen {
  constructor() {
    this.bar = element("div", { class: "chosen-bar" });
    /** The boxes in the document, and those that have left it. @type {Map<string, HTMLInputElement>} */
    this.boxes = new Map();
    /** @type {import("../../protocol.js").Sessions} */
    this.sessions = [];
  }

  /** @param {import("../../protocol.js").Sessions} sessions those that there are */
  renew(sessions) {
    this.sessions = sessions;
    this.bar.hidden = sessions.length < 2;
    this.choose(chosen.filter((id) => sessions.some((session) => session.id === id)));
  }

  /**
   * The box by which a session is chosen.
   * @param {string} id
   * @param {string} name
   */
  box(id, name) {
    const box = element("input", {
      type: "checkbox",
      "aria-label": `Compare ${name}`,
      checked: chosen.includes(id),
      onchange: () => {
        const others = chosen.filter((other) => other !== id);
        // A third one takes the place of the first.
        this.choose(box.checked ? [...others, id].slice(-2) : others);
      },
    });
    this.boxes.set(id, box);
    return box;
  }

  /** @param {string[]} ids */
  choose(ids) {
    chosen = ids;
    for (const [id, box] of this.boxes) {
      box.checked = ids.includes(id);
    }
    const [a, b] = ids;
    if (a === undefined) {
      put(this.bar, element("span", { class: "faint" }, "Choose two sessions to compare them."));
      return;
    }
    put(
      this.bar,
      element("span", {}, `${this.name(a)} beside ${b === undefined ? "…" : this.name(b)}`),
      b === undefined
        ? null
        : element("a", { class: "button", href: hashOf({ view: "compare", id: a, other: b }) }, "Compare"),
      button("Clear", () => this.choose([])),
    );
  }

  /** @param {string} id */
  name(id) {
    return oneLine(this.sessions.find((session) => session.id === id)?.title ?? "untitled", 40);
  }
}
