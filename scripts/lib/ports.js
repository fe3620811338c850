// Ports for servers that are started in another process, later, or again. Such a port must not lie where the system takes ports from:
// between its choice and its use, or while its server is down, somebody else's connection could get it.
import { createServer } from "node:net";

/** Below what Linux (from 32768), macOS and Windows (from 49152) give out by themselves. */
const [first, end] = [20_000, 32_000];
/** One for the claim, one for the server, and more for what a server may open beside its own: OpenClaw's gateway does. */
const span = 20;
const attempts = 100;

/**
 * Claims a port on loopback until it is released, or this process ends.
 *
 * The claim is a server on the port before: the system lets one process have it, and takes it from a process that was killed.
 * @returns {Promise<{ port: number, release: () => void }>} `port` is free; rejects when 100 in a row are taken
 */
export async function claimPort() {
  for (let attempt = 1; ; attempt++) {
    const place = first + span * Math.floor((Math.random() * (end - first)) / span);
    try {
      return await claim(place);
    } catch (error) {
      if (attempt === attempts) {
        throw error;
      }
    }
  }
}

/** @param {number} place */
async function claim(place) {
  const holder = await listen(place);
  holder.unref();
  const release = () => {
    holder.close();
  };
  const port = place + 1;
  try {
    (await listen(port)).close();
  } catch (error) {
    release();
    throw error;
  }
  return { port, release };
}

/**
 * @param {number} port
 * @returns {Promise<import("node:net").Server>}
 */
function listen(port) {
  const server = createServer((socket) => socket.destroy());
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => resolve(server));
  });
}
