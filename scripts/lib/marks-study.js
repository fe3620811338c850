// How well memory's marks tell what became of what entries cite: entries are made from an old commit of a repository, its history is walked
// in steps, and at each the marks are held against what the entries claim (marks-claims.js). Decides nothing; the repository stays as it is.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { claimsOf, counterparts, holds, placeText } from "./marks-claims.js";

/**
 * @typedef {import("./marks-claims.js").Claim} Claim
 * @typedef {"lines" | "symbol" | "file"} Citing how an entry cites its file
 *
 * @typedef {object} Entry
 * @property {Citing} citing
 * @property {string} path
 * @property {Claim} claim
 * @property {string} place the text of the place when it was written or confirmed
 * @property {boolean} isDropped
 *
 * @typedef {"contradicted" | "gone" | "touched" | "moved"} Mark
 * @typedef {object} Seen what one entry was at one step
 * @property {Citing} citing
 * @property {boolean} isSecondHalf
 * @property {Mark | undefined} mark
 * @property {boolean} isChanged whether the place says something else
 * @property {boolean} isWrong whether the entry needs an edit
 * @property {string} path where its file is, as far as the mark says
 * @property {Entry} entry
 */

/** Most entries of one file. */
const perFile = 3;
/** @type {Record<Citing, Claim["kind"][]>} */
const claimed = {
  lines: ["constant", "parameters", "message", "fields", "phrase"],
  symbol: ["constant", "parameters", "definition", "fields"],
  file: ["constant", "parameters", "message", "fields", "definition", "phrase", "script", "file"],
};

/**
 * Walks a history twice: once with the entries as they were written, once with all strong marks reviewed at each step, and the paths of
 * files that moved written anew.
 * @param {typeof import("../../index.js").openMemory} openMemory
 * @param {{ repository: string, steps?: number, from?: number, perKind?: number }} options `from`: the share of the history that lies
 *   before the entries; `perKind`: entries of each kind of citation
 * @returns {Promise<{ kept: Seen[], reviewed: Seen[], reviews: number, needed: number } | undefined>} undefined if there is no history, or too short a one
 */
export async function walkHistory(openMemory, { repository, steps = 25, from = 0.35, perKind = 40 }) {
  if (!existsSync(join(repository, ".git"))) {
    return undefined;
  }
  const commits = git(repository, "rev-list", "--first-parent", "--reverse", "HEAD").trim().split("\n");
  const first = Math.floor(commits.length * from);
  if (commits.length - first < 4 * steps) {
    return undefined;
  }
  const at = (/** @type {number} */ step) => commits[first + Math.round(((commits.length - 1 - first) * step) / steps)];
  const folder = mkdtempSync(join(tmpdir(), "marks-study-"));
  try {
    const walk = async (/** @type {boolean} */ isReviewed) => {
      const project = join(folder, isReviewed ? "reviewed" : "kept");
      git(folder, "clone", "--quiet", "--shared", "--no-checkout", repository, project);
      git(project, "checkout", "--quiet", "--force", "--detach", at(0));
      writeFileSync(join(project, ".git", "info", "exclude"), ".pi\n");
      const entries = entriesOf(project, perKind);
      const memory = openMemory({ agentDir: join(folder, "agent"), project, trusted: true });
      writeEntries(project, entries);
      await memory.verify();
      /** @type {Seen[]} */
      const seen = [];
      let [reviews, needed] = [0, 0];
      for (let step = 1; step <= steps; step += 1) {
        git(project, "checkout", "--quiet", "--force", "--detach", at(step));
        const found = await seenNow(memory, project, entries, step > steps / 2);
        seen.push(...found);
        const strong = found.filter(({ mark }) => isStrong(mark));
        const moved = found.filter(({ mark }) => mark === "moved");
        if (isReviewed && strong.length + moved.length > 0) {
          reviews += strong.length;
          needed += strong.filter(({ isWrong }) => isWrong).length;
          await review(memory, project, entries, [...strong, ...moved]);
        }
      }
      return { seen, reviews, needed };
    };
    const kept = await walk(false);
    const { seen: reviewed, reviews, needed } = await walk(true);
    return { kept: kept.seen, reviewed, reviews, needed };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Whether a mark stands in the prompt. @param {Mark | undefined} mark */
export function isStrong(mark) {
  return mark === "contradicted" || mark === "gone";
}

/**
 * The tables of a history, as Markdown: of all steps, and of each half, since what was chosen was chosen by the first.
 * @param {NonNullable<Awaited<ReturnType<typeof walkHistory>>>} history
 */
export function historyTables({ kept, reviewed, reviews, needed }) {
  const head =
    "| cited | marks | place changed | strong marks | needed | entries wrong | of these moved | touched | missed |";
  /** @type {[string, (seen: Seen) => boolean][]} */
  const parts = [
    ["lines", ({ citing }) => citing === "lines"],
    ["a whole file", ({ citing }) => citing === "file"],
    ["`file::symbol`", ({ citing }) => citing === "symbol"],
    ["all", () => true],
  ];
  const table = (/** @type {string} */ title, /** @type {Seen[]} */ seen) => {
    const rows = parts.map(([name, isMeant]) => {
      const { marks, changed, strong, needed, wrong, moved, touched, missed } = figuresOf(seen.filter(isMeant));
      const cells = [marks, changed.toFixed(2), strong, needed.toFixed(2), wrong, moved, touched, missed];
      return `| ${name} | ${cells.join(" | ")} |`;
    });
    return [`\n${title}:\n`, head, `|---|${"--:|".repeat(8)}`, ...rows];
  };
  const half = (/** @type {boolean} */ second) => kept.filter(({ isSecondHalf }) => isSecondHalf === second);
  return [
    ...table("As the entries were written", kept),
    ...table("The same, first half of the steps", half(false)),
    ...table("The same, second half of the steps", half(true)),
    ...table("With a review at each step", reviewed),
    `\nOf ${reviews} reviews ${needed} were needed.`,
    "Goals: lines 1.00 / 1.00; a whole file, a symbol and all 0.95 / 0.75; half of the reviews needed; none missed.",
  ].join("\n");
}

/** Marks in numbers. @param {Seen[]} seen */
export function figuresOf(seen) {
  const marked = seen.filter(({ mark }) => mark !== undefined);
  const strong = marked.filter(({ mark }) => isStrong(mark));
  const wrong = seen.filter(({ isWrong }) => isWrong);
  const share = (/** @type {Seen[]} */ of, /** @type {Seen[]} */ all) =>
    all.length === 0 ? 1 : of.length / all.length;
  return {
    marks: marked.length,
    changed: share(
      marked.filter(({ isChanged }) => isChanged),
      marked,
    ),
    strong: strong.length,
    needed: share(
      strong.filter(({ isWrong }) => isWrong),
      strong,
    ),
    wrong: wrong.length,
    moved: wrong.filter(({ mark }) => mark === "moved").length,
    touched: wrong.filter(({ mark }) => mark === "touched").length,
    missed: wrong.filter(({ mark }) => mark === undefined).length,
  };
}

/**
 * The entries that can be made of a project as it stands, the same ones each time.
 * @param {string} project
 * @param {number} perKind
 * @returns {Entry[]}
 */
function entriesOf(project, perKind) {
  const paths = git(project, "ls-files").trim().split("\n");
  const wanted = paths.filter(
    (path) => /\.(?:rs|js|ts|md)$|^package\.json$/.test(path) && !/fixtures|snapshots/.test(path),
  );
  const candidates = wanted.flatMap((path) => {
    const text = readFileSync(join(project, path), "utf8");
    const claims = claimsOf(path, text);
    const clear = claims.filter((claim) => counterparts(claim, claims).length === 1);
    return clear.map((claim) => ({ path, claim, place: placeText(text, claim.first, claim.last) }));
  });
  candidates.sort((a, b) => order(a) - order(b));
  /** @type {Entry[]} */
  const entries = [];
  const taken = (/** @type {string} */ path) => entries.filter((entry) => entry.path === path).length;
  for (const [citing, kinds] of /** @type {[Citing, Claim["kind"][]][]} */ (Object.entries(claimed))) {
    for (const [at, kind] of kinds.entries()) {
      const most = Math.floor(perKind / kinds.length) + (at < perKind % kinds.length ? 1 : 0);
      const isFree = (/** @type {(typeof candidates)[number]} */ { path, claim }) =>
        claim.kind === kind && !entries.some((entry) => entry.path === path && entry.claim.name === claim.name);
      for (let count = 0; count < most; count += 1) {
        const found = candidates.find(
          (candidate) => isFree(candidate) && (kind === "script" || taken(candidate.path) < perFile),
        );
        if (found !== undefined) {
          entries.push({ ...found, citing, isDropped: false });
        }
      }
    }
  }
  return entries;
}

/** A number that has nothing to do with where in a project something stands. @param {{ path: string, claim: Claim }} candidate */
function order({ path, claim }) {
  let hash = 2_166_136_261;
  for (const char of `${claim.kind} ${claim.name} ${path}`) {
    hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 16_777_619) >>> 0;
  }
  return hash;
}

/** @param {string} project @param {Entry[]} entries */
function writeEntries(project, entries) {
  const path = join(project, ".pi", "memory", "MEMORY.md");
  mkdirSync(dirname(path), { recursive: true });
  const lines = entries.map((entry, at) =>
    entry.isDropped ? "- Nothing is known of it any more" : sentence(entry, at),
  );
  writeFileSync(path, `${lines.join("\n")}\n`);
}

/** An entry as people write it. @param {Entry} entry @param {number} at */
function sentence({ citing, path, claim }, at) {
  const { kind, name, said, first, last } = claim;
  const symbol = kind === "script" ? name : `${path}::${name}`;
  const cite = { lines: first === last ? `${path}:${first}` : `${path}:${first}-${last}`, symbol, file: path }[citing];
  const topic = path.replace(/^.*\/|\.\w+$/g, "").replace(/[-_]/g, " ");
  const list = said.map((one) => `\`${one}\``).join(" and ");
  /** @type {Record<Claim["kind"], string[]>} */
  const forms = {
    constant: [`\`${name}\` is ${said[0]}, see ${cite}`, `we keep ${name} at ${said[0]} (\`${cite}\`)`],
    parameters: [`\`${name}\` takes ${list} (\`${cite}\`)`, `call \`${name}(${said.join(", ")})\`: ${cite}`],
    fields: [`\`${name}\` has ${list}, among others: ${cite}`, `what is in ${name}: ${list} (\`${cite}\`)`],
    definition: [`\`${name}\` in \`${cite}\` does that work`, `the work is done by ${name}(), ${cite}`],
    message: [`it says "${name}" when that fails (${cite})`, `\`${cite}\` has the words "${name}"`],
    script: [`\`npm run ${name}\` does \`${said[0]}\` (package.json)`],
    phrase: [`the page says "${name}" (\`${cite}\`)`, `"${name}" is promised in ${cite}`],
    file: [`the code for it is in ${path}`, `start reading at \`${path}\``],
  };
  const meant = forms[kind];
  return `- On ${topic}: ${meant[at % meant.length]}`;
}

/**
 * @param {import("../../index.js").Memory} memory
 * @param {string} project
 * @param {Entry[]} entries
 * @param {boolean} isSecondHalf
 * @returns {Promise<Seen[]>}
 */
async function seenNow(memory, project, entries, isSecondHalf) {
  const ranks = /** @type {const} */ (["contradicted", "gone", "touched", "moved"]);
  const marks = new Map(
    (await memory.verify()).map(({ page, cited }) => {
      const mark = ranks.find((rank) => cited.some(({ change }) => change === rank));
      return [page.line - 1, { mark, movedTo: cited.find(({ movedTo }) => movedTo !== null)?.movedTo }];
    }),
  );
  return entries.flatMap((entry, at) => {
    if (entry.isDropped) {
      return [];
    }
    const now = textOf(project, entry.path);
    const claims = now === undefined ? [] : claimsOf(entry.path, now);
    const isChanged = now === undefined || !stands(entry, now, claims);
    const isWrong = now === undefined || !holds(entry.claim, claims, now);
    const { mark, movedTo } = marks.get(at) ?? {};
    return [
      {
        citing: entry.citing,
        mark,
        isChanged,
        isWrong,
        path: movedTo ?? entry.path,
        entry: { ...entry },
        isSecondHalf,
      },
    ];
  });
}

/** Whether the place of an entry still says the same, wherever it is in the file. @param {Entry} entry @param {string} now @param {Claim[]} claims */
function stands({ citing, claim, place }, now, claims) {
  if (claim.kind === "file") {
    return placeText(now) === place;
  }
  if (citing === "lines" || claim.kind === "message" || claim.kind === "phrase") {
    return `\n${placeText(now)}\n`.includes(`\n${place}\n`);
  }
  return counterparts(claim, claims).some(({ first, last }) => placeText(now, first, last) === place);
}

/**
 * Has a person look at entries: those that hold are confirmed, the others say what is so now, and where.
 * @param {import("../../index.js").Memory} memory
 * @param {string} project
 * @param {Entry[]} entries
 * @param {Seen[]} marked
 */
async function review(memory, project, entries, marked) {
  const pages = await memory.pages();
  for (const { entry, isWrong, path: there } of marked) {
    const at = entries.findIndex(({ path, claim }) => path === entry.path && claim === entry.claim);
    const text = textOf(project, there);
    const claims = text === undefined ? [] : claimsOf(there, text);
    const now = text === undefined ? undefined : placeNow(entry.claim, claims, text);
    if (text === undefined || now === undefined) {
      entries[at].isDropped = true;
      continue;
    }
    const said = isWrong ? now.said : entry.claim.said;
    entries[at] = { ...entry, path: there, claim: { ...now, said }, place: placeText(text, now.first, now.last) };
    const page = pages.find(({ line, scope }) => scope === "project" && line === at + 1);
    if (!isWrong && page !== undefined) {
      await memory.confirm(page.id);
    }
  }
  writeEntries(project, entries);
  await memory.verify();
}

/** What a claim would be now, and where. @param {Claim} claim @param {Claim[]} now @param {string} text @returns {Claim | undefined} */
function placeNow(claim, now, text) {
  const at = text.split("\n").findIndex((line) => line.includes(claim.name)) + 1;
  if (claim.kind === "file") {
    return now.find(({ kind }) => kind === "file");
  }
  const isOfWords = claim.kind === "message" || claim.kind === "phrase";
  return isOfWords ? (at > 0 ? { ...claim, first: at, last: at } : undefined) : counterparts(claim, now)[0];
}

/** @param {string} project @param {string} path */
function textOf(project, path) {
  const file = join(project, path);
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
}

/** @param {string} folder @param {string[]} args */
function git(folder, ...args) {
  return execFileSync("git", args, { cwd: folder, encoding: "utf8", maxBuffer: 1 << 28 });
}
