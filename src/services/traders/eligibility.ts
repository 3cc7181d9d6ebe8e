import type { Result } from "../../contract/operations.ts";
import { Fault, faultFacts } from "../../domain/fault.ts";
import {
  type Eligibility,
  eligibilityOf,
  needsOfEligibility,
  type Reason,
  type Subject,
} from "../../engine/admission/eligibility.ts";
import { requireUser, type ServiceContext } from "../context.ts";
import type { Handlers } from "../invoke.ts";
import { readState } from "../read-state.ts";

/** What a user may do now, for the user and for operators. */
export function eligibilityHandlers(context: ServiceContext) {
  return {
    getEligibility: async ({ marketId }, caller) => {
      const { id: traderId, jurisdiction } = requireUser(caller);
      return eligibilityView(await read(context, { traderId, marketId, claimedJurisdiction: jurisdiction }));
    },
    getUserEligibility: async ({ id: traderId, marketId }) =>
      eligibilityView(await read(context, { traderId, marketId, claimedJurisdiction: undefined }, true)),
  } satisfies Handlers;
}

/** @param onlyKnown refuses a user whom the tenant has never seen, as other reads of operators do */
async function read(context: ServiceContext, subject: Subject, onlyKnown = false): Promise<Eligibility> {
  const { state, now } = await readState(context, needsOfEligibility(subject));
  if (onlyKnown && !state.get("trader", subject.traderId)) throw new Fault("NOT_FOUND", "User not found");
  return eligibilityOf(state, subject, now);
}

function eligibilityView({ trade, sell, deposit, withdraw, limits }: Eligibility): Result<"getEligibility"> {
  return {
    trade: {
      ...verdictOf(trade),
      limits: {
        maxTradeUsd: limits.maxTradeMicro,
        maxExposureUsd: limits.maxExposureMicro,
        remainingUsd: limits.remainingMicro,
        balanceUsd: limits.balanceMicro,
      },
    },
    sell: verdictOf(sell),
    deposit: verdictOf(deposit),
    withdraw: verdictOf(withdraw),
  };
}

function verdictOf(reasons: readonly Reason[]) {
  return {
    allowed: reasons.length === 0,
    reasons: reasons.map(({ refusal: { code, message }, until }) => ({
      code,
      message,
      until,
      action: faultFacts(code).action ?? null,
    })),
  };
}
