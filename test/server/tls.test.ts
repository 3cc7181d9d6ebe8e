import { once } from "node:events";
import { connect as connectSocket } from "node:net";
import { connect as connectTls, type SecureVersion, type TLSSocket } from "node:tls";
import { Agent, fetch as fetchThrough } from "undici";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RunningServer } from "../../src/server/server.ts";
import type { Handlers } from "../../src/services/invoke.ts";
import { makePair, type TestPair } from "../support/certificates.ts";
import { ownTime } from "../support/own-time.ts";
import { type Backend, openBackend, serve } from "./support/harness.ts";
import { exchangeRaw, expectCommonHeaders, expectRefusal, parseRaw, receiveAll } from "./support/requests.ts";

/** Set while a request is under way. */
let release: (() => void) | undefined;
const handlers = {
  getHealth: async () => ({ ok: true, service: "acme", db: true, uptimeSec: 1 }),
} as unknown as Handlers;
const slowHandlers = {
  getHealth: () =>
    new Promise((resolve) => {
      release = () => resolve({ ok: true, service: "acme", db: true, uptimeSec: 1 });
    }),
} as unknown as Handlers;

let backend: Backend;
let pair: TestPair;
let server: RunningServer;
beforeAll(async () => {
  backend = await openBackend();
  pair = await makePair();
  server = await serve(backend, handlers, { strictTransport: true }, { keyPair: pair });
});
afterAll(async () => {
  await server.close();
  await backend.close();
});

/** What a client that trusts exactly one certificate gets. */
async function get(url: string, ca: string) {
  const dispatcher = new Agent({ connect: { ca: [ca] } });
  try {
    const response = await fetchThrough(url, { dispatcher });
    return { status: response.status, headers: response.headers, body: await response.json() };
  } finally {
    await dispatcher.close();
  }
}

test("a page read over TLS names the address with https", async () => {
  const dispatcher = new Agent({ connect: { ca: [pair.cert] } });
  const page = await (await fetchThrough(`${server.url}/docs/markets`, { dispatcher })).text();
  await dispatcher.close();
  expect(server.url).toMatch(/^https:/);
  expect(page).toContain(`curl ${server.url}/v1/markets`);
});

/** All that comes back for bytes that are sent as they are, inside of TLS. */
function exchangeSecretly(port: number, bytes: string | Buffer): Promise<string> {
  const socket = connectTls({ port, host: "127.0.0.1", ca: [pair.cert] });
  socket.on("secureConnect", () => socket.write(bytes));
  return receiveAll(socket);
}

async function handshake(port: number, version: SecureVersion): Promise<TLSSocket> {
  const ciphers = "DEFAULT@SECLEVEL=0";
  const terms = { port, host: "127.0.0.1", ca: [pair.cert], minVersion: version, maxVersion: version, ciphers };
  const socket = connectTls(terms);
  await once(socket, "secureConnect");
  return socket;
}

describe("the API over TLS", () => {
  test("a client that has ended its side is answered", async () => {
    const socket = connectTls({ port: server.port, host: "127.0.0.1", ca: [pair.cert] });
    socket.on("secureConnect", () => socket.end("GET /health HTTP/1.1\r\nhost: x\r\n\r\n"));
    expect(await receiveAll(socket)).toMatch(/^HTTP\/1.1 200 /);
  });

  test("a client that trusts the certificate is answered; the operations listener stays plain HTTP", async () => {
    expect(server.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
    expect(await get(`${server.url}/health`, pair.cert)).toMatchObject({ status: 200, body: { ok: true } });
    expect(server.opsUrl).toMatch(/^http:/);
  });

  test("a client that does not trust it gets no connection", async () => {
    const other = await makePair();
    await expect(get(`${server.url}/health`, other.cert)).rejects.toThrow("fetch failed");
  });

  test("browsers are told to come back by HTTPS only where the operator's certificate is served", async () => {
    const { headers } = await get(`${server.url}/health`, pair.cert);
    expect(headers.get("strict-transport-security")).toBe("max-age=31536000");
    const plain = await serve(backend, handlers);
    expect((await fetch(`${plain.url}/health`)).headers.get("strict-transport-security")).toBeNull();
    await plain.close();
  });

  test.each<[string, number, string | Buffer]>([
    ["rubbish", 400, "\r\n\r\nrubbish\r\n\r\n"],
    ["two lengths", 400, "POST /v1/trade HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n{}"],
    ["headers over 16 KiB", 431, `GET /health HTTP/1.1\r\nhost: x\r\nx: ${"x".repeat(17_000)}\r\n\r\n`],
    ["no host", 400, "GET /health HTTP/1.1\r\nconnection: close\r\n\r\n"],
    ["an unknown expectation", 417, "GET /health HTTP/1.1\r\nhost: x\r\nexpect: magic\r\n\r\n"],
    ["a tunnel", 404, "CONNECT evil.example:443 HTTP/1.1\r\nhost: evil.example:443\r\n\r\n"],
  ])("%s is %i, in JSON, as over plain HTTP", async (_name, status, bytes) => {
    const response = parseRaw(await exchangeSecretly(server.port, bytes));
    expectCommonHeaders(response.headers);
    await expectRefusal(response, status, status === 404 ? "NOT_FOUND" : "BAD_REQUEST");
  });

  test("TLS 1.2 and 1.3 are spoken, 1.1 is refused", async () => {
    for (const version of ["TLSv1.2", "TLSv1.3"] as const) {
      const socket = await handshake(server.port, version);
      expect(socket.getProtocol()).toBe(version);
      socket.destroy();
    }
    await expect(handshake(server.port, "TLSv1.1")).rejects.toMatchObject({
      code: "ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION",
    });
  });

  test("plain HTTP on the TLS port, rubbish and a client that leaves end their own connection only", async () => {
    expect(await exchangeRaw(server.port, "GET /health HTTP/1.1\r\nhost: x\r\n\r\n")).not.toContain("HTTP/1.1 200");
    await exchangeRaw(server.port, Buffer.from([0, 255, 1, 254, 13, 10, 13, 10]));
    const leaving = connectSocket(server.port, "127.0.0.1");
    await once(leaving, "connect");
    leaving.resetAndDestroy();
    expect(await get(`${server.url}/health`, pair.cert)).toMatchObject({ status: 200 });
  });

  test("a renewed certificate is shown to new connections, and open ones go on", async () => {
    const renewing = await serve(backend, handlers, {}, { keyPair: pair });
    const open = new Agent({ connect: { ca: [pair.cert] }, connections: 1 });
    const ask = async () => {
      const response = await fetchThrough(`${renewing.url}/health`, { dispatcher: open });
      return response.json();
    };
    expect(await ask()).toMatchObject({ ok: true });
    const renewed = await makePair();
    renewing.renew(renewed);
    expect(await ask()).toMatchObject({ ok: true });
    expect(await get(`${renewing.url}/health`, renewed.cert)).toMatchObject({ status: 200 });
    await expect(get(`${renewing.url}/health`, pair.cert)).rejects.toThrow("fetch failed");
    await open.close();
    await renewing.close();
  });

  test("a stop answers what is under way, and waits for no handshake", async () => {
    const stopping = await serve(backend, slowHandlers, {}, { keyPair: pair });
    const silent = connectSocket(stopping.port, "127.0.0.1");
    await once(silent, "connect");
    const answer = get(`${stopping.url}/health`, pair.cert);
    await expect.poll(() => release !== undefined).toBe(true);
    const elapsed = ownTime();
    const closed = stopping.close();
    release?.();
    expect(await answer).toMatchObject({ status: 200, body: { ok: true } });
    await closed;
    expect(elapsed()).toBeLessThan(5000);
    silent.destroy();
  });
});
