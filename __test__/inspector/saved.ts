// Pages that carry their data, for the inspector's tests: writes them with the command, and reads what they carry.
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { gunzipSync } from "node:zlib";
import type { CarriedSession } from "../../inspector/protocol.js";
import { pinnedNode, root } from "../../scripts/setup.js";
import type { Made } from "./stores.ts";

const run = promisify(execFile);

/** Writes a session as one page. Its path. `agentDir`: where the person's own memory would be. */
export async function save({ path, session }: Made, file: string, agentDir: string, ...options: string[]) {
  const program = join(root, "bin", "palimpsest.js");
  const args = [program, "open", session, "--html", file, "--store", path, ...options];
  await run(pinnedNode(), args, { env: { ...process.env, PI_CODING_AGENT_DIR: agentDir } });
  return file;
}

/** What a page carries, as JSON. */
export function carriedText(file: string): string {
  const [, data] = /<script type="text\/plain" id="carried">([^<]*)<\/script>/.exec(readFileSync(file, "utf8")) ?? [];
  return gunzipSync(Buffer.from(data ?? "", "base64")).toString();
}

export function carriedBy(file: string): CarriedSession {
  return JSON.parse(carriedText(file));
}
