// The package's entry: the native addon as `binding.js` loads it, with the session and the tools of `lib` in the place of their
// native sides. Its types are in `index.d.ts`.
export * from "./binding.js";
export { openSession, Session } from "./lib/session.js";
export { tools } from "./lib/tools.js";
