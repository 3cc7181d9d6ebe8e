// Receives events and verifies them. Needs Node.js 20 or newer and `npm install standardwebhooks`.
import { createServer } from "node:http";
import { Webhook } from "standardwebhooks";

const SECRET = process.env.EVENTS_SECRET; // the tenant file's secret: behind whsec_ it is base64, otherwise the key as it is
const webhook = SECRET.startsWith("whsec_") ? new Webhook(SECRET) : new Webhook(SECRET, { format: "raw" });
const seen = new Set(); // keep this in your database

const server = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  try {
    // The signature covers the bytes that arrived: verify before parsing. A time over five minutes away is an error.
    const event = webhook.verify(Buffer.concat(chunks).toString(), request.headers);
    const id = request.headers["webhook-id"];
    if (!seen.has(id)) console.log(event.type, event.data.sequence ?? "");
    seen.add(id);
    response.writeHead(204).end();
  } catch {
    response.writeHead(401).end();
  }
});
server.listen(Number(process.env.PORT ?? 3000), "127.0.0.1", () => console.log("port", server.address().port));
