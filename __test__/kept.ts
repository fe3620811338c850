// Where the program keeps what belongs to a project and must not lie in it.
import { createHash } from "node:crypto";
import { realpathSync } from "node:fs";
import { join } from "node:path";

/** The folder of a project among a person's own; see docs/memory.md. */
export function keptFolder({ agentDir, projectDir }: { agentDir: string; projectDir: string }): string {
  const key = createHash("sha256").update(realpathSync(projectDir)).digest("hex").slice(0, 16);
  return join(agentDir, "palimpsest", "memory", key);
}
