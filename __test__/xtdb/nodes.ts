// Real nodes of XTDB for tests: the development server of `xtdb/`, which ends with the file that started it.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect } from "vitest";
import { prepareXtdb, startXtdb } from "../../scripts/lib/xtdb.js";

const why = prepareXtdb();
/** Whether tests on a node are to be skipped; a line has said why. */
export const noXtdb = why !== undefined && skipped(why);

function skipped(reason: string): boolean {
  if (process.env.PALIMPSEST_REQUIRE_ALL_TESTS === "1") {
    throw new Error(reason);
  }
  console.warn(`skipped, for want of XTDB: ${reason}`);
  return true;
}

/** A node that runs until it is ended, or all tests of the file have run. */
export interface Node {
  readonly url: string;
  /** The address of an empty database of its own, in the same process. */
  database(): string;
  end(): Promise<void>;
}

let databases = 0;

/** Ends the nodes that were started. */
const ends: (() => Promise<void>)[] = [];

// Here, since vitest does nothing with what tests and hooks register for the end of a file, and says nothing.
afterAll(async () => {
  await Promise.all(ends.splice(0).map((end) => end()));
});

/** Starts a node in memory. `token`: what requests must bring. */
export async function startNode(options: { token?: string; readOnly?: boolean; port?: number } = {}): Promise<Node> {
  const dataDir = mkdtempSync(join(tmpdir(), "palimpsest-xtdb-"));
  const tokenFile = options.token === undefined ? undefined : join(dataDir, "token");
  if (tokenFile !== undefined) {
    writeFileSync(tokenFile, options.token ?? "", { mode: 0o600 });
  }
  const { port = 0, readOnly } = options;
  const server = startXtdb({ config: "memory", dataDir, port, tokenFile, readOnly });
  const end = async () => {
    server.child.kill("SIGKILL");
    await server.ended.catch(() => {});
    rmSync(dataDir, { recursive: true, force: true });
  };
  ends.push(end);
  const url = await server.url;
  return {
    url,
    end,
    database() {
      databases += 1;
      return `${url}/db/test-${process.pid}-${databases}`;
    },
  };
}

/** Writes past us, as another program would. */
export async function submit(url: string, operations: unknown[]): Promise<void> {
  const headers = { "Content-Type": "application/json", Accept: "application/json" };
  const body = JSON.stringify({ "tx-ops": operations });
  const answer = await fetch(`${url}/_xtdb/submit-tx`, { method: "POST", headers, body });
  const { txId } = (await answer.json()) as { txId: number };
  const committed = `${url}/_xtdb/tx-committed?tx-id=${txId}&await-tx-id=${txId}&await-tx-timeout=5000`;
  expect(await (await fetch(committed, { headers })).json()).toEqual({ "txCommitted?": true });
}
