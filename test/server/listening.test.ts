import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { type Listening, listen, SOCKETS } from "../../src/server/connections/listening.ts";

const HOST = "127.0.0.1";
const isLinux = process.platform === "linux";
const IN_USE =
  /^Cannot listen on 127\.0\.0\.1 port \d+: it is in use; --port and --ops-port choose others, and pmctl status shows who serves$/;

async function start(port = 0, server: Server = createServer()): Promise<{ server: Server; listening: Listening }> {
  const listening = await listen(server, HOST, port, () => {});
  onTestFinished(() => void listening.close());
  return { server, listening };
}

/** Connections that are all on their way before the server's next turn. */
function connectAtOnce(port: number, count: number): Socket[] {
  return Array.from({ length: count }, () => connect({ port, host: HOST }).on("error", () => {}));
}

test.runIf(isLinux)("as many connections as there are sockets are accepted in a turn of the event loop", async () => {
  const count = SOCKETS * 8;
  let turn = 0;
  const accepted = new Map<number, number>();
  const server = createServer();
  const all = new Promise<void>((resolve) => {
    let left = count;
    server.on("connection", (socket) => {
      socket.destroy();
      accepted.set(turn, (accepted.get(turn) ?? 0) + 1);
      left -= 1;
      if (left === 0) resolve();
    });
  });
  const { listening } = await start(0, server);
  const countTurns = () => {
    turn += 1;
    if (accepted.size < count) timer = setImmediate(countTurns);
  };
  let timer = setImmediate(countTurns);
  connectAtOnce(listening.port, count);
  await all;
  clearImmediate(timer);
  expect(accepted.size).toBeLessThan(count / 4);
});

test("a port that another server has is refused, whichever began to listen by which means", async () => {
  const { listening } = await start();
  await expect(start(listening.port)).rejects.toThrow(IN_USE);
  const plain = createServer().listen(0, HOST);
  await once(plain, "listening");
  onTestFinished(() => void plain.close());
  await expect(start((plain.address() as { port: number }).port)).rejects.toThrow(IN_USE);
});

test("after close no connection is taken, those that are open go on, and the port is free once they have ended", async () => {
  const count = SOCKETS * 4;
  const { server, listening } = await start();
  const taken: Socket[] = [];
  server.on("connection", (socket) => taken.push(socket.on("error", () => {})));
  const open = connectAtOnce(listening.port, count);
  await expect.poll(() => taken.length).toBe(count);
  let isClosed = false;
  const closed = listening.close().then(() => {
    isClosed = true;
  });
  const [late] = connectAtOnce(listening.port, 1) as [Socket];
  await new Promise((resolve) => late.once("close", resolve));
  expect([taken.length, isClosed]).toEqual([count, false]);
  const received = open.map((socket) => once(socket, "data"));
  for (const socket of taken) socket.write("still here");
  expect((await Promise.all(received)).flat().map(String)).toEqual(Array(count).fill("still here"));
  for (const socket of open) socket.destroy();
  for (const socket of taken) socket.destroy();
  await closed;
  const again = await start(listening.port);
  expect(again.listening.port).toBe(listening.port);
});
