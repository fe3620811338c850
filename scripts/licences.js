// Writes THIRD-PARTY.md: whose work is in the native addon, and under which licences. Run it when `Cargo.lock` changes; a test compares.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { thirdParties } from "./lib/licences.js";
import { root } from "./setup.js";

writeFileSync(join(root, "THIRD-PARTY.md"), thirdParties(root));
