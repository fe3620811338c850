// A registry of npm packages on loopback, in the place of the public one: takes what `npm publish` sends, and serves it. Must not ask any
// other registry.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { basename, join } from "node:path";
import { manifestOf } from "./publish.js";

/**
 * @typedef {object} Registry
 * @property {string} url
 * @property {string} token what an `.npmrc` must say so that npm publishes there
 * @property {string[]} asked the names of the tarballs that were asked for
 * @property {string[]} taken the names of the packages that were published
 * @property {() => void} close
 */

/**
 * @param {object} [options]
 * @param {string} [options.folder] with tarballs that are there from the start
 * @param {(name: string) => boolean} [options.refuses] whether a package that is published is refused; default: none is
 * @returns {Promise<Registry>}
 */
export async function serveRegistry({ folder, refuses = () => false } = {}) {
  /** @type {Map<string, { manifest: any, file: string, tarball: Buffer }>} */
  const packages = new Map();
  for (const name of folder === undefined ? [] : readdirSync(folder).filter((each) => each.endsWith(".tgz"))) {
    const file = join(/** @type {string} */ (folder), name);
    const manifest = manifestOf(file);
    packages.set(manifest.name, { manifest, file: name, tarball: readFileSync(file) });
  }
  const asked = /** @type {string[]} */ ([]);
  const taken = /** @type {string[]} */ ([]);
  let url = "";

  /** @param {string} name @param {any} document as npm sends it */
  function publish(name, document) {
    const [manifest] = Object.values(document.versions);
    const [[file, { data }]] = Object.entries(document._attachments);
    packages.set(name, { manifest, file: basename(file), tarball: Buffer.from(data, "base64") });
    taken.push(name);
  }

  /** @param {string} name */
  function described(name) {
    const found = packages.get(name);
    if (found === undefined) {
      return [404, { error: "not found" }];
    }
    const { manifest, file, tarball } = found;
    const integrity = `sha512-${createHash("sha512").update(tarball).digest("base64")}`;
    const { version } = manifest;
    const versions = { [version]: { ...manifest, dist: { tarball: `${url}-/${file}`, integrity } } };
    return [200, { name, "dist-tags": { latest: version }, versions }];
  }

  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? "").slice(1);
    /** @type {Buffer[]} */
    const body = [];
    request.on("data", (chunk) => body.push(chunk));
    request.on("end", () => {
      const served = [...packages.values()].find(({ file }) => path === `-/${file}`);
      if (served !== undefined) {
        asked.push(served.file);
        response.end(served.tarball);
        return;
      }
      const isRefused = request.method === "PUT" && refuses(path);
      if (request.method === "PUT" && !isRefused) {
        publish(path, JSON.parse(Buffer.concat(body).toString()));
      }
      const [status, answer] = isRefused ? [400, { error: "not now" }] : described(path);
      response.writeHead(Number(status), { "content-type": "application/json" }).end(JSON.stringify(answer));
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  url = `http://127.0.0.1:${port}/`;
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url, token: `//127.0.0.1:${port}/:_authToken=none\n`, asked, taken, close };
}
