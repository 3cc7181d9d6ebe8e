import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer, type RequestListener, request } from "node:http";
import { type AddressInfo, connect, createServer as createNetServer, type Server, type Socket } from "node:net";
import { Agent, buildConnector, fetch } from "undici";
import { afterEach, describe, expect, test } from "vitest";
import { eventSource } from "../../src/client/event-source.ts";
import { connectionFailure } from "../../src/client/http-answer.ts";
import { httpApi } from "../../src/client/http-api.ts";
import { provenConnector } from "../../src/client/proven-connector.ts";
import { nonceOf, proofBody, proofPath, signProof } from "../../src/contract/server-proof.ts";
import { proving } from "../../src/server/server-proof.ts";

const TENANT = "acme";
const SECRET = "the secret of a run file, 43 characters long";
const KEY = "sk_which_only_the_server_may_see";

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

interface Place {
  host?: string;
  port?: number;
}

async function open(server: Server, { host = "127.0.0.1", port = 0 }: Place = {}): Promise<number> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket.on("error", () => {}));
    socket.once("close", () => sockets.delete(socket));
  });
  server.listen(port, host);
  await once(server, "listening");
  const close = () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  closing.push(close);
  stopLast = async () => {
    close();
    if (server.listening) await once(server, "close");
  };
  return (server.address() as AddressInfo).port;
}
/** Ends the server that was opened last, as a kill does. */
let stopLast: () => Promise<void>;

/** A genuine server, with the keys that it was shown. */
async function genuine(place?: Place): Promise<{ port: number; keys: unknown[] }> {
  const keys: unknown[] = [];
  const api: RequestListener = (req, res) => {
    keys.push(req.headers["x-api-key"]);
    res.setHeader("content-type", "application/json").setHeader("connection", "close").end("[]");
  };
  return { port: await open(createServer(proving(api, TENANT, SECRET)), place), keys };
}

/** Another process, with every byte that it was sent. */
async function impostor(answer: (socket: Socket, sent: string) => void, place?: Place) {
  const seen = { port: 0, text: "" };
  const server = createNetServer((socket) => {
    let sent = "";
    socket.on("data", (chunk) => {
      sent += chunk.toString("latin1");
      seen.text += chunk.toString("latin1");
      if (sent.endsWith("\r\n\r\n")) answer(socket, sent);
    });
  });
  seen.port = await open(server, place);
  return seen;
}

const answerOf = (body: string) =>
  `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;

/** `fetch` that knows the secret, as a command does. */
function provenFetch(secrets: readonly string[] = [SECRET]): typeof globalThis.fetch {
  const expected = { tenant: TENANT, address: "ADDRESS", secrets: async () => secrets };
  const agent = new Agent({ connect: provenConnector(buildConnector({ allowH2: false }), expected) });
  closing.push(() => void agent.destroy());
  const proven = (input: string, init: object = {}) => fetch(input, { ...init, dispatcher: agent });
  return proven as unknown as typeof globalThis.fetch;
}

const UNPROVEN = "the process at ADDRESS is not proven to be the server of acme";
const list = (port: number, fetch = provenFetch(), host = "127.0.0.1") =>
  httpApi({ url: `http://${host}:${port}`, apiKey: KEY, fetch, sleep: async () => {} }).listMarkets({});
const refused = expect.objectContaining({ code: "SERVER_UNPROVEN", message: UNPROVEN });

/** Connects to this machine, and has the socket say that it leads to an address. */
function leadingTo(address: string): typeof globalThis.fetch {
  const connect = buildConnector({ allowH2: false });
  const lead: typeof connect = (options, callback) =>
    connect(options, (error, socket) => {
      if (error) return callback(error, null);
      callback(null, Object.defineProperty(socket, "remoteAddress", { value: address }));
    });
  const expected = { tenant: TENANT, address: "ADDRESS", secrets: async () => [SECRET] };
  const agent = new Agent({ connect: provenConnector(lead, expected) });
  closing.push(() => void agent.destroy());
  const proven = (input: string, init: object = {}) => fetch(input, { ...init, dispatcher: agent });
  return proven as unknown as typeof globalThis.fetch;
}

describe("a run file that came with the files of a repository, so that a stranger knows its secret", () => {
  test("proves nothing at an address of another machine", async () => {
    const process = await impostor((socket, sent) => {
      const nonce = nonceOf(sent.split(" ")[1]) ?? "";
      const { port } = process;
      socket.write(answerOf(proofBody(signProof(SECRET, TENANT, nonce, { address: "192.0.2.1", port })).toString()));
    });
    await expect(list(process.port, leadingTo("192.0.2.1"))).rejects.toEqual(refused);
    expect(process.text).toBe("");
  });
});

describe("a connection to the server of this directory", () => {
  test.each([
    ["127.0.0.1", "127.0.0.1"],
    ["0.0.0.0", "127.0.0.1"],
    ["0.0.0.0", "localhost"],
    ["127.0.0.2", "127.0.0.2"],
    ["::", "127.0.0.1"],
    ["::", "[::1]"],
    ["::", "[::ffff:127.0.0.1]"],
    ["::1", "[::1]"],
    ["localhost", "localhost"],
  ])("is proven where it listens on %s and is dialled as %s", async (listens, dialled) => {
    const { port, keys } = await genuine({ host: listens });
    const fetch = provenFetch(["another secret, of a process that is gone", SECRET]);
    expect((await list(port, fetch, dialled)).items).toEqual([]);
    await list(port, fetch, dialled);
    expect(keys).toEqual([KEY, KEY]);
  });

  test("carries streams and bodies of any length once it is proven", async () => {
    const body = "x".repeat(300_000);
    const echo: RequestListener = (req, res) => void req.pipe(res);
    const port = await open(createServer(proving(echo, TENANT, SECRET)));
    const answer = await provenFetch()(`http://127.0.0.1:${port}/`, { method: "POST", body });
    expect(await answer.text()).toBe(body);
  });
});

describe("a process that is not the server", () => {
  const nonceIn = (sent: string) => nonceOf(/^GET (\S+) /.exec(sent)?.[1]) ?? "";
  const proofFor = (nonce: string, port: number, secret = SECRET, tenant = TENANT) =>
    JSON.stringify({ proof: signProof(secret, tenant, nonce, { address: "127.0.0.1", port }) });

  test.each<[string, (nonce: string, port: number) => string]>([
    ["answers everything with 200", () => answerOf(JSON.stringify({ ok: true, tenant: TENANT }))],
    ["makes a proof up", () => answerOf(JSON.stringify({ proof: "0".repeat(64) }))],
    ["has another secret", (nonce, port) => answerOf(proofFor(nonce, port, "secret of another process"))],
    ["serves another tenant", (nonce, port) => answerOf(proofFor(nonce, port, SECRET, "globex"))],
    ["repeats the proof of another nonce", (_, port) => answerOf(proofFor("n".repeat(43), port))],
    ["answers for another port", (nonce, port) => answerOf(proofFor(nonce, port + 1))],
    ["answers with a refusal", (nonce, port) => answerOf(proofFor(nonce, port)).replace("200 OK", "401 No")],
    ["sends an answer ahead of the request", (nonce, port) => answerOf(proofFor(nonce, port)) + answerOf("[]")],
    ["never ends its headers", () => `HTTP/1.1 200 OK\r\nx: ${"y".repeat(5000)}`],
    ["is no web server", () => "220 mail.example ESMTP\r\n\r\n"],
  ])("is shown nothing but a nonce when it %s", async (_, answer) => {
    const seen = await impostor((socket, sent) => socket.write(answer(nonceIn(sent), seen.port)));
    await expect(list(seen.port)).rejects.toEqual(refused);
    expect(seen.text).toMatch(/^GET \/\.well-known\/pmctl-proof\/[\w-]{43} HTTP\/1\.1\r\nhost: localhost\r\n\r\n$/);
  });

  test("is shown not even that where no run file names the address", async () => {
    const seen = await impostor((socket) => socket.end(answerOf("[]")));
    await expect(list(seen.port, provenFetch([]))).rejects.toEqual(refused);
    expect(seen.text).toBe("");
  });

  test("proves nothing by passing everything on to the genuine server, which is elsewhere", async () => {
    const { port, keys } = await genuine();
    const relay = createNetServer((socket) => {
      const onward = connect(port, "127.0.0.1").on("error", () => {});
      socket.pipe(onward).pipe(socket);
    });
    await expect(list(await open(relay))).rejects.toEqual(refused);
    expect(keys).toEqual([]);
  });

  test("that takes the port between two connections is shown nothing, and a write that was not sent says so", async () => {
    const { port, keys } = await genuine();
    const fetch = provenFetch();
    await list(port, fetch);
    await stopLast();
    const seen = await impostor((socket) => socket.write(answerOf("[]")), { port });
    const api = httpApi({ url: `http://127.0.0.1:${port}`, apiKey: KEY, fetch, sleep: async () => {} });
    await expect(api.suspendMarket({ id: "mkt_1" })).rejects.toEqual(refused);
    expect(keys).toEqual([KEY]);
    expect(seen.text).not.toMatch(/sk_|mkt_1/);
  });

  test("that takes the port of a write under way leaves its outcome unknown, and gets no repeat of it", async () => {
    const lost = Promise.withResolvers<void>();
    const dying: RequestListener = (req) => {
      req.socket.destroy();
      lost.resolve();
    };
    const port = await open(createServer(proving(dying, TENANT, SECRET)));
    let seen = { port, text: "" };
    const sleep = async (): Promise<void> => {
      await lost.promise;
      await stopLast();
      seen = await impostor((socket) => socket.write(answerOf("{}")), { port });
    };
    const api = httpApi({ url: `http://127.0.0.1:${port}`, apiKey: KEY, fetch: provenFetch(), sleep });
    await expect(api.suspendMarket({ id: "mkt_1" })).rejects.toMatchObject({ code: "OUTCOME_UNKNOWN" });
    expect(seen.text).toMatch(/^GET \/\.well-known/);
    expect(seen.text).not.toMatch(/sk_|mkt_1/);
  });

  test("gets no key of a stream, neither at its beginning nor when it is taken up again", async () => {
    const stream: RequestListener = (_, res) =>
      void res.setHeader("content-type", "text/event-stream").end("event: snapshot\nid: 1\ndata: {}\n\n");
    const port = await open(createServer(proving(stream, TENANT, SECRET)));
    const stop = new AbortController();
    const waits: string[] = [];
    let seen = { port: 0, text: "" };
    const options = { apiKey: KEY, signal: stop.signal, retryMs: 10, fetch: provenFetch() };
    const onWait = (message: string) => {
      waits.push(message);
      stop.abort();
    };
    for await (const { event } of eventSource({ ...options, url: `http://127.0.0.1:${port}`, onWait })) {
      expect(event).toBe("snapshot");
      await stopLast();
      seen = await impostor((socket) => socket.write(answerOf("[]")), { port });
    }
    expect(waits).toEqual([`The stream was lost (${UNPROVEN}): connecting again`]);
    const again = eventSource({ ...options, signal: new AbortController().signal, url: `http://127.0.0.1:${port}` });
    await expect(again.next()).rejects.toEqual(refused);
    expect(seen.text).not.toContain("sk_");
  });

  test("that accepts and closes is a lost connection on which nothing was sent", async () => {
    const seen = await impostor((socket) => socket.destroy());
    const failure = await provenFetch()(`http://127.0.0.1:${seen.port}`).catch(connectionFailure);
    expect(failure).toEqual({ reason: "the connection was closed at once", neverSent: true });
  });
});

describe("the answer that proves", () => {
  const NONCE = "n".repeat(43);

  /** What a request to the path gets, over the socket that is described. */
  async function ask(path: string, method = "GET"): Promise<{ status: number | undefined; body: string }> {
    const api: RequestListener = (_, res) => res.writeHead(404).end("not here");
    const port = await open(createServer(proving(api, TENANT, SECRET)));
    const [response] = await once(request({ host: "127.0.0.1", port, path, method }).end(), "response");
    return { status: response.statusCode, body: String(await response.setEncoding("latin1").toArray()) };
  }

  test("is the HMAC of a text of its own kind, over the nonce and the end of the connection", () => {
    const end = { address: "::ffff:192.0.2.7", port: 8080 };
    const text = `pmctl-proof-v1\nacme\n${NONCE}\n192.0.2.7\n8080`;
    expect(signProof(SECRET, TENANT, NONCE, end)).toBe(createHmac("sha256", SECRET).update(text).digest("hex"));
  });

  test("is given for nonces of one length only, and for GET; anything else goes on to the API", async () => {
    expect(await ask(proofPath(NONCE))).toMatchObject({ status: 200, body: expect.stringContaining('{"proof":"') });
    for (const path of [proofPath("n".repeat(42)), proofPath("n".repeat(44)), proofPath(`${"n".repeat(42)}%0a`), "/x"])
      expect(await ask(path)).toEqual({ status: 404, body: "not here" });
    expect(await ask(`${proofPath(NONCE)}?x=1`)).toMatchObject({ status: 404 });
    expect(await ask(proofPath(NONCE), "POST")).toMatchObject({ status: 404 });
  });

  test.each([
    ["127.0.0.1", "127.0.0.1", true],
    ["127.0.0.2", "127.0.0.1", true],
    ["::ffff:127.0.0.1", "127.0.0.1", true],
    ["10.0.0.5", "10.0.0.5", true],
    ["10.0.0.5", "10.0.0.6", false],
    ["10.0.0.5", "127.0.0.1", false],
    ["127.0.0.1", "203.0.113.9", false],
  ])("over a connection at %s from %s: %s", (localAddress, remoteAddress, isGiven) => {
    let passedOn = false;
    const passOn = () => {
      passedOn = true;
    };
    const listener = proving(passOn, TENANT, SECRET);
    const socket = { localAddress, remoteAddress, localPort: 8080 };
    const response = { writeHead: () => {}, end: () => {} };
    listener({ method: "GET", url: proofPath(NONCE), headers: {}, socket } as never, response as never);
    expect(passedOn).toBe(!isGiven);
  });
});
