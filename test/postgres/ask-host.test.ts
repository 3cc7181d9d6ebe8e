import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, test } from "vitest";
import { parseDatabaseUrl } from "../../src/domain/access/database-address.ts";
import { askAlone } from "../../src/postgres/route/ask-host.ts";

test("a balancer that closes a connection before the login is not waited for, as long as a connection may take", async () => {
  const balancer = createServer((socket) => socket.once("data", () => socket.end()));
  balancer.listen(0, "127.0.0.1");
  await once(balancer, "listening");
  const { port } = balancer.address() as AddressInfo;
  const address = parseDatabaseUrl(`postgres://acme@127.0.0.1:${port}/acme?connect_timeout=0`);
  try {
    await expect(askAlone(address, { host: "127.0.0.1", port })).rejects.toThrow("The server closed the connection");
  } finally {
    balancer.close();
  }
});
