import type { Step } from "../../config/schema/case-schema.ts";
import type { OutgoingRules } from "../../domain/access/networks.ts";
import { parseDuration } from "../../domain/time/time-grammar.ts";
import { encodeResult } from "../../services/answers.ts";
import { checkOracleAddress } from "../../services/configuration/policy.ts";
import { decodeInput } from "../../services/invoke.ts";
import { settlementCommand, settlementView } from "../../services/markets/markets.ts";
import { tradeCommand, tradeView } from "../../services/markets/trading.ts";
import type { CaseTenant } from "./case-tenant.ts";

/** What a step needs besides the tenant. */
interface StepContext {
  /** Stands in the ids that it gives. */
  index: number;
  /** Where the policy's oracle may be. */
  network: OutgoingRules;
  /** What a user's token says of the jurisdiction. */
  claimedBy: (userId: string) => string | undefined;
}

/**
 * Does a step as the service would on a request: validated by the same schema, decided by the engine.
 * @returns the answer in wire form
 * @throws Fault when it is refused
 */
export function perform(tenant: CaseTenant, step: Step, context: StepContext): unknown {
  const { trade, wait, suspend, resume, policy, sweep, price, settle } = step;
  if (trade) return place(tenant, trade, context);
  if (suspend !== undefined)
    return encodeResult("suspendMarket", tenant.run({ type: "suspendMarket", marketId: suspend }));
  if (resume !== undefined) return encodeResult("resumeMarket", tenant.run({ type: "resumeMarket", marketId: resume }));
  if (policy) {
    checkOracleAddress(policy.resolution_url, context.network);
    const { policy: now, updatedAt } = tenant.run({ type: "updatePolicy", patch: policy });
    return encodeResult("updatePolicy", { ...now, updatedAt });
  }
  if (sweep) return encodeResult("sweepOracle", tenant.sweep());
  if (settle) {
    const { market: marketId, ...terms } = settle;
    const result = tenant.run(settlementCommand(decodeInput("settleMarket", { marketId, ...terms })));
    return encodeResult("settleMarket", settlementView(result));
  }
  if (price) tenant.statePrice(price.feed, price.value);
  if (wait !== undefined) tenant.wait(parseDuration(wait) ?? 0);
  return {};
}

function place(tenant: CaseTenant, trade: NonNullable<Step["trade"]>, { index, claimedBy }: StepContext): unknown {
  const { user: id, market: marketId, side, action, amountUsd: amount, ...terms } = trade;
  const input = decodeInput("placeTrade", { marketId, selection: { side, action }, amount, ...terms });
  const user = { id, jurisdiction: claimedBy(id) };
  return encodeResult("placeTrade", tradeView(tenant.run(tradeCommand(`trd_${index}`, input, side, user))));
}
