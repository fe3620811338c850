// A text in Pi's terminal that is read and closed: in the place of the editor, with Pi's components, theme and keys. Changes nothing.
import { DynamicBorder, type ExtensionCommandContext, type Theme } from "@earendil-works/pi-coding-agent";
import { type Component, truncateToWidth, visibleWidth, wrapTextWithAnsi } from "@earendil-works/pi-tui";
import { oneLine, plainLines } from "../lib/words.js";

/** Rows that stay for Pi's footer and the last lines of the transcript. */
const rowsOfOthers = 6;
/** Rows of the panel besides the text: borders, title, keys. */
const rowsOfFrame = 4;
const minRows = 3;
/** Characters of the title. */
const maxTitle = 120;
/** Columns of a wrapped text below which it is not indented. */
const minColumns = 24;

type Keys = { matches(data: string, key: never): boolean; getKeys(key: never): readonly string[] };

/**
 * Shows a text until it is closed. `indent`: columns at the start of a line that its continuation leaves free, where a line is too long;
 * what stands in them is the line's heading.
 */
export async function showPanel(
  ctx: ExtensionCommandContext,
  title: string,
  text: string,
  indent: number,
): Promise<void> {
  await ctx.ui.custom<void>((tui, theme, keys, done) => {
    const rows = () => Math.max(minRows, tui.terminal.rows - rowsOfOthers - rowsOfFrame);
    return panel({ title, text, indent, theme, keys: keys as unknown as Keys, rows }, done, () => tui.requestRender());
  });
}

interface Shown {
  readonly title: string;
  readonly text: string;
  readonly indent: number;
  readonly theme: Theme;
  readonly keys: Keys;
  /** Rows that the text may take. */
  rows(): number;
}

function panel({ title, text, indent, theme, keys, rows }: Shown, close: () => void, changed: () => void): Component {
  // A person types it, and may paste several lines.
  const heading = oneLine(title, maxTitle);
  const border = new DynamicBorder((line) => theme.fg("border", line));
  const given = plainLines(text).split("\n");
  let lines: string[] = [];
  let top = 0;
  const scroll = (by: number) => {
    top = Math.max(0, Math.min(top + by, lines.length - rows()));
    changed();
  };
  const moves: [key: string, by: () => number][] = [
    ["tui.select.up", () => -1],
    ["tui.select.down", () => 1],
    ["tui.select.pageUp", () => -rows()],
    ["tui.select.pageDown", () => rows()],
  ];
  const isKey = (data: string, key: string) => keys.matches(data, key as never);
  const nameOf = (key: string) => keys.getKeys(key as never)[0] ?? "";
  const component: Component & { capturesViewportInput: boolean } = {
    // In Pi 1.5's full screen the keys for pages would move the transcript.
    capturesViewportInput: true,
    render(width) {
      lines = given.flatMap((line) => wrapped(line, Math.max(1, width - 2), indent, theme));
      // The terminal may have grown, or the lines become fewer.
      top = Math.max(0, Math.min(top, lines.length - rows()));
      const shown = lines.slice(top, top + rows());
      const place = `lines ${top + 1}-${top + shown.length} of ${lines.length}`;
      const moving = `${nameOf("tui.select.up")}, ${nameOf("tui.select.down")}, ${nameOf("tui.select.pageDown")} scroll`;
      const closing = `${nameOf("tui.select.cancel")} closes`;
      const hint = lines.length > shown.length ? `${place} · ${closing} · ${moving}` : closing;
      const inner = [theme.fg("accent", theme.bold(heading)), ...shown, theme.fg("dim", hint)];
      const [line] = border.render(width);
      return [line, ...inner.map((row) => ` ${truncateToWidth(row, Math.max(1, width - 2))}`), line];
    },
    handleInput(data) {
      if (isKey(data, "tui.select.cancel") || isKey(data, "tui.select.confirm")) {
        close();
        return;
      }
      const move = moves.find(([key]) => isKey(data, key));
      if (move !== undefined) {
        scroll(move[1]());
      }
    },
    invalidate() {
      // Nothing is kept that a theme coloured.
    },
  };
  return component;
}

/** A line in the rows that it takes, its heading coloured; where the columns are few, the heading has a row of its own. */
function wrapped(line: string, width: number, indent: number, theme: Theme): string[] {
  const hasHeading = indent > 0 && /^.*\s$/s.test(line.slice(0, indent));
  const head = hasHeading ? line.slice(0, indent) : "";
  const rest = line.slice(head.length);
  const fits = visibleWidth(line) <= width || width - indent >= minColumns;
  if (!fits && head.trim() !== "") {
    return [theme.fg("accent", head.trimEnd()), ...broken(rest, width - 2).map((row) => `  ${row}`)];
  }
  const columns = fits ? head.length : 2;
  return broken(rest, width - columns).map((row, at) => {
    return (at === 0 && fits ? theme.fg("accent", head) : " ".repeat(columns)) + row;
  });
}

function broken(text: string, width: number): string[] {
  return visibleWidth(text) <= width ? [text] : wrapTextWithAnsi(text, Math.max(1, width));
}
