import type { Sequencer } from "../../../src/ledger/sequencer/sequencer.ts";
import { newId } from "../../../src/services/tenant/identifiers.ts";
import type { Report } from "../report.ts";
import { traderOf } from "../scene.ts";
import type { Stage } from "../stage.ts";

/** Two full batches: one is committed while the next one fills. */
const UNDER_WAY = 2048;

/** Gives the tenant trades through its sequencer, in batches as large as they come. */
export async function growHistory(stage: Stage, report: Report, trades: number): Promise<void> {
  const startedAt = performance.now();
  await stage.withServices(({ sequencer }) => keepTrading(sequencer, stage.markets, trades, UNDER_WAY));
  const seconds = (performance.now() - startedAt) / 1000;
  report.note(`a history of ${trades} trades: ${seconds.toFixed(1)} s, ${Math.round(trades / seconds)}/s`);
}

/** Trades without a server, so many at a time. */
export async function keepTrading(
  sequencer: Sequencer,
  markets: readonly string[],
  trades: number,
  underWay: number,
): Promise<void> {
  let begun = 0;
  const trader = async () => {
    while (begun < trades) {
      const index = begun++;
      await sequencer.submit({
        command: {
          type: "placeTrade",
          // As the server makes them: ids that do not sort by time would make their index dearer than it is.
          id: newId("trd", performance.timeOrigin + performance.now()),
          marketId: markets[(index * 37 + (index >> 8)) % markets.length] ?? "",
          side: (index >> 1) % 2 === 0 ? "yes" : "no",
          traderId: traderOf(index),
          claimedJurisdiction: undefined,
          amountMicro: BigInt(1 + (index % 7)) * 1_000_000n,
        },
        actor: `user:${traderOf(index)}`,
      });
    }
  };
  await Promise.all(Array.from({ length: underWay }, trader));
}
