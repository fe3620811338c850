// Looks for a text in every byte and every value of a store's file, decompressed where it is compressed.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { zstdDecompressSync } from "node:zlib";

/** Where the store of a sandbox's agent folder is. */
export function storeOf(agentDir: string): string {
  return join(agentDir, "palimpsest", "store.sqlite");
}

/** Whether a store holds a text, in its files as they are or in any value. */
export function storeHolds(path: string, text: string): boolean {
  const bytes = Buffer.from(text);
  return readFileSync(path).includes(bytes) || [...valuesOf(path)].some((value) => value.includes(bytes));
}

/** Every value of every table, as it is and decompressed. */
export function* valuesOf(path: string): Generator<Buffer> {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
    for (const { name } of tables) {
      const rows = database.prepare(`SELECT * FROM "${name}"`);
      rows.setReadBigInts(true);
      for (const row of rows.iterate()) {
        for (const value of Object.values(row)) {
          if (typeof value === "string" || value instanceof Uint8Array) {
            yield Buffer.from(value as string);
            yield decompressed(value);
          }
        }
      }
    }
  } finally {
    database.close();
  }
}

function decompressed(value: string | Uint8Array): Buffer {
  try {
    return zstdDecompressSync(Buffer.from(value as string));
  } catch {
    return Buffer.alloc(0);
  }
}
