import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type RequestListener, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { connectionFailure } from "../../src/client/http-answer.ts";
import { socketFetch } from "../../src/client/server-by-socket.ts";

let folder: string;
const servers: Server[] = [];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "pmctl-socket-"));
});
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});
afterAll(() => rm(folder, { recursive: true }));

async function listenAs(name: string, answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  servers.push(server);
  const path = join(folder, name);
  server.listen(path);
  await once(server, "listening");
  return path;
}

test("a request keeps its method, path, headers and body, and the answer its status, headers and text", async () => {
  const path = await listenAs("echo", async (req, res) => {
    const parts: Buffer[] = [];
    for await (const part of req) parts.push(part);
    const { host, "x-api-key": key, "accept-encoding": encoding } = req.headers;
    const said = [req.method, req.url, host, key, encoding, Buffer.concat(parts).toString()];
    // A character that arrives in two chunks is one character.
    const bytes = Buffer.from(JSON.stringify(said));
    res.writeHead(202, { "next-cursor": "c2" });
    res.write(bytes.subarray(0, -5));
    setImmediate(() => res.end(bytes.subarray(-5)));
  });
  const answer = await socketFetch(path)("https://acme.example:8443/v1/markets?q=a%20b", {
    method: "POST",
    headers: { "x-api-key": "sk_1" },
    body: "für 5 €",
  });
  expect({ ok: answer.ok, status: answer.status }).toEqual({ ok: true, status: 202 });
  expect(answer.headers.get("next-cursor")).toBe("c2");
  expect(answer.headers.get("audit-seq")).toBeNull();
  expect(JSON.parse(await answer.text())).toEqual([
    ...["POST", "/v1/markets?q=a%20b", "acme.example:8443", "sk_1", "identity", "für 5 €"],
  ]);
});

test("a connection serves further requests, and the server's new socket those after a restart", async () => {
  const connections = new Set<unknown>();
  const old = await listenAs("old", ({ socket }, res) => {
    connections.add(socket);
    res.end("old");
  });
  const request = socketFetch(old, async () => join(folder, "new"));
  const ask = async () => (await request("http://localhost/")).text();
  expect([await ask(), await ask(), connections.size]).toEqual(["old", "old", 1]);
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  }
  await listenAs("new", (_, res) => void res.end("new"));
  await expect.poll(() => ask().catch(String)).toBe("new");
});

test("a server that has ended was never asked; one that breaks off was", async () => {
  const failure = async (work: Promise<unknown>) =>
    connectionFailure(
      await work.then(
        () => undefined,
        (error: unknown) => error,
      ),
    );
  expect(await failure(socketFetch(join(folder, "none"))("http://localhost/"))).toEqual({
    reason: "the server has ended",
    neverSent: true,
  });
  const silent = await listenAs("silent", ({ socket }) => void socket.destroy());
  const lost = { reason: "the connection was lost", neverSent: false };
  expect(await failure(socketFetch(silent)("http://localhost/"))).toEqual(lost);
  // It has not read the request's body, so the system also tells the client that its writing failed.
  const half = await listenAs("half", ({ socket }, res) => {
    socket.pause();
    res.writeHead(200, { "content-length": 100 }).write("half");
    setImmediate(() => socket.destroy());
  });
  const body = "x".repeat(4_000_000);
  const text = socketFetch(half)("http://localhost/", { method: "POST", body }).then((answer) => answer.text());
  expect(await failure(text)).toEqual(lost);
});

test("a request that is given up fails with the reason, while it waits and while it reads", async () => {
  const path = await listenAs("slow", ({ url }, res) => {
    if (url === "/body") res.writeHead(200).write("a");
  });
  const waiting = socketFetch(path)("http://localhost/", { signal: AbortSignal.timeout(10) });
  await expect(waiting).rejects.toMatchObject({ name: "TimeoutError" });
  const end = new AbortController();
  const { body } = await socketFetch(path)("http://localhost/body", { signal: end.signal });
  const reading = (async () => {
    for await (const _ of body ?? []) end.abort(new Error("enough"));
  })();
  await expect(reading).rejects.toThrow("enough");
});
