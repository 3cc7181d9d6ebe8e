import type { Command } from "../../../src/engine/commands.ts";
import type { ServedTenant } from "../../server/support/tenant.ts";

/** The reasons of operators are only ever text. */
export const HOSTILE_REASON = `<img src=x onerror="top.postMessage('owned','*')"></script> \u202e{time} "&amp;`;

const OPERATOR = "admin:ops";

/** Carries a command out as an operator. */
export async function operate({ services }: ServedTenant, command: Command): Promise<void> {
  await services.sequencer.submit({ command, actor: OPERATOR });
}

/** A market of this id in which the user has bought 10 dollars of Yes. */
export async function openHeld(tenant: ServedTenant, id: string, question: string, userId: string): Promise<void> {
  await tenant.openMarket(id, { question });
  const order = { marketId: id, traderId: userId, side: "yes", amountMicro: 10_000_000n } as const;
  await tenant.services.sequencer.submit({
    command: { type: "placeTrade", id: `trd_${id}`, ...order, claimedJurisdiction: undefined },
    actor: `user:${userId}`,
  });
}

/** Markets that ended in every way but one side's: `mkt_void`, `mkt_split`, `mkt_fixed` and `mkt_unvoid`. */
export async function endMarkets(tenant: ServedTenant, userId: string): Promise<void> {
  await tenant.deposit(userId, 500);
  await openHeld(tenant, "mkt_void", "Will the tower be finished in 2030?", userId);
  await openHeld(tenant, "mkt_split", "Will the cup final have a winner after 90 minutes?", userId);
  await openHeld(tenant, "mkt_fixed", "Will it rain in Bern on May 1, 2030?", userId);
  await openHeld(tenant, "mkt_unvoid", "Will the strike end in June?", userId);
  await operate(tenant, { type: "voidMarket", marketId: "mkt_void", reason: "The tower was never begun" });
  await operate(tenant, { type: "settleMarket", marketId: "mkt_split", outcome: "0.4" });
  await operate(tenant, { type: "settleMarket", marketId: "mkt_fixed", outcome: "yes" });
  const fixed = { marketId: "mkt_fixed", outcome: "no", reason: "The station measured dew" } as const;
  await operate(tenant, { type: "correctMarket", ...fixed });
  await operate(tenant, { type: "voidMarket", marketId: "mkt_unvoid", reason: "Nobody reported" });
  const unvoid = { marketId: "mkt_unvoid", outcome: "0.333333", reason: HOSTILE_REASON } as const;
  await operate(tenant, { type: "correctMarket", ...unvoid });
}
