/**
 * Handlers that answer with ready texts: what an answer cannot be faster than. Takes `{path: body}` on its standard
 * input, says on stdout where it listens, and ends with SIGTERM.
 */
import { createServer, type RequestListener } from "node:http";
import { text } from "node:stream/consumers";
import { H3, toNodeHandler } from "h3";

const JSON_TYPE = "application/json";
const bodies = JSON.parse(await text(process.stdin)) as Record<string, string>;
const server = createServer(process.argv[2] === "node" ? byNode() : byH3()).listen(0, "127.0.0.1", () => {
  const address = server.address();
  console.log(JSON.stringify({ port: typeof address === "object" ? address?.port : undefined }));
});
process.once("SIGTERM", () => process.exit());

function byH3(): RequestListener {
  const app = new H3();
  for (const [path, body] of Object.entries(bodies)) {
    app.get(path, (event) => {
      event.res.headers.set("content-type", JSON_TYPE);
      return body;
    });
    app.post(path, async (event) => {
      await event.req.text();
      event.res.headers.set("content-type", JSON_TYPE);
      return body;
    });
  }
  return toNodeHandler(app);
}

function byNode(): RequestListener {
  return (req, res) => {
    const body = bodies[req.url ?? ""];
    req.resume();
    req.on("end", () => {
      res.writeHead(200, { "content-type": JSON_TYPE, "content-length": Buffer.byteLength(body ?? "") });
      res.end(body);
    });
  };
}
