import { once } from "node:events";
import { createRequire } from "node:module";
import { connect, createServer, type Server } from "node:net";
import { isUnsafePort } from "get-port-please";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { type Listening, listenOnOneSocket } from "../../src/server/connections/listening.ts";

const HOST = "127.0.0.1";

afterEach(() => void vi.restoreAllMocks());

async function start(port = 0, server: Server = createServer(), host = HOST): Promise<Listening> {
  const listening = await listenOnOneSocket(server, host, port);
  onTestFinished(() => void listening.close());
  return listening;
}

async function answers(port: number, host = HOST): Promise<boolean> {
  const socket = connect({ port, host });
  const connected = once(socket, "connect").then(
    () => true,
    () => false,
  );
  onTestFinished(() => void socket.destroy());
  return connected;
}

test("the server itself gets the connections of the port that listhen opened, and the port is free after close", async () => {
  const server = createServer();
  const first = once(server, "connection");
  const listening = await start(0, server);
  expect(listening).toMatchObject({ address: HOST, port: expect.any(Number) });
  expect(await answers(listening.port)).toBe(true);
  for (const socket of await first) socket.destroy();
  await listening.close();
  expect(await answers(listening.port)).toBe(false);
  expect(await start(listening.port)).toMatchObject({ port: listening.port });
});

test("a port is opened without listhen's library for certificates", async () => {
  await start();
  const loaded = Object.keys(createRequire(import.meta.url).cache);
  expect(loaded.filter((path) => path.includes("/node-forge/"))).toEqual([]);
});

test("a port in use, and an address of another machine, are refused with the reason", async () => {
  const { port } = await start();
  await expect(start(port)).rejects.toThrow(`Cannot listen on 127.0.0.1 port ${port}: it is in use`);
  await expect(start(0, createServer(), "192.0.2.1")).rejects.toThrow(
    "Cannot listen on 192.0.2.1 port 0: EADDRNOTAVAIL",
  );
  await expect(start(0, createServer(), "no-such-host.invalid")).rejects.toThrow(
    /^Cannot listen on no-such-host\.invalid port 0: E/,
  );
});

test("a port that browsers refuse is listened on as stated, and nothing is printed about it", async () => {
  const printed = [vi.spyOn(console, "log"), vi.spyOn(process.stdout, "write"), vi.spyOn(process.stderr, "write")];
  const unsafe = [10080, 6697, 6669, 6668, 6666].filter(isUnsafePort);
  const opened: Listening[] = [];
  // Another program of this machine may have one of them.
  for (const port of unsafe) await start(port).then((one) => opened.push(one), String);
  expect(opened.length).toBeGreaterThan(0);
  expect(unsafe).toEqual(expect.arrayContaining(opened.map(({ port }) => port)));
  for (const one of printed) expect(one).not.toHaveBeenCalled();
});

test("an address with a zone is never widened to all addresses", async () => {
  const address = await start(0, createServer(), "::1%lo").then(
    (listening) => listening.address,
    (error: Error) => error.message,
  );
  expect(address).toMatch(/^(::1(%lo)?|Cannot listen on ::1%lo port 0: E\w+)$/);
});

test.runIf(process.platform === "linux")(
  "more connections wait to be accepted than Node's own queue holds",
  async () => {
    const count = 1000;
    let connected = 0;
    const server = createServer((socket) => socket.destroy());
    const seen = new Promise<number>((resolve) => {
      // Node accepts one connection a turn, so that nearly all of them still wait by then.
      let accepted = 0;
      server.on("connection", () => {
        accepted += 1;
        if (accepted === 20) resolve(connected);
      });
    });
    const { port } = await start(0, server);
    for (let i = 0; i < count; i++)
      connect({ port, host: HOST })
        .on("connect", () => {
          connected += 1;
        })
        .on("error", () => {});
    expect(await seen).toBe(count);
  },
);
