/**
 * Bare h3 handlers that answer with ready texts: what a read cannot be faster than. Takes `{path: body}` on its standard
 * input, says on stdout where it listens, and ends with SIGTERM.
 */
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { H3, toNodeHandler } from "h3";

const bodies = JSON.parse(await text(process.stdin)) as Record<string, string>;
const app = new H3();
for (const [path, body] of Object.entries(bodies))
  app.get(path, (event) => {
    event.res.headers.set("content-type", "application/json");
    return body;
  });
const server = createServer(toNodeHandler(app)).listen(0, "127.0.0.1", () => {
  const address = server.address();
  console.log(JSON.stringify({ port: typeof address === "object" ? address?.port : undefined }));
});
process.once("SIGTERM", () => process.exit());
