import { Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { localEvents } from "../../src/client/local-events.ts";
import type { Api } from "../../src/contract/operations.ts";
import { connectionLimits } from "../../src/domain/access/connection-limits.ts";
import { pointsOf } from "../../src/domain/embed/curve-steps.ts";
import { Fault } from "../../src/domain/fault.ts";
import { StreamSeats } from "../../src/server/connections/stream-seats.ts";
import { FrameReader } from "../../src/server/pages/embed-data.ts";
import { EventStream } from "../../src/server/streams/event-stream.ts";
import { StreamHub } from "../../src/server/streams/stream-hub.ts";
import { openTestTenant, type TestTenant } from "../support/tenant.ts";

/**
 * Reads while everything changes. What an answer combines belongs together at every commit, so it must belong together
 * in every answer, whatever is committed while it is being read.
 */
const ROUNDS = 120;
const READERS = 3;
const STREAMS = 8;
const DEPOSIT_USD = 5000;
const FUND_USD = 1000;
const STAKE_USD = 10;
const WAITING_USD = 7;
const WITHDRAWALS = 1500;
/** Longer than it takes to create markets. */
const CLOSING_MS = 2000;
/** As many as the oracle shows of its latest resolutions. */
const RESOLVABLE = 50;

let tenant: TestTenant;
let crowded: TestTenant;
let markets: string[];
let ending: string[];
let waiting: string[];
let resolvable: string[];
let over = false;
const load: Promise<unknown>[] = [];

/** Tries again what a busy machine left unexecuted for too long, as a client does. */
async function patiently<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof Fault && error.code === "OVERLOADED")) throw error;
    }
  }
}

/** Does it again and again until the reads are through. */
function keepDoing(work: (round: number) => Promise<unknown>): void {
  const loop = async () => {
    for (let round = 0; !over; round++) await patiently(() => work(round));
  };
  // What fails here fails the file at its end, when everything is awaited.
  const loading = loop();
  loading.catch(() => {});
  load.push(loading);
}

beforeAll(async () => {
  [tenant, crowded] = await Promise.all([
    openTestTenant({ policy: { feeBps: 100 } }),
    openTestTenant({ policy: { feeBps: 100 } }),
  ]);
  markets = await Promise.all([1, 2, 3].map((n) => tenant.market({ question: `Open ${n}?`, liquidityUsd: FUND_USD })));
  ending = await Promise.all(
    Array.from({ length: 18 }, (_, n) => tenant.market({ question: `Ending ${n}?`, liquidityUsd: FUND_USD })),
  );
  await tenant.deposit("buyer", DEPOSIT_USD);
  await tenant.deposit("owner", DEPOSIT_USD);
  await tenant.deposit("crowd", 1_000_000);
  const owner = tenant.api("owner");
  for (const marketId of ending) await owner.placeTrade({ marketId, selection: { side: "yes" }, amount: 20 });

  const closeAt = new Date(Date.now() + CLOSING_MS).toISOString();
  resolvable = await Promise.all(
    Array.from({ length: RESOLVABLE }, (_, n) =>
      crowded.market({ question: `Above ${n}?`, resolutionRef: "pm:btc > 1", liquidityUsd: 10, closeAt }),
    ),
  );
  await crowded.deposit("payee", WITHDRAWALS * WAITING_USD);
  const requested = Array.from({ length: WITHDRAWALS }, () =>
    patiently(() => crowded.api("payee").requestWithdrawal({ amount: WAITING_USD })),
  );
  waiting = (await Promise.all(requested)).map(({ withdrawalId }) => withdrawalId);
  const marketId = await crowded.market({ liquidityUsd: FUND_USD });
  await Promise.all([
    startTenant(),
    ...[0, 1].map((lane) =>
      keepDoing(async (round) => {
        const trader = `trader ${lane} ${round}`;
        await crowded.deposit(trader, 2 * STAKE_USD);
        await crowded.api(trader).placeTrade({
          marketId,
          selection: { side: (round + lane) % 2 ? "yes" : "no" },
          amount: STAKE_USD,
        });
      }),
    ),
    keepDoing(async () => {
      const id = waiting.pop();
      await (id ? crowded.api().approveWithdrawal({ id }) : crowded.deposit("idle", 1));
    }),
    keepDoing(async (round) => {
      const settled = round % 8 === 0 ? resolvable.pop() : undefined;
      if (settled === undefined) return crowded.deposit("another", 1);
      // Until the market is closed the oracle is refused.
      const oracle = { resolutionUrl: null, evidence: { ref: "pm:btc", price: "2", strike: "1" } };
      const command = { type: "settleMarket", marketId: settled, outcome: "yes", oracle } as const;
      return crowded.services.sequencer.submit({ command, actor: "oracle" }).catch((error: unknown) => {
        if (!(error instanceof Fault && error.code === "REFUSED")) throw error;
        resolvable.push(settled);
      });
    }),
  ]);
});

afterAll(async () => {
  over = true;
  await Promise.all(load);
  await Promise.all([tenant.close(), crowded.close()]);
});

function startTenant(): void {
  const buyer = tenant.api("buyer");
  const [first = "", second = "", rising = ""] = markets;
  keepDoing((round) =>
    buyer.placeTrade({ marketId: round % 2 ? first : second, selection: { side: "yes" }, amount: 0.01 }),
  );
  keepDoing(async () => {
    const { withdrawalId } = await buyer.requestWithdrawal({ amount: 3 });
    await tenant.api().rejectWithdrawal({ id: withdrawalId });
  });
  const crowd = tenant.api("crowd");
  // The price moves to and fro, far enough to be seen.
  keepDoing(async () => {
    const side = "yes" as const;
    const { shares } = await crowd.placeTrade({ marketId: first, selection: { side }, amount: 50 });
    await crowd.placeTrade({ marketId: first, selection: { side, action: "sell" }, shares });
  });
  keepDoing(() => crowd.placeTrade({ marketId: rising, selection: { side: "yes" }, amount: 0.05 }));
  keepDoing((round) => tenant.api().updatePolicy({ maxTradeUsd: 1000 + (round % 1000) }));
  keepDoing(async (round) => {
    const marketId = round % 4 === 0 ? ending.pop() : undefined;
    if (marketId) await tenant.api().settleMarket({ marketId, outcome: round % 8 ? "yes" : "no" });
    else await tenant.deposit("elsewhere", 1);
  });
}

/** Holds an invariant against so many answers, some of them asked for at once. */
async function hold<Answer>(
  read: () => Promise<Answer>,
  check: (answer: Answer) => unknown,
  rounds = ROUNDS,
): Promise<void> {
  const reader = async () => {
    for (let round = 0; round < rounds / READERS; round++) await check(await read());
  };
  await Promise.all(Array.from({ length: READERS }, reader));
}

const micro = (usd: number) => Math.round(usd * 1e6);
const sum = (amounts: number[]) => amounts.reduce((total, amount) => total + amount, 0);

type Portfolio = Awaited<ReturnType<Api["getPortfolio"]>>;

/** What a position cost, from what it is worth and what that is beyond its cost. */
function costOf({ shares, currentPrice, unrealizedPnl }: Portfolio["positions"][number]): number {
  const value = (BigInt(micro(shares)) * BigInt(Math.round(currentPrice * 1e6))) / 1_000_000n;
  return Number(value) - micro(unrealizedPnl);
}

const moneyOf = (wallet: Portfolio["wallet"]) =>
  micro(wallet.balanceUsd) + micro(wallet.exposureUsd) + micro(wallet.pendingWithdrawalsUsd);

describe("under load, one answer is of one moment:", () => {
  test("withdrawals paid out and pending add up to those requested", () =>
    hold(
      () => crowded.api().getFundingReport({ periodDays: 30 }),
      ({ outflows, pendingWithdrawals, inflows, netMovement, byProvider }) => {
        expect(micro(outflows) + micro(pendingWithdrawals)).toBe(micro(WITHDRAWALS * WAITING_USD));
        expect(micro(inflows) - micro(outflows)).toBe(micro(netMovement));
        expect(sum(byProvider.map((provider) => micro(provider.inflows)))).toBe(micro(inflows));
      },
      2 * ROUNDS,
    ));

  test("an overview's volume is that of its traders", () =>
    hold(
      () => crowded.api().getOverviewReport({ periodDays: 30 }),
      ({ totalVolume, activeTraders }) => expect(totalVolume).toBe(STAKE_USD * activeTraders),
      2 * ROUNDS,
    ));

  test("a wallet of a user who only buys holds what was deposited", () =>
    hold(
      () => tenant.api("buyer").getWallet({}),
      (wallet) => expect(moneyOf(wallet)).toBe(micro(DEPOSIT_USD)),
    ));

  test("the operator's view of a user who only buys holds what was deposited", () =>
    hold(
      () => tenant.api().getUser({ id: "buyer" }),
      (user) => expect(moneyOf(user)).toBe(micro(DEPOSIT_USD)),
    ));

  test("a portfolio's wallet is its positions, its settlements and its cash", () =>
    hold(
      () => tenant.api("owner").getPortfolio({}),
      ({ wallet, positions, settlements }) => {
        expect(sum(positions.map(costOf))).toBe(micro(wallet.exposureUsd));
        const gained = sum(settlements.map(({ payout, cost }) => micro(payout) - micro(cost)));
        expect(moneyOf(wallet) - gained).toBe(micro(DEPOSIT_USD));
      },
    ));

  test("a portfolio's positions cost its exposure while its owner buys", () =>
    hold(
      () => tenant.api("buyer").getPortfolio({}),
      ({ wallet, positions }) => {
        expect(sum(positions.map(costOf))).toBe(micro(wallet.exposureUsd));
        expect(moneyOf(wallet)).toBe(micro(DEPOSIT_USD));
      },
    ));

  test("a statement's balances follow from its amounts", () =>
    hold(
      () => tenant.api("buyer").listStatement({ limit: 50 }),
      ({ items }) => {
        for (const [index, { balance, amount }] of items.entries()) {
          const before = items[index + 1];
          if (before) expect(micro(balance) - micro(amount)).toBe(micro(before.balance));
        }
      },
    ));

  test("a settlement's preview prices the pool that it takes its sums from", async () => {
    const [id = ""] = markets;
    await hold(
      () => tenant.api().previewSettlement({ id, outcome: "yes" }),
      ({ price, houseResultUsd }) => {
        // Escrow less what traders hold is the pool's own side, and y·n is F² all along.
        const yes = houseResultUsd + FUND_USD;
        const no = (FUND_USD * FUND_USD) / yes;
        expect(price).toBeCloseTo(no / (yes + no), 4);
      },
    );
  });

  test("a risk's sides and liability are of one pool", () =>
    hold(
      () => tenant.api().listRisk({}),
      (rows) => {
        expect(rows.length).toBeGreaterThan(0);
        for (const { yesPayout, noPayout, maxLiability } of rows) {
          if (maxLiability === 0) continue;
          const escrow = Math.max(yesPayout, noPayout) - maxLiability + FUND_USD;
          expect(((escrow - yesPayout) * (escrow - noPayout)) / FUND_USD ** 2).toBeCloseTo(1, 4);
        }
      },
    ));

  test("a configuration's policy is what its last change made it", () =>
    hold(
      () => tenant.api().getConfig({}),
      ({ policy, changes }) => {
        const last = changes.find(({ type }) => type === "policy.updated");
        if (last) expect(last.payload).toMatchObject({ changes: { maxTradeUsd: { to: policy.maxTradeUsd } } });
      },
    ));

  test("a market with terms either waits for the oracle or was resolved by it", () =>
    hold(
      () => crowded.api().getOracleStatus({}),
      ({ eligibleMarkets, recentResolutions }) => expect(eligibleMarkets + recentResolutions.length).toBe(RESOLVABLE),
    ));

  test("what the widget shows first is of one pool", async () => {
    const { pool, cursors, views } = tenant.services;
    const reader = new FrameReader(pool, cursors, views);
    const [id = ""] = markets;
    await hold(
      () => reader.read("market", id),
      ({ market }) => {
        const { yesMicro, noMicro } = market?.terms ?? {};
        const price = Number(noMicro) / (Number(yesMicro) + Number(noMicro));
        expect(market?.detail.yesPrice).toBeCloseTo(price, 5);
        expect(market && pointsOf(market.history).at(-1)?.[1]).toBeCloseTo(price, 5);
      },
    );
  });

  describe("a stream goes on where its first state ends: a price that only rises never falls in it,", () => {
    const rising = () => markets[2] ?? "";
    const risen = (prices: readonly number[]) => expect(prices).toEqual(prices.toSorted((a, b) => a - b));

    test("read straight from the database", async () => {
      for (let round = 0; round < STREAMS; round++) {
        const stop = new AbortController();
        const prices: number[] = [];
        for await (const each of localEvents(tenant.services, { markets: [rising()], signal: stop.signal })) {
          if (each.event === "snapshot") prices.push(each.data.markets[0]?.yesPrice ?? Number.NaN);
          if (each.event === "price") prices.push(each.data.yesPrice);
          if (prices.length === 4) stop.abort();
        }
        risen(prices);
      }
    });

    test("from a server on which other streams are open", async () => {
      const hub = new StreamHub(
        tenant.services.tail,
        tenant.services.pool,
        new StreamSeats(connectionLimits({}, 1024)),
      );
      const open = async () => {
        const stream = new EventStream(new Socket());
        const visitor = { address: "127.0.0.1", userId: undefined };
        const client = { ...visitor, stream, markets: new Set([rising()]), isStillValid: async () => true };
        await hub.add(client, undefined);
        return stream;
      };
      await open();
      for (let round = 0; round < STREAMS; round++) {
        const stream = await open();
        let text = "";
        for await (const bytes of stream.body) {
          text += Buffer.from(bytes).toString();
          if (text.split("event: price").length > 4) break;
        }
        const seqs = [...text.matchAll(/^id: (\d+)$/gm)].map(([, seq]) => Number(seq));
        expect(seqs).toEqual([...new Set(seqs)].toSorted((a, b) => a - b));
        risen([...text.matchAll(/"yesPrice":([\d.]+)/g)].map(([, price]) => Number(price)));
      }
      hub.close();
    });

    test("by streams that open together from one reading, which leaves connections to other reads", async () => {
      const { tail, pool } = tenant.services;
      let readings = 0;
      const counted: typeof pool.snapshot = (work) => {
        readings++;
        return pool.snapshot(work);
      };
      const hub = new StreamHub(
        tail,
        { read: (work) => pool.read(work), snapshot: counted },
        new StreamSeats(connectionLimits({}, 1024)),
      );
      const streams = Array.from({ length: STREAMS }, () => new EventStream(new Socket()));
      const visitor = { address: "127.0.0.1", userId: undefined, isStillValid: async () => true };
      await Promise.all(
        streams.map((stream) => hub.add({ ...visitor, stream, markets: new Set([rising()]) }, undefined)),
      );
      expect(readings).toBeLessThanOrEqual(2);
      for (const stream of streams) {
        const { value } = await stream.body.getReader().read();
        expect(Buffer.from(value ?? "").toString()).toContain("connected");
      }
      hub.close();
    });
  });

  test("the report of the house is the sum of its categories", () =>
    hold(
      () => tenant.api().getHouseReport({ periodDays: 30 }),
      ({ totalFees, spreadIncome, byCategory }) =>
        expect(sum(byCategory.map(({ revenue }) => micro(revenue)))).toBe(micro(totalFees) + micro(spreadIncome)),
    ));

  test("the traders' report adds up to its totals", () =>
    hold(
      () => tenant.api().getTradersReport({ periodDays: 30 }),
      ({ traders, totals }) => {
        expect(totals.traders).toBe(traders.length);
        expect(sum(traders.map(({ trades }) => trades))).toBe(totals.trades);
        expect(sum(traders.map(({ volume }) => micro(volume)))).toBe(micro(totals.volume));
        expect(sum(traders.map(({ totalPnl }) => micro(totalPnl)))).toBe(micro(totals.totalPnl));
      },
    ));

  test("positions of one market are priced by one pool", async () => {
    const [marketId = ""] = markets;
    for (const side of ["yes", "no"] as const)
      await tenant.api("crowd").placeTrade({ marketId, selection: { side }, amount: 5 });
    await hold(
      () => tenant.api("crowd").listPositions({}),
      (positions) => {
        const prices = positions
          .filter((position) => position.marketId === marketId)
          .map(({ currentPrice }) => currentPrice);
        expect(sum(prices)).toBeCloseTo(1, 6);
      },
    );
  });

  test("the chain's count and head are of one entry, and it verifies", () =>
    hold(
      () => tenant.api().getAuditStatus({}),
      async ({ verified, count, head }) => {
        const [entry] = await tenant.sql`select hash from audit where seq = ${count}`;
        expect({ verified, head }).toEqual({ verified: true, head: entry?.hash });
      },
      15,
    ));

  test("the ledger reconciles in every check", () =>
    hold(
      () => tenant.api().explainLedger({}),
      (checks) => expect(checks.filter(({ ok }) => !ok)).toEqual([]),
      15,
    ));
});
