// How much processor time the processes took that this one started. Elapsed time would say how busy the machine was.
import { existsSync, readFileSync } from "node:fs";

const file = "/proc/self/stat";
const ticksPerSecond = 100;

/**
 * Seconds of all processes that this one started, theirs among them, that have ended. Always 0 where the system does not say it in this
 * way: on anything but Linux.
 */
export function childSeconds() {
  if (!existsSync(file)) {
    return 0;
  }
  const stat = readFileSync(file, "utf8");
  // The second field, the program's name, may hold spaces. Fields 16 and 17 of proc(5) are the children's time for them and for the system.
  const fromThird = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fromThird[13]) + Number(fromThird[14])) / ticksPerSecond;
}
