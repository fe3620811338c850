// Packs the vocabulary of o200k_base: `node scripts/make-vocabulary.js o200k_base.tiktoken`, the file that OpenAI's tiktoken (MIT
// license) loads, checked by the SHA-256 that tiktoken states (`tiktoken_ext/openai_public.py`). Writes
// crates/o200k/src/o200k_base.zst: the length of each token in a byte, by rank, then their bytes; all in one zstd frame.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { constants, zstdCompressSync } from "node:zlib";
import { root } from "./setup.js";

const published = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d";

const [path] = process.argv.slice(2);
const file = readFileSync(path);
const found = createHash("sha256").update(file).digest("hex");
if (found !== published) {
  throw new Error(`${path} has the SHA-256 ${found}, not ${published}`);
}
const tokens = file
  .toString("ascii")
  .trimEnd()
  .split("\n")
  .map((line, at) => {
    const [token, rank] = line.split(" ");
    const bytes = Buffer.from(token, "base64");
    if (Number(rank) !== at || bytes.length > 255) {
      throw new Error(`line ${at + 1} cannot be packed`);
    }
    return bytes;
  });
const packed = Buffer.concat([Buffer.from(tokens.map(({ length }) => length)), ...tokens]);
const params = { [constants.ZSTD_c_compressionLevel]: 22, [constants.ZSTD_c_windowLog]: 23 };
writeFileSync(join(root, "crates", "o200k", "src", "o200k_base.zst"), zstdCompressSync(packed, { params }));
console.log(
  `${tokens.length} tokens, ${packed.length} bytes, SHA-256 ${createHash("sha256").update(packed).digest("hex")}`,
);
