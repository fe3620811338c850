// Times, sizes and counted things as a person reads them, texts as a terminal may be given them, and what an answer brought in one line.
// Decides nothing.
import { join, sep } from "node:path";
import { shortCount } from "./figures.js";
import { homeFolder } from "./places.js";
import { harmless, line } from "./terminal.js";

/** Characters of what came that a line shows. */
const maxCame = 160;

/** What stands in the place of a tab. */
const tab = "   ";

/** A size, of 1,000 bytes: `812 bytes`, `8.4 kB`, `152 kB`. @param {number} bytes */
export function byteSize(bytes) {
  const power = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), 3);
  const size = bytes / 1000 ** power;
  return power === 0
    ? `${bytes} byte${bytes === 1 ? "" : "s"}`
    : `${size.toFixed(size < 10 ? 1 : 0)} ${["kB", "MB", "GB"][power - 1]}`;
}

/** Such as `1 call`, `2 calls`. @param {number} count @param {string} thing */
export function counted(count, thing) {
  return `${shortCount(count)} ${thing}${count === 1 ? "" : "s"}`;
}

/** How long something is, in one unit: `12 s`, `3 min`, `2 h`, `4 d`. @param {number} ms */
export function age(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  if (seconds < 120) {
    return `${seconds} s`;
  }
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  return minutes < 120 ? `${minutes} min` : hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} d`;
}

/** Such as `43 %`. @param {number} part @param {number} whole */
export function percent(part, whole) {
  return `${Math.round((100 * part) / (whole > 0 ? whole : 1))} %`;
}

/** A text of at most this many characters. @param {string} text @param {number} characters */
export function cut(text, characters) {
  if (text.length <= characters) {
    return text;
  }
  // Not between the halves of a surrogate pair.
  const end = /[\ud800-\udbff]$/.test(text.slice(0, characters - 1)) ? characters - 2 : characters - 1;
  return `${text.slice(0, end).trimEnd()}…`;
}

/** A text in one line that does nothing to a terminal. @param {string} text @param {number} characters */
export function oneLine(text, characters) {
  return cut(line(text.replaceAll(/\s+/g, " ").trim()), characters);
}

/** Lines that do nothing to a terminal and are as wide as they look. @param {string} text */
export function plainLines(text) {
  return harmless(text.replaceAll("\r\n", "\n")).replaceAll("\t", tab);
}

/** A path with `~` for the user's folder. @param {string} path */
export function shortPath(path, home = homeFolder()) {
  return home !== "" && path.startsWith(join(home, sep)) ? join("~", path.slice(home.length)) : path;
}

/**
 * What came, by the first line of the answer: `bash · lines 40-80 of 412 · 1.2k tokens`.
 * @param {string} name as it was asked for, which is not said again
 * @param {{ content: readonly { type: string, text?: string }[], details: unknown }} result
 */
export function cameWith(name, { content, details }) {
  const text = content
    .map((block) => block.text ?? "")
    .join("\n")
    .trimEnd();
  const [first] = text.split("\n", 1);
  const [, handle = "", said = first] = /^(?:done: )?\[([^\]]+)\] (.*)$/s.exec(first) ?? [];
  const rest = said.replace(/^done: /, "").replace(/:$/, "");
  const parts = [handle, ...rest.split(/ · |, (?=[\d,]+ tokens?$)/)];
  const news = parts.filter((part) => part !== "" && part !== name && !name.startsWith(`${part} `));
  const { tokens } = /** @type {{ tokens?: unknown }} */ (details ?? {});
  const isContent = text.length > first.length || content.some((block) => block.type === "image");
  const sized = isContent && typeof tokens === "number" ? [counted(tokens, "token")] : [];
  return [oneLine(news.join(" · ") || "done", maxCame), ...sized].join(" · ");
}
