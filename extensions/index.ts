// What Pi loads. Pi names an extension by its file, but one at `extensions/index.ts` by its package: `palimpsest`.
export { default } from "../pi-extension/index.ts";
