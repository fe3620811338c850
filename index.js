// The package's entry: the native addon as `lib/addon.js` found it, with the session and the tools of `lib` in the place of their
// native sides. Its types are in `index.d.ts`.
import { binding } from "./lib/addon.js";

export { openSession, Session } from "./lib/session.js";
export { tools } from "./lib/tools.js";
export const {
  __napiBindingTarget,
  checkSettings,
  countTokens,
  doctor,
  documentWithoutSecrets,
  findSessions,
  learnHazards,
  loadSettings,
  Maintenance,
  Memory,
  migrate,
  openMemory,
  openStore,
  pricePresets,
  projectTrust,
  removeTemporary,
  replayFile,
  replayReport,
  SharedStore,
  Store,
  setAside,
  settingProblems,
  settingValues,
  storePath,
  Tracking,
  trustedProjects,
  trustProject,
  withoutSecrets,
  writePrivate,
} = binding;
