// A registry of npm packages on loopback that serves tarballs from a folder, as the public one would after a release.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { basename, join } from "node:path";
import { gunzipSync } from "node:zlib";
import { onTestFinished } from "vitest";

interface Manifest {
  name: string;
  version: string;
  optionalDependencies?: Record<string, string>;
}

interface Registry {
  url: string;
  /** The names of the tarballs that were asked for. */
  asked: string[];
  close: () => void;
}

/** Serves the tarballs of a folder; gone when the test has finished. */
export async function startRegistry(folder: string): Promise<Registry> {
  const registry = await serveRegistry(folder);
  onTestFinished(registry.close);
  return registry;
}

/** Serves the tarballs of a folder, until it is closed. */
export async function serveRegistry(folder: string): Promise<Registry> {
  const packages = new Map<string, { manifest: Manifest; file: string }>();
  for (const name of readdirSync(folder).filter((each) => each.endsWith(".tgz"))) {
    const file = join(folder, name);
    const manifest = manifestOf(file);
    packages.set(manifest.name, { manifest, file });
  }
  const asked: string[] = [];
  let url = "";
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? "").slice(1);
    const found = packages.get(path);
    const tarball = [...packages.values()].find(({ file }) => path === `-/${basename(file)}`);
    if (tarball !== undefined) {
      asked.push(basename(tarball.file));
      response.end(readFileSync(tarball.file));
    } else if (found === undefined) {
      response.writeHead(404, { "content-type": "application/json" }).end('{"error":"not found"}');
    } else {
      const { manifest, file } = found;
      const integrity = `sha512-${createHash("sha512").update(readFileSync(file)).digest("base64")}`;
      const version = { ...manifest, dist: { tarball: `${url}/-/${basename(file)}`, integrity } };
      const document = {
        name: path,
        "dist-tags": { latest: manifest.version },
        versions: { [manifest.version]: version },
      };
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(document));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url, asked, close };
}

/** The manifest in a tarball of npm. */
export function manifestOf(file: string): Manifest {
  const tar = gunzipSync(readFileSync(file));
  for (let at = 0; at < tar.length; ) {
    const text = (from: number, length: number) =>
      tar.toString("utf8", at + from, at + from + length).replace(/\0.*$/s, "");
    const size = Number.parseInt(text(124, 12), 8) || 0;
    if (text(0, 100) === "package/package.json") {
      return JSON.parse(tar.toString("utf8", at + 512, at + 512 + size)) as Manifest;
    }
    at += 512 + Math.ceil(size / 512) * 512;
  }
  throw new Error(`no manifest in ${file}`);
}
