// The project that the inspector's sessions work in: the same bytes whatever becomes of our own sources, so sizes and epochs stay.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Its files and their lengths, in functions. */
const FILES: Record<string, number> = {
  "bin/commands/doctor.js": 34,
  "bin/commands/sessions.js": 16,
  "bin/lib/arguments.js": 20,
  "bin/lib/progress.js": 8,
  "bin/lib/store.js": 28,
  "bin/lib/table.js": 20,
  "lib/places.js": 6,
};

const VERBS = ["read", "sort", "join", "count", "name", "split", "check", "merge", "print", "find", "close"];
const NOUNS = [
  "Rows",
  "Column",
  "Session",
  "Option",
  "Folder",
  "Header",
  "Line",
  "Store",
  "Width",
  "Call",
  "Hint",
  "Age",
  "Title",
];
const PARTS = ["text", "given", "entries", "limit", "path", "known"];

/** Writes the project's files below `folder`. */
export function writeProject(folder: string): void {
  for (const [at, [path, functions]] of Object.entries(FILES).entries()) {
    const full = join(folder, path);
    mkdirSync(dirname(full), { recursive: true });
    writeFileSync(full, Array.from({ length: functions }, (_, of) => functionText(at * 101 + of * 7)).join("\n"));
  }
}

/** One function of a module; `seed` decides its words. */
function functionText(seed: number): string {
  const of = <Word>(words: Word[], salt: number) => words[(seed * 31 + salt * 17) % words.length];
  const [verb, noun, part] = [of(VERBS, 1), of(NOUNS, 2), of(PARTS, 3)];
  return `/** Says the ${noun.toLowerCase()} that ${part} number ${seed} leads to, or nothing. */
export function ${verb}${noun}${seed}(${part}, options = {}) {
  const most${seed} = options.most ?? ${(seed * 7_919) % 1_021};
  if (${part}.length > most${seed}) {
    throw new RangeError(\`${part} has more than \${most${seed}} entries\`);
  }
  return ${part}.slice(0, most${seed}).map((entry) => entry.${of(NOUNS, 5).toLowerCase()}${seed});
}
`;
}
