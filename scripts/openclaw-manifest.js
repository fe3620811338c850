// Writes openclaw.plugin.json: what OpenClaw reads of the package before it loads anything. The settings in it are those of
// docs/settings.md, so that names, types, defaults and descriptions stand in one place.
import { readFileSync, writeFileSync } from "node:fs";
import { manifest } from "./lib/openclaw-manifest.js";

const root = new URL("../", import.meta.url);
const docs = readFileSync(new URL("docs/settings.md", root), "utf8");
writeFileSync(new URL("openclaw.plugin.json", root), manifest(docs));
