import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A site of someone else on this machine, under every loopback name. */
export interface HostileSite {
  /** The same host as the console with another port: browsers send it the console's cookies. */
  sameSite: string;
  /** Another site. */
  crossSite: string;
  close(): Promise<void>;
}

export async function openHostileSite(headers: Readonly<Record<string, string>> = {}): Promise<HostileSite> {
  const server = createServer((_, res) => {
    res.writeHead(200, { "content-type": "text/html", ...headers });
    res.end("<!doctype html><title>win a prize</title><body>");
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    sameSite: `http://127.0.0.1:${port}`,
    crossSite: `http://localhost:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
