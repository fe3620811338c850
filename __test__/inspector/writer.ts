// A process that works in a session while others look at it: plays a turn for each line that it is sent, and says how many calls there are.
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { openStore } from "../../index.js";
import { playTurn, startWork } from "./stores.ts";

const [folder] = process.argv.slice(2);
const store = await openStore({ path: join(folder, "store.sqlite") });
const host = await startWork(store, join(folder, "project"));
let turn = 0;
const lines = createInterface({ input: process.stdin });
lines.on("line", async () => {
  await playTurn(host, turn);
  turn += 1;
  console.log(host.session.status().calls);
});
await once(lines, "close");
await host.session.close();
await store.close();
