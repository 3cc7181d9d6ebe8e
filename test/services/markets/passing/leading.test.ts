import { once } from "node:events";
import { lutimes, mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingHttpHeaders, request, type Server } from "node:http";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { afterEach, beforeEach, expect, test } from "vitest";
import { auditKey } from "../../../../src/domain/audit/seal.ts";
import { Fault } from "../../../../src/domain/fault.ts";
import { CalledBack } from "../../../../src/ledger/sequencer/faults.ts";
import type { Leader, Listener } from "../../../../src/ledger/sequencer/passing.ts";
import { findLeader } from "../../../../src/services/markets/passing/following.ts";
import { frameOf } from "../../../../src/services/markets/passing/frames.ts";
import { Leading } from "../../../../src/services/markets/passing/leading.ts";
import {
  PROOF_HEADER,
  PROTOCOL,
  proofOf,
  type TradeAnswer,
  type TradeRequest,
} from "../../../../src/services/markets/passing/messages.ts";
import { createServersFolder } from "../../../../src/state/server-sockets.ts";

const KEY = auditKey("the tenant's audit secret");
const TRADE: TradeRequest = {
  operation: "placeTrade",
  command: {
    type: "placeTrade",
    id: "trd_1",
    marketId: "m",
    traderId: "u",
    side: "yes",
    amountMicro: 2n ** 60n,
    claimedJurisdiction: undefined,
  },
  actor: "user:u",
  reason: undefined,
  idempotency: undefined,
};
const SEAL = { seq: 2n ** 62n, hash: "f".repeat(64), ts: "2026-01-01T00:00:00.000Z", keyId: KEY.id };

let directory: string;
let servers: Server[] = [];
beforeEach(async () => {
  directory = await mkdtemp("/tmp/pmctl-lead-");
  servers = [];
});
afterEach(async () => {
  for (const server of servers) server.close().closeAllConnections();
  await rm(directory, { recursive: true, force: true });
});

type Decide = (request: TradeRequest) => Promise<TradeAnswer>;

/** A server's socket under the name of a process that is not this one. */
async function serve(name: string, accept: (headers: IncomingHttpHeaders, socket: Duplex) => void) {
  const server = createServer();
  servers.push(server);
  server.on("upgrade", (req, socket) => accept(req.headers, socket));
  server.listen(join(await createServersFolder(directory, "acme"), name));
  await once(server, "listening");
}

async function lead(
  decide: Decide,
  { name = "acme.1-1", secret = "the tenant's audit secret", version = "1.0.0" } = {},
) {
  const leading = new Leading({ key: auditKey(secret), version, decide });
  await serve(name, (headers, socket) => leading.accept(name, headers, socket));
  return leading;
}

/** What a follower hears. */
class Ear implements Listener<TradeAnswer> {
  heard: unknown[] = [];
  wake = () => {};
  replied(replies: Parameters<Listener<TradeAnswer>["replied"]>[0]): void {
    this.heard.push(...replies);
    this.wake();
  }
  leaves(): void {
    this.heard.push("leaves");
    this.wake();
  }
  lost(): void {
    this.heard.push("lost");
    this.wake();
  }
  async until(many: number): Promise<unknown[]> {
    while (this.heard.length < many)
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    return this.heard;
  }
}

const seals: unknown[] = [];
function follow(ear: Ear): Promise<Leader<TradeRequest> | undefined> {
  return findLeader(
    { directory, version: "1.0.0", tenant: "acme", key: KEY, onSealed: (seal) => seals.push(seal) },
    ear,
  );
}

test("a trade reaches the leader as it was sent, and its answer, its fault or its return the follower", async () => {
  const asked: TradeRequest[] = [];
  await lead(async (request) => {
    asked.push(request);
    if (asked.length === 1) return { text: "{}", replayed: false, seal: SEAL };
    if (asked.length === 2)
      throw new Fault("OVERLOADED", "The service is busy", { retryAfterSec: 1, detail: { why: "x" } });
    if (asked.length === 3) throw new CalledBack();
    throw new Error("a secret of the leader");
  });
  const ear = new Ear();
  const leader = await follow(ear);
  leader?.send([1, 2, 3, 4].map((id) => ({ id, epoch: 0n, request: TRADE })));
  const heard = await ear.until(4);
  expect(asked).toEqual([TRADE, TRADE, TRADE, TRADE]);
  expect(heard).toMatchObject([
    { id: 1, kind: "answer", answer: { text: "{}", replayed: false, seal: SEAL } },
    {
      id: 2,
      kind: "refused",
      fault: { code: "OVERLOADED", message: "The service is busy", retryAfterSec: 1, detail: { why: "x" } },
    },
    { id: 3, kind: "not decided" },
    { id: 4, kind: "refused", fault: { code: "INTERNAL", message: "Unexpected failure" } },
  ]);
  expect(seals).toEqual([SEAL]);
  leader?.close();
});

test("a leader that leaves answers what it has and decides nothing more; the connection ends when the follower ends it", async () => {
  const first = Promise.withResolvers<TradeAnswer>();
  const asked = Promise.withResolvers<void>();
  const leading = await lead(() => {
    asked.resolve();
    return first.promise;
  });
  const ear = new Ear();
  const leader = await follow(ear);
  leader?.send([{ id: 1, epoch: 0n, request: TRADE }]);
  await asked.promise;
  expect(leading.deciding).toBe(1);
  leading.leave();
  await ear.until(1);
  leader?.send([{ id: 2, epoch: 0n, request: TRADE }]);
  await ear.until(2);
  first.resolve({ text: "{}", replayed: false, seal: undefined });
  await ear.until(3);
  expect(leading.deciding).toBe(0);
  // Sent before it heard that the leader leaves.
  leader?.send([{ id: 3, epoch: 0n, request: TRADE }]);
  await ear.until(4);
  leader?.close();
  expect(await ear.until(5)).toMatchObject([
    "leaves",
    { id: 2, kind: "not decided" },
    { id: 1, kind: "answer" },
    { id: 3, kind: "not decided" },
    "lost",
  ]);
  await once((servers[0] as Server).close(), "close");
  expect(await follow(new Ear())).toBeUndefined();
});

test("what a leader says together with its consent is heard", async () => {
  // As one whose answer and end reach the follower in one piece.
  await serve("acme.1-1", (headers, socket) => {
    const terms = { socket: "acme.1-1", nonce: String(headers["pmctl-nonce"]), version: "1.0.0" };
    const head = ["HTTP/1.1 101 Switching Protocols", "connection: Upgrade", `upgrade: ${PROTOCOL}`];
    const answer = [...head, `${PROOF_HEADER}: ${proofOf(KEY, "leader", terms)}`, "", ""].join("\r\n");
    socket.write(Buffer.concat([Buffer.from(answer), frameOf({ replies: [], leaves: true })]));
  });
  const ear = new Ear();
  const leader = await follow(ear);
  expect(await ear.until(1)).toEqual(["leaves"]);
  leader?.close();
});

test("only a process with the tenant's audit key and of the same version passes trades or is given any", async () => {
  const decide = () => Promise.reject(new Error("nothing is decided"));
  await lead(decide, { name: "acme.1-1", secret: "another environment's secret" });
  await lead(decide, { name: "acme.1-2", version: "0.9.0" });
  // One that accepts everybody and has no proof of its own.
  await serve("acme.1-3", (_, socket) =>
    socket.write("HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: x\r\n\r\n"),
  );
  expect(await follow(new Ear())).toBeUndefined();
  await lead(decide, { name: "acme.1-4" });
  const leader = await follow(new Ear());
  expect(leader).toBeDefined();
  leader?.close();
  for (const proof of [undefined, "", "0".repeat(64)]) expect(await askedWith(proof)).toBe(403);
});

async function askedWith(proof: string | undefined): Promise<number | undefined> {
  const asked = request({
    socketPath: join(await createServersFolder(directory, "acme"), "acme.1-4"),
    headers: {
      connection: "Upgrade",
      upgrade: "pmctl-passing",
      "pmctl-nonce": "1",
      ...(proof === undefined ? {} : { "pmctl-proof": proof }),
    },
  }).end();
  const [answer] = await once(asked, "response");
  answer.resume();
  return answer.statusCode;
}

test("the oldest server leads, whatever the names of the sockets, and it decides by itself", async () => {
  const decide = () => Promise.reject(new Error("nothing is decided"));
  await lead(decide, { name: "acme.2-1" });
  await lutimes(join(await createServersFolder(directory, "acme"), "acme.2-1"), 1, 1);
  await lead(async () => ({ text: "younger", replayed: false, seal: undefined }), { name: `acme.${process.pid}-1` });
  const leader = await follow(new Ear());
  expect(leader).toBeDefined();
  leader?.close();
  servers[0]?.close().closeAllConnections();
  expect(await follow(new Ear())).toBeUndefined();
});
