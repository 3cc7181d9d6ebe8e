import { setTimeout as delay } from "node:timers/promises";
import { beforeAll, describe, expect, test } from "vitest";
import { connectionLimits } from "../../src/domain/access/connection-limits.ts";
import { Fault } from "../../src/domain/fault.ts";
import { ClientAddresses } from "../../src/server/client-address.ts";
import { Connections } from "../../src/server/connections/connections.ts";
import { createListener } from "../../src/server/connections/listener.ts";
import { listen } from "../../src/server/connections/listening.ts";
import type { Handlers } from "../../src/services/invoke.ts";
import { serverOfTests } from "./support/during-tests.ts";
import { PUBLIC_KEY, userToken } from "./support/harness.ts";
import { exchangeRaw, expectCommonHeaders, expectRefusal, parseRaw } from "./support/requests.ts";

const handlers = {
  getHealth: async () => ({ ok: true, service: "acme", db: true, uptimeSec: 1 }),
  listMarkets: async () => ({ items: [], nextCursor: null }),
  placeTrade: async () => {
    await delay(100);
    throw new Fault("INSUFFICIENT_FUNDS", "Not enough funds");
  },
} as unknown as Handlers;

const { server } = serverOfTests(handlers);
let authorization: string;
beforeAll(async () => {
  authorization = `Bearer ${await userToken()}`;
});

describe("bytes that are no request", () => {
  const expectRaw = async (received: string, status: number) => {
    const response = parseRaw(received);
    expectCommonHeaders(response.headers);
    await expectRefusal(response, status, status === 404 ? "NOT_FOUND" : "BAD_REQUEST");
  };

  test.each<[string, number, string | Buffer]>([
    ["rubbish", 400, "\r\n\r\nrubbish\r\n\r\n"],
    ["random bytes", 400, Buffer.from([0, 255, 1, 254, 13, 10, 13, 10])],
    ["TLS", 400, Buffer.from("160301020001000001fc0303", "hex")],
    ["HTTP/2", 400, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    ["a bad version", 400, "GET /health HTTP/9.9\r\nhost: x\r\n\r\n"],
    ["a space in a header name", 400, "GET /health HTTP/1.1\r\nhost : x\r\n\r\n"],
    ["a bare line feed in a header", 400, "GET /health HTTP/1.1\r\nhost: x\r\nx: a\nb\r\n\r\n"],
    ["two lengths", 400, "POST /v1/trade HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n{}"],
    [
      "a length and chunks",
      400,
      "POST /v1/trade HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
    [
      "a coding that is nearly chunked",
      400,
      "POST /v1/trade HTTP/1.1\r\nhost: x\r\ntransfer-encoding: xchunked\r\n\r\n0\r\n\r\n",
    ],
    [
      "a coding before chunked",
      400,
      "POST /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntransfer-encoding: identity, chunked\r\n\r\n0\r\n\r\n",
    ],
    ["two hosts", 400, "GET /health HTTP/1.1\r\nhost: a\r\nhost: b\r\nconnection: close\r\n\r\n"],
    ["a host that is a path", 400, "GET /health HTTP/1.1\r\nhost: a/../b\r\nconnection: close\r\n\r\n"],
    ["headers over 16 KiB", 431, `GET /health HTTP/1.1\r\nhost: x\r\nx: ${"x".repeat(17_000)}\r\n\r\n`],
    ["no host", 400, "GET /health HTTP/1.1\r\nconnection: close\r\n\r\n"],
    ["an unknown expectation", 417, "GET /health HTTP/1.1\r\nhost: x\r\nexpect: magic\r\n\r\n"],
    ["a tunnel", 404, "CONNECT evil.example:443 HTTP/1.1\r\nhost: evil.example:443\r\n\r\n"],
    [
      "a host that makes h3 throw before any handler",
      400,
      "GET /../{x} HTTP/1.1\r\nhost: a:99999\r\nconnection: close\r\n\r\n",
    ],
    ["an absolute URL elsewhere", 404, "GET http://evil.example/x HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"],
    ["an asterisk", 404, "OPTIONS * HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"],
  ])("%s is %i, in JSON", async (_name, status, bytes) => {
    await expectRaw(await exchangeRaw(server.port, bytes), status);
  });

  test("an upgrade is not offered, and the request is answered as it stands", async () => {
    const request = "GET /health HTTP/1.1\r\nhost: x\r\nconnection: upgrade, close\r\nupgrade: websocket\r\n\r\n";
    const response = parseRaw(await exchangeRaw(server.port, request));
    expect([response.status, await response.json()]).toMatchObject([200, { ok: true }]);
  });

  test("HTTP/1.0 needs no host", async () => {
    expect(parseRaw(await exchangeRaw(server.port, "GET /health HTTP/1.0\r\n\r\n")).status).toBe(200);
  });

  test("rubbish behind a request does not take the place of its answer", async () => {
    const body = '{"marketId":"m","selection":{"side":"yes"},"amount":1}';
    const trade = [
      "POST /v1/trade HTTP/1.1\r\nhost: x",
      `x-api-key: ${PUBLIC_KEY}`,
      `authorization: ${authorization}`,
      "content-type: application/json",
      `content-length: ${body.length}`,
    ].join("\r\n");
    const received = await exchangeRaw(server.port, `${trade}\r\n\r\n${body}rubbish\r\n\r\n`);
    await expectRefusal(parseRaw(received), 400, "INSUFFICIENT_FUNDS");
  });

  test("a credential that is given twice counts as none", async () => {
    const twice = (name: string, value: string) => `${name}: ${value}\r\n${name}: ${value}\r\n`;
    const request = (headers: string) => `GET /v1/markets HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${headers}\r\n`;
    const keys = parseRaw(await exchangeRaw(server.port, request(twice("x-api-key", PUBLIC_KEY))));
    await expectRefusal(keys, 401, "KEY_INVALID");
    const trade = `POST /v1/trade HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-api-key: ${PUBLIC_KEY}\r\n`;
    const tokens = parseRaw(await exchangeRaw(server.port, `${trade}${twice("authorization", authorization)}\r\n`));
    await expectRefusal(tokens, 401, "USER_REQUIRED");
  });

  test("headers that take longer than they may end the connection with 408", async () => {
    const onRefused = (reason: string, address: string) => refused.push([reason, address]);
    const refused: string[][] = [];
    const limits = { ...connectionLimits({}, 1024), headersSeconds: 0.1 };
    const addresses = new ClientAddresses([]);
    const slow = createListener(() => {}, new Connections({ limits, addresses, onRefused }));
    const { port, close } = await listen(slow, "127.0.0.1", 0, () => {});
    await expectRaw(await exchangeRaw(port, "GET /health HTTP/1.1\r\nhost: x\r\n"), 408);
    expect(refused).toEqual([["headers", "127.0.0.1"]]);
    slow.closeAllConnections();
    await close();
    slow.close();
  });
});
