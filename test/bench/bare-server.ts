/** A bare h3 handler that answers with a ready text: what a read cannot be faster than. Talks to its parent over IPC. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { H3, toNodeHandler } from "h3";

const body = JSON.stringify({ id: "mkt", question: "Bench market?", yesPrice: 0.5, noPrice: 0.5, volume: 0, meta: {} });
const app = new H3().get("/v1/markets/:id", () => body);
const server = createServer(toNodeHandler(app)).listen(0, "127.0.0.1", () => {
  process.send?.({ port: (server.address() as AddressInfo).port });
});
process.on("message", () => {
  server.close();
  server.closeAllConnections();
  process.send?.({ batches: [], rss: process.memoryUsage().rss });
  process.disconnect();
});
