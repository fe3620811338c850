// What `/context settings` says: each setting, its value, and who set it. Pure.
import { homedir } from "node:os";
import { join, sep } from "node:path";
import type { SettingValue } from "./addon.ts";
import { cut } from "./words.ts";

/** Characters of a value that are shown. */
const maxValue = 60;

/** Those that somebody set, then the others; only those whose key holds `filter`. `layout`: of this session, where the person chose it. */
export function settingsText(values: readonly SettingValue[], filter: string, layout: string | undefined): string {
  const fitting = values.filter(({ key }) => key.toLowerCase().includes(filter.toLowerCase()));
  if (fitting.length === 0) {
    return `No setting fits \`${filter}\`.`;
  }
  const isHere = ({ key }: SettingValue) => key === "layout" && layout !== undefined;
  const row = (setting: SettingValue) => {
    const [value, from] = isHere(setting)
      ? [JSON.stringify(layout), "set here by `/context layout`"]
      : [cut(JSON.stringify(setting.value), maxValue), source(setting)];
    return `${setting.key.padEnd(22)} ${value}  (${from})`;
  };
  const isSet = (setting: SettingValue) => setting.source !== "default" || isHere(setting);
  return [...fitting.filter(isSet), ...fitting.filter((setting) => !isSet(setting))].map(row).join("\n");
}

function source({ source: from, place = "" }: SettingValue): string {
  switch (from) {
    case "default":
      return "default";
    case "environment":
      return `set by the environment, \`${place}\``;
    default:
      return `set by ${from === "user" ? "your" : "the project's"} file, \`${short(place)}\``;
  }
}

function short(path: string): string {
  const home = join(homedir(), sep);
  return path.startsWith(home) ? join("~", path.slice(home.length)) : path;
}
