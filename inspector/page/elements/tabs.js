// Tabs: one panel at a time, chosen by pointer or arrow keys. Knows nothing of what panels show.
import { element, put } from "./dom.js";

/**
 * @typedef {{ id: string, name: string, build: () => HTMLElement }} Tab
 */

/**
 * @param {{ label: string, tabs: Tab[], chosen: string | undefined, onchoose: (id: string) => void }} options
 */
export function tabbed({ label, tabs, chosen, onchoose }) {
  const panel = element("div", { class: "panel", role: "tabpanel", tabindex: "0", id: "panel" });
  const heads = tabs.map(({ id, name }) =>
    element(
      "button",
      { type: "button", role: "tab", id: `tab-${id}`, "aria-controls": "panel", onclick: () => choose(id) },
      name,
    ),
  );
  /** @type {Map<string, HTMLElement>} */
  const built = new Map();
  const choose = (/** @type {string} */ wanted) => {
    const at = Math.max(
      0,
      tabs.findIndex(({ id }) => id === wanted),
    );
    const tab = tabs[at];
    heads.forEach((head, other) => {
      head.setAttribute("aria-selected", String(other === at));
      head.tabIndex = other === at ? 0 : -1;
    });
    const node = built.get(tab.id) ?? tab.build();
    built.set(tab.id, node);
    panel.setAttribute("aria-labelledby", `tab-${tab.id}`);
    put(panel, node);
    onchoose(tab.id);
  };
  const onkeydown = (/** @type {KeyboardEvent} */ event) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    const at = heads.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
    if (step !== 0 && at >= 0) {
      event.preventDefault();
      event.stopPropagation();
      const next = (at + step + heads.length) % heads.length;
      choose(tabs[next].id);
      heads[next].focus();
    }
  };
  choose(chosen ?? tabs[0].id);
  return element(
    "div",
    { class: "tabbed" },
    element("div", { class: "tabs", role: "tablist", "aria-label": label, onkeydown }, ...heads),
    panel,
  );
}
