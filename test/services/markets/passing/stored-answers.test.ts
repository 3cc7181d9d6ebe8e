import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { Seal } from "../../../../src/domain/audit/audit-link.ts";
import { auditKey, sealCheck } from "../../../../src/domain/audit/seal.ts";
import type { Side } from "../../../../src/domain/market/market.ts";
import { openJournal } from "../../../../src/ledger/journal.ts";
import { findExecuted } from "../../../../src/queries/traders/orders.ts";
import { Leading } from "../../../../src/services/markets/passing/leading.ts";
import type { TradeAnswer, TradeRequest } from "../../../../src/services/markets/passing/messages.ts";
import { passTrades } from "../../../../src/services/markets/passing/passing.ts";
import { answerOf, decideTrade } from "../../../../src/services/markets/trading.ts";
import { createServersFolder } from "../../../../src/state/server-sockets.ts";
import { AUDIT_SECRET, openTestTenant, type TestTenant } from "../../../support/tenant.ts";

const KEY = auditKey(AUDIT_SECRET);
const USERS = ["ann", "bob"];
const SIDES = ["yes", "no"] as const;

let tenant: TestTenant;
let marketIds: string[];
beforeAll(async () => {
  tenant = await openTestTenant();
  marketIds = [await tenant.market({ p0: 0.37 }), await tenant.market({ kind: "lmsr", p0: 0.5 })];
  for (const user of USERS) await tenant.deposit(user, 5000);
});
afterAll(() => tenant.close());

interface Terms {
  user?: string;
  marketId?: string | undefined;
  side?: Side;
  operation?: TradeRequest["operation"];
}

function requestOf(
  { user = "ann", marketId = marketIds[0] ?? "", side = "yes", operation = "placeTrade" }: Terms,
  what: { amountMicro: bigint; hedged?: boolean } | { sharesMicro: bigint },
): TradeRequest {
  const common = { id: tenant.services.newId("trd"), marketId, traderId: user, side, claimedJurisdiction: undefined };
  const hedgeRef =
    "hedged" in what && what.hedged
      ? ({ symbol: "BTC-PERP", direction: "long", notional: 250_000, externalRef: "pos_1" } as const)
      : undefined;
  const command: TradeRequest["command"] =
    "sharesMicro" in what
      ? { type: "sellShares", ...common, ...what }
      : { type: "placeTrade", ...common, amountMicro: what.amountMicro, hedgeRef };
  return { operation, command, actor: `user:${user}`, reason: undefined, idempotency: undefined };
}

test("a stored trade has the answer that it got, whatever the user traded later and however the market ended", async () => {
  const given = new Map<TradeRequest, TradeAnswer>();
  const decide = async (request: TradeRequest) => given.set(request, await decideTrade(tenant.services, request));
  for (let turn = 0; turn < 3; turn++)
    for (const [index, user] of USERS.entries())
      for (const marketId of marketIds)
        for (const side of SIDES) {
          const operation = (turn + index) % 2 === 0 ? "placeTrade" : "placeOrder";
          const terms = { user, marketId, side, operation } as const;
          await decide(requestOf(terms, { amountMicro: 3_333_333n + BigInt(turn) * 1_234_567n, hedged: turn === 1 }));
          await decide(requestOf(terms, { sharesMicro: 1_234_567n + BigInt(index) }));
        }
  // The last of a position.
  const [position] = await tenant.sql`
    select shares_micro from position where trader_id = 'bob' and market_id = ${marketIds[0] ?? ""} and side = 'no'`;
  await decide(requestOf({ user: "bob", side: "no" }, { sharesMicro: BigInt(position?.shares_micro) }));
  await tenant.api().settleMarket({ marketId: marketIds[1] ?? "", outcome: "yes" });

  const requests = [...given.keys()];
  const executed = await tenant.services.pool.read((sql) =>
    findExecuted(sql, ["trd_unknown", ...requests.map(({ command }) => command.id).toReversed()]),
  );
  expect(executed.map(({ tradeId }) => tradeId)).toEqual(requests.map(({ command }) => command.id));
  expect(executed.map((each, index) => answerOf(requests[index] as TradeRequest, each))).toEqual([...given.values()]);
});

test("a trade whose leader commits it and is gone before the reply is answered all the same, and its caller's entry is known", async () => {
  const [marketId] = [await tenant.market()];
  const directory = await mkdtemp("/tmp/pmctl-lost-");
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const neighbours = { directory, version: "1.0.0" };
  const server = createServer().listen(join(await createServersFolder(directory, "acme"), "acme.1-1"));
  await once(server, "listening");
  const sockets: Duplex[] = [];
  const given: TradeAnswer[] = [];
  const leading = new Leading({
    ...neighbours,
    key: KEY,
    decide: async (request, isCalledBack) => {
      const answer = await decideTrade(tenant.services, request, isCalledBack);
      given.push(answer);
      for (const socket of sockets) socket.destroy();
      return answer;
    },
  });
  server.on("upgrade", (req, socket) => {
    sockets.push(socket);
    leading.accept("acme.1-1", req.headers, socket);
  });
  const journal = openJournal(tenant.database.server, { restricted: false, isSealed: sealCheck([KEY]) });
  onTestFinished(async () => {
    server.close().closeAllConnections();
    await journal.close();
  });
  const seals: Seal[] = [];
  const decidedHere: TradeRequest[] = [];
  const passing = passTrades({
    following: { ...neighbours, tenant: "acme", key: KEY, onSealed: (seal) => seals.push(seal) },
    decide: (request) => {
      decidedHere.push(request);
      return decideTrade(tenant.services, request);
    },
    journal,
    reader: tenant.services.pool,
  });
  passing.meet();
  while (sockets.length === 0) await once(server, "upgrade");
  const first = requestOf({ marketId }, { amountMicro: 5_000_000n });
  // The epoch is read after the connection stands. Until then a trade is decided here.
  while (given.length === 0) {
    const answer = await passing.submit({ ...first, command: { ...first.command, id: tenant.services.newId("trd") } });
    if (given.length > 0) expect(answer).toEqual(given[0]);
  }
  expect(seals).toEqual([given[0]?.seal]);
  const trades = await tenant.sql`select count(*)::int as n from trade where market_id = ${marketId}`;
  expect(trades[0]?.n).toBe(given.length + decidedHere.length);
});
