// A text of any length: its start, more of it on demand, the whole in pieces that a browser can show. Shows text only.
import { button, element, failureBox, put } from "./dom.js";
import { whole } from "./numbers.js";
import { pieceEnd, startEnd } from "./text.js";

/** Characters of a piece. */
const PIECE = 50_000;

/**
 * @param {string} text
 * @param {{ label: string, load?: (() => Promise<string>) | null, open?: boolean }} options `load`: gives the whole, where `text` was cut
 */
export function longText(text, { label, load = null, open = false }) {
  const body = element("pre", { class: "text", dir: "auto" });
  const bar = element("div", { class: "text-bar" });
  const node = element("div", { class: "long-text" }, body, bar);
  let all = text;
  let isWhole = load === null;

  const close = () => {
    const end = startEnd(all);
    put(body, all.slice(0, end));
    const name = openName(all, end, isWhole);
    put(
      bar,
      end === all.length && isWhole
        ? null
        : button(name, () => void unfold(), { class: "plain", "aria-label": `${name} of ${label}` }),
    );
  };
  const unfold = async () => {
    if (!isWhole && load !== null) {
      put(bar, element("span", { class: "faint", role: "status" }, "Loading …"));
      try {
        all = await load();
        isWhole = true;
      } catch (error) {
        put(
          bar,
          failureBox(error, () => void unfold()),
        );
        return;
      }
    }
    put(body);
    show(0);
  };
  const show = (/** @type {number} */ from) => {
    const end = pieceEnd(all, from, PIECE);
    body.append(element("span", {}, all.slice(from, end)));
    const place = `${whole(end)} of ${whole(all.length)} characters`;
    put(
      bar,
      end < all.length ? button(`Show more (${place})`, () => show(end), { class: "plain" }) : null,
      end < all.length ? button("Jump to the end", () => jump(end), { class: "plain" }) : null,
      open ? null : button("Show less", close, { class: "plain" }),
    );
  };
  const jump = (/** @type {number} */ end) => {
    const from = Math.max(end, pieceEnd(all, 0, all.length - PIECE));
    if (from > end) {
      body.append(element("span", { class: "gap" }, `… ${whole(from - end)} characters left out here …`));
    }
    show(from);
  };

  if (open) {
    void unfold();
  } else {
    close();
  }
  return node;
}

/**
 * @param {string} text
 * @param {number} end of what is shown
 * @param {boolean} isWhole
 */
function openName(text, end, isWhole) {
  if (!isWhole) {
    return "Show the whole text";
  }
  const lines = text.slice(end).split("\n").length;
  return lines > 1 ? `Show ${whole(lines)} more lines` : `Show ${whole(text.length - end)} more characters`;
}
