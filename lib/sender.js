// A program of its own that sends to the shared store what a session left that ended. Ends by itself: when nothing waits, or when its
// time is up. `sending.js` starts it.
import { openStore } from "../index.js";

const { path, settings, seconds } = JSON.parse(process.env.PALIMPSEST_LEFT ?? "{}");
const store = await openStore({ path, settings, create: false });
const shared = await store.shared();
// What is not sent by then goes with the next session.
await shared.finish(seconds).finally(() => store.close());
