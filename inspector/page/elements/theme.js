// Light, dark, or as the system has it; and the colours of the style sheet as a canvas needs them.
import { button } from "./dom.js";

const THEMES = ["system", "light", "dark"];
const KEY = "palimpsest-theme";

/** What draws with colours listens to `theme` on this. */
export const themes = new EventTarget();

/** The switch; it also applies what was chosen before. */
export function themeSwitch() {
  let theme = chosen();
  const made = button("", () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    keep(theme);
    apply();
  });
  const apply = () => {
    made.textContent = theme;
    made.setAttribute("aria-label", `Colours: ${theme}`);
    made.title = "Colours: as the system has them, light, or dark";
    document.documentElement.dataset.theme = theme;
    themes.dispatchEvent(new Event("theme"));
  };
  made.classList.add("theme");
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => themes.dispatchEvent(new Event("theme")));
  apply();
  return made;
}

/**
 * A colour of the style sheet, as it is now.
 * @param {string} name of the custom property, without `--`
 */
export function colour(name) {
  const probe = document.createElement("i");
  probe.hidden = true;
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

/** A page that may keep nothing, such as a file in some browsers, starts as the system has it. */
function chosen() {
  try {
    const kept = localStorage.getItem(KEY) ?? "";
    return THEMES.includes(kept) ? kept : THEMES[0];
  } catch {
    return THEMES[0];
  }
}

/** @param {string} theme */
function keep(theme) {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // Then it holds for this page.
  }
}
