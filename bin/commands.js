// The commands, in the order of `palimpsest --help`. To add one, add a file in `commands/`, a line here, and a row in the documents.
import { backup } from "./commands/backup.js";
import { context } from "./commands/context.js";
import { describe } from "./commands/describe.js";
import { diff } from "./commands/diff.js";
import { doctor } from "./commands/doctor.js";
import { expand } from "./commands/expand.js";
import { exportArchive } from "./commands/export.js";
import { forget } from "./commands/forget.js";
import { gc } from "./commands/gc.js";
import { history } from "./commands/history.js";
import { importArchive } from "./commands/import.js";
import { index } from "./commands/index.js";
import { learn } from "./commands/learn.js";
import { ledger } from "./commands/ledger.js";
import { links } from "./commands/links.js";
import { memory } from "./commands/memory.js";
import { migrate } from "./commands/migrate.js";
import { name } from "./commands/name.js";
import { objects } from "./commands/objects.js";
import { open } from "./commands/open.js";
import { pool } from "./commands/pool.js";
import { replay } from "./commands/replay.js";
import { search } from "./commands/search.js";
import { sessions } from "./commands/sessions.js";
import { show } from "./commands/show.js";
import { stats } from "./commands/stats.js";
import { sync } from "./commands/sync.js";
import { trust } from "./commands/trust.js";

/** @type {import("./lib/arguments.js").Command[]} */
export const commands = [
  index,
  sessions,
  open,
  context,
  ledger,
  objects,
  search,
  show,
  history,
  diff,
  links,
  expand,
  name,
  describe,
  pool,
  memory,
  trust,
  backup,
  exportArchive,
  importArchive,
  sync,
  migrate,
  forget,
  gc,
  doctor,
  stats,
  replay,
  learn,
];
