// Joins the types of the addon's answers (src/addon/types) into the one file that `napi build` puts before the types that it generates.
// Usage: node scripts/join-types.js
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const folder = join(root, "src", "addon", "types");
const names = readdirSync(folder).filter((name) => name.endsWith(".d.ts"));
const text = names
  .sort()
  // Without the line that says what the file is for.
  .map((name) => readFileSync(join(folder, name), "utf8").replace(/^\/\/ .*\n\n/, ""))
  .join("\n");
const types = [...text.matchAll(/^export (?:interface|type) (\w+)/gm)].map(([, type]) => type);
const doubled = types.filter((type, at) => types.indexOf(type) !== at);
if (types.length === 0 || doubled.length > 0) {
  throw new Error(types.length === 0 ? `no types in \`${folder}\`` : `types of one name: ${doubled.join(", ")}`);
}
mkdirSync(join(root, "target"), { recursive: true });
writeFileSync(join(root, "target", "types.d.ts"), text);
