import { randomUUID } from "node:crypto";
import type { Side } from "../../../src/domain/market/pool.ts";
import type { Report } from "../report.ts";
import { traderOf } from "../scene.ts";
import type { Stage } from "../stage.ts";

/** Two full batches: one is committed while the next one fills. */
const UNDER_WAY = 2048;

/** Gives the tenant trades through its sequencer, in batches as large as they come. */
export async function growHistory(stage: Stage, report: Report, trades: number): Promise<void> {
  const startedAt = performance.now();
  await stage.withServices(async ({ sequencer }) => {
    let begun = 0;
    const keepTrading = async () => {
      while (begun < trades) {
        const index = begun++;
        const side: Side = (index >> 1) % 2 === 0 ? "yes" : "no";
        await sequencer.submit({
          command: {
            type: "placeTrade",
            id: `trd_${randomUUID()}`,
            marketId: stage.markets[(index * 37 + (index >> 8)) % stage.markets.length] ?? "",
            side,
            traderId: traderOf(index),
            claimedJurisdiction: undefined,
            amountMicro: BigInt(1 + (index % 7)) * 1_000_000n,
          },
          actor: `user:${traderOf(index)}`,
        });
      }
    };
    await Promise.all(Array.from({ length: UNDER_WAY }, keepTrading));
  });
  const seconds = (performance.now() - startedAt) / 1000;
  report.note(`a history of ${trades} trades: ${seconds.toFixed(1)} s, ${Math.round(trades / seconds)}/s`);
}
