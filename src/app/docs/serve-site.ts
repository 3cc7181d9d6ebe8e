import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { extname } from "node:path";
import { Fault } from "../../domain/fault.ts";
import { pagePolicy } from "../../server/pages/html.ts";
import type { DocumentSite } from "./site.ts";

const HOST = "127.0.0.1";
const TYPES: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".jpg": "image/jpeg",
};
const POLICY = pagePolicy({
  scripts: ["'self'"],
  styles: ["'self'"],
  images: ["'self'", "data:"],
  forms: ["'self'"],
  ancestors: ["'none'"],
});

export interface ServedSite {
  url: string;
  close(): Promise<void>;
}

/**
 * Serves the documents to this machine only, and renders each one on request.
 * @param port default: any free one
 * @throws Fault USAGE when the port is in use
 */
export async function serveSite(site: DocumentSite, port = 0): Promise<ServedSite> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://site.invalid");
    const path = pathname === "/" ? "index.html" : pathname.slice(1);
    const isRead = request.method === "GET" || request.method === "HEAD";
    const file = isRead ? site.file(path) : undefined;
    const type = file === undefined ? undefined : TYPES[extname(path)];
    response.writeHead(file === undefined ? 404 : 200, {
      "content-type": type ?? "text/plain; charset=utf-8",
      "content-security-policy": POLICY,
      "x-content-type-options": "nosniff",
      "cache-control": "no-store",
    });
    response.end(request.method === "HEAD" ? undefined : (file ?? "There is no such page.\n"));
  });
  server.listen(port, HOST);
  try {
    await once(server, "listening");
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const reason = code === "EADDRINUSE" ? "it is in use; without --port pmctl takes any free port" : (code ?? message);
    throw new Fault("USAGE", `Cannot listen on ${HOST} port ${port}: ${reason}`, { cause });
  }
  return {
    url: `http://${HOST}:${(server.address() as AddressInfo).port}`,
    async close() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
