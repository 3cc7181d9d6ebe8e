import { describe, expect, test } from "vitest";
import { DAY_MS, HOUR_MS } from "../../src/domain/time/units.ts";
import type { Batch } from "../../src/ledger/commit.ts";
import { fundingDayRows, hourRows, traderDayRows } from "../../src/ledger/rollups.ts";

const NOON = 20_000 * DAY_MS + 12 * HOUR_MS;
type Trade = Batch["trades"][number];

const trade = (change: Partial<Trade>): Trade => ({
  seq: 1n,
  id: "t",
  marketId: "m1",
  traderId: "ann",
  side: "yes",
  amountMicro: 100n,
  feeMicro: 1n,
  sharesMicro: 150n,
  releasedMicro: null,
  hedgeRef: null,
  yesPricePpm: 600_000,
  ts: NOON,
  hourOver: null,
  dayOver: null,
  ...change,
});

describe("rollups of a batch", () => {
  const day = NOON - 12 * HOUR_MS;

  test("hours and days that are over become a row each, though both sides of a market end a day", () => {
    const hour = { marketId: "m1", hour: NOON, hourVolumeMicro: 100n, hourFeeMicro: 1n, yesPricePpm: 600_000 };
    const side = { traderId: "ann", marketId: "m1", day, dayVolumeMicro: 100n, dayTrades: 2, dayRealizedMicro: -12n };
    const trades = [
      trade({ hourOver: hour, dayOver: side }),
      trade({}),
      trade({ dayOver: side }),
      trade({ hourOver: { ...hour, marketId: "m2" }, dayOver: { ...side, traderId: "bob" } }),
    ];
    expect(hourRows(trades)).toEqual([hour, { ...hour, marketId: "m2" }]);
    expect(traderDayRows(trades)).toEqual([
      { ...side, dayVolumeMicro: 200n, dayTrades: 4, dayRealizedMicro: -24n },
      { ...side, traderId: "bob" },
    ]);
  });

  test("funding counts money that enters or leaves the platform, without trades, pending withdrawals and the house's capital", () => {
    const move = (debit: string, credit: string, amountMicro: bigint) => ({
      debit,
      credit,
      amountMicro,
      seq: 1n,
      leg: 0,
    });
    const transfers = [
      move("external:payments", "wallet:ann", 50n),
      move("external:payments", "wallet:bob", 5n),
      move("wallet:ann", "escrow:m1", 20n),
      move("wallet:ann", "pending:ann", 10n),
      move("pending:ann", "external:withdrawals", 10n),
      move("wallet:bob", "external:payments", 3n),
      move("external:capital", "treasury", 1000n),
    ];
    expect(fundingDayRows(transfers, NOON)).toEqual([
      { day, provider: "payments", inflowMicro: 55n, outflowMicro: 3n },
      { day, provider: "withdrawals", inflowMicro: 0n, outflowMicro: 10n },
    ]);
  });
});
