// A run's own folder for Pi's agent, so that no test reads the settings and the memory of whoever runs it.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Makes the folder, which the workers find in their environment; gives what removes it again. */
export default function ownAgent(): () => void {
  const folder = mkdtempSync(join(tmpdir(), "palimpsest-agent-"));
  process.env.PI_CODING_AGENT_DIR = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}
