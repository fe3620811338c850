// Started by scripts/bench.js: compares the store, called through the addon, with `node:sqlite` in the same run. The arguments are
// the numbers of objects. Writes medians and 95th percentiles to target/bench/store.json. Not meant to be run alone.
//
// Our store is called as an extension does, one awaited call at a time, so our figures include the way of a promise to a worker
// thread and back. The plain side does what a program without hashes, deduplication, compression and compare-and-set would do:
// one table of whole versions, one FTS5 table, prepared statements, and the same durability.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openStore } from "../index.js";
import { measure, searches, text } from "./lib/store-bench.js";
import { root } from "./setup.js";

/** Number of objects that get more versions, for histories and reads as of earlier times, and how many versions they get. */
const revised = 50;
const versions = 10;

/** What is asked of us, and of SQL. Each looks at the metadata of all objects. */
const queries = /** @type {const} */ ([
  [
    "by field, none found",
    "char_count > 100000 limit 10",
    "AND json_extract(fields, '$.char_count') > 100000 LIMIT 10",
  ],
  ["by tag, none found", 'tags = "none" limit 10', "AND json_extract(fields, '$.tags') = 'none' LIMIT 10"],
  [
    "for the ten longest",
    "order by char_count desc limit 10",
    "ORDER BY json_extract(fields, '$.char_count') DESC LIMIT 10",
  ],
]);

/** Source of every object by its ID, for puts. @type {Map<string, import("../index.js").Source | null>} */
const sources = new Map();

/** @type {import("./lib/bench-report.js").Percentiles[]} */
const rows = [];
for (const count of process.argv.slice(2).map(Number)) {
  const folder = mkdtempSync(join(tmpdir(), "palimpsest-bench-"));
  try {
    rows.push(...(await compare(folder, count)));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
writeFileSync(join(root, "target", "bench", "store.json"), JSON.stringify(rows));

/**
 * @param {string} folder an empty one
 * @param {number} count objects
 */
async function compare(folder, count) {
  const store = await openStore({ path: join(folder, "store.sqlite") });
  const plain = openPlain(join(folder, "plain.sqlite"));
  await fill(store, folder, count);
  const ids = await copyTo(plain, store);
  const { middle, time, some } = await revise(store, plain, ids);

  /** @type {import("./lib/bench-report.js").Percentiles[]} */
  const found = [];
  /** @param {string} what @param {(turn: number) => unknown} ours @param {(turn: number) => unknown} beside */
  const row = async (what, ours, beside) => {
    const name = `${what}, ${count.toLocaleString("en")} objects`;
    found.push({ what: name, ours: await measure(ours), beside: "node:sqlite", plain: await measure(beside) });
  };
  // Far apart from turn to turn, so that no call profits from what the previous one read.
  const any = (/** @type {number} */ turn) => ids[(turn * 7_919) % ids.length];
  await row(
    "get",
    (turn) => store.get(any(turn)),
    (turn) => plain.get(any(turn)),
  );
  await row(
    "get as of transaction",
    (turn) => store.get(some(turn), { at: middle }),
    (turn) => plain.asOf(some(turn), middle),
  );
  await row(
    "get as of time",
    (turn) => store.get(some(turn), { at: time }),
    (turn) => plain.asOfTime(some(turn), Date.parse(time)),
  );
  await row(
    `history of ${versions}`,
    (turn) => store.history(some(turn)),
    (turn) => plain.history(some(turn)),
  );
  await row(
    "put and commit",
    (turn) => store.put(file(any(turn), text(count + turn))),
    (turn) => plain.put(any(turn), 1_000_000 + turn, Date.now(), text(count + turn)),
  );
  await row(
    "page of 100 by type",
    (turn) => store.list("file", { after: any(turn), limit: 100 }),
    (turn) => plain.page(any(turn)),
  );
  for (const [what, ours, sql] of queries) {
    await row(
      `query ${what}`,
      () => store.query(ours),
      () => plain.query(sql),
    );
  }
  if (count >= 100_000) {
    await store.search("first");
    for (const [share, words] of searches) {
      await row(
        `search, words in ${share}`,
        () => store.search(words),
        () => plain.search(words),
      );
    }
  }
  plain.close();
  await store.close();
  return found;
}

/** @typedef {Awaited<ReturnType<typeof openStore>>} Store */

/** @param {string} id @param {string} content @returns {import("../index.js").PutOptions} */
function file(id, content) {
  return { type: "file", source: sources.get(id) ?? undefined, content, fields: fields(content) };
}

/** @param {string} content */
function fields(content) {
  return { file_type: "rs", char_count: content.length };
}

/**
 * Files on disk, then in the store: 200 in each transaction.
 * @param {Store} store @param {string} folder @param {number} count
 */
async function fill(store, folder, count) {
  const project = join(folder, "project");
  for (let number = 0; number < count; number += 1) {
    const inside = join(project, `part_${Math.floor(number / 500)}`);
    if (number % 500 === 0) {
      mkdirSync(inside, { recursive: true });
    }
    writeFileSync(join(inside, `module_${number}.rs`), text(number));
  }
  await store.index([project]);
}

/**
 * The same objects in the plain tables.
 * @param {ReturnType<typeof openPlain>} plain @param {Store} store
 */
async function copyTo(plain, store) {
  const ids = [];
  for (let page = await store.list("file"); page.length > 0; page = await store.list("file", { after: ids.at(-1) })) {
    plain.begin();
    for (const { id, source, txId, systemTime } of page) {
      const path = source?.path ?? "";
      const content = text(Number(/(\d+)\.rs$/.exec(path)?.[1]));
      plain.insert(id, txId, Date.parse(systemTime), content);
      plain.insertText(path, content);
      sources.set(id, source);
      ids.push(id);
    }
    plain.commit();
  }
  return ids;
}

/**
 * More versions of some objects; the point at which they had half of them.
 * @param {Store} store @param {ReturnType<typeof openPlain>} plain @param {string[]} ids
 */
async function revise(store, plain, ids) {
  const some = (/** @type {number} */ turn) => ids[Math.floor(((turn % revised) * ids.length) / revised)];
  let [middle, time] = [0, ""];
  for (let turn = 0; turn < revised * (versions - 1); turn += 1) {
    const content = text(ids.length + 100_000 + turn);
    const { version } = await store.put(file(some(turn), content));
    plain.put(some(turn), version.txId, Date.parse(version.systemTime), content);
    if (turn === (revised * versions) / 2) {
      [middle, time] = [version.txId, version.systemTime];
    }
  }
  return { middle, time, some };
}

/** @param {string} path */
function openPlain(path) {
  const database = new DatabaseSync(path);
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
    CREATE TABLE version (id TEXT, tx_id INTEGER, time INTEGER, source_hash TEXT, content_hash TEXT, fields TEXT,
      content TEXT, PRIMARY KEY (id, tx_id));
    CREATE VIRTUAL TABLE file USING fts5 (path, content);`);
  const columns = "SELECT tx_id, time, source_hash, content_hash, fields FROM version WHERE id = ?";
  const latest = database.prepare(`${columns} ORDER BY tx_id DESC LIMIT 1`);
  const asOf = database.prepare(`${columns} AND tx_id <= ? ORDER BY tx_id DESC LIMIT 1`);
  const asOfTime = database.prepare(`${columns} AND time <= ? ORDER BY tx_id DESC LIMIT 1`);
  const all = database.prepare(`${columns} ORDER BY tx_id DESC`);
  const newest = `SELECT id, tx_id, time, source_hash, content_hash, fields FROM version AS v
    WHERE tx_id = (SELECT max(tx_id) FROM version WHERE id = v.id)`;
  const page = database.prepare(`${newest} AND id > ? ORDER BY id LIMIT 100`);
  const asked = new Map(queries.map(([, , sql]) => [sql, database.prepare(`${newest} ${sql}`)]));
  const insert = database.prepare("INSERT INTO version VALUES (?, ?, ?, ?, ?, ?, ?)");
  const insertText = database.prepare("INSERT INTO file VALUES (?, ?)");
  const search = database.prepare(`SELECT path, snippet(file, 1, '[', ']', '…', 16) FROM file
    WHERE file MATCH ? ORDER BY rank LIMIT 10`);
  const [begin, commit] = [database.prepare("BEGIN IMMEDIATE"), database.prepare("COMMIT")];
  /** @param {Record<string, unknown> | undefined} row */
  const version = (row) => row && { ...row, fields: JSON.parse(String(row.fields)) };
  const hash = "0123456789abcdef".repeat(4);
  const plain = {
    begin: () => begin.run(),
    commit: () => commit.run(),
    /** @param {string} id @param {number} txId @param {number} time @param {string} content */
    insert: (id, txId, time, content) =>
      insert.run(id, txId, time, hash, hash, JSON.stringify(fields(content)), content),
    /** @param {string} name @param {string} content */
    insertText: (name, content) => insertText.run(name, content),
    /** @param {string} id @param {number} txId @param {number} time @param {string} content */
    put: (id, txId, time, content) => {
      plain.begin();
      plain.insert(id, txId, time, content);
      plain.commit();
    },
    /** @param {string} id */
    get: (id) => version(latest.get(id)),
    /** @param {string} id @param {number} txId */
    asOf: (id, txId) => version(asOf.get(id, txId)),
    /** @param {string} id @param {number} time */
    asOfTime: (id, time) => version(asOfTime.get(id, time)),
    /** @param {string} id */
    history: (id) => all.all(id).map(version),
    /** @param {string} after an ID */
    page: (after) => page.all(after).map(version),
    /** @param {(typeof queries)[number][2]} sql */
    query: (sql) => asked.get(sql)?.all().map(version),
    /** @param {string} words */
    search: (words) => search.all(words.replaceAll(" ", " OR ")),
    close: () => database.close(),
  };
  return plain;
}
