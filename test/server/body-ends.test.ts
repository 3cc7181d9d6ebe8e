import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { Fault } from "../../src/domain/fault.ts";
import { readBody } from "../../src/server/body.ts";

/** A request that names a body of ten bytes and sends four. */
async function partOfRequest(): Promise<{ req: IncomingMessage; leave: () => void }> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  socket.write("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\n1234");
  const [req] = (await once(server, "request")) as [IncomingMessage];
  return { req, leave: () => void socket.destroy() };
}

test("the body of a client that leaves while it is read has ended early", async () => {
  const { req, leave } = await partOfRequest();
  const body = readBody(req, 100);
  leave();
  await expect(body).rejects.toEqual(new Fault("BAD_REQUEST", "The body ended early"));
});

test("the body of a client that left before it was asked for has ended early", async () => {
  const { req, leave } = await partOfRequest();
  const closed = new Promise((resolve) => req.once("close", resolve));
  leave();
  await closed;
  await expect(readBody(req, 100)).rejects.toEqual(new Fault("BAD_REQUEST", "The body ended early"));
});
