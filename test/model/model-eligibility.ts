import { larger, microOf, usd } from "./model-numbers.ts";
import { exposureOf, type State, userOf } from "./model-state.ts";
import { exposureCap, standingsOf } from "./model-trade.ts";

const ACTIONS: Record<string, string> = {
  KYC_REQUIRED: "verify",
  JURISDICTION_UNKNOWN: "verify",
  ACCOUNT_RESTRICTED: "contact",
  SUITABILITY_REQUIRED: "suitability",
  INSUFFICIENT_FUNDS: "deposit",
};

const verdict = (codes: string[]) => ({
  allowed: codes.length === 0,
  // No change of a policy in these stories is temporary.
  reasons: codes.map((code) => ({ code, until: null, action: ACTIONS[code] ?? null })),
});

/** What a user may do in any market, for a token that claims no jurisdiction. */
export function eligibilityOf(state: State, id: string) {
  const { policy, users } = state;
  const user = users[id] ?? userOf({ users: {} } as State, id, { from: 0, to: 0 });
  const standings = standingsOf(state, user);
  const [exposure, cap] = [exposureOf(state, id), exposureCap(user, policy)];
  const unfunded = user.balance > 0n ? [] : ["INSUFFICIENT_FUNDS"];
  return {
    trade: {
      ...verdict([...standings, ...(exposure < cap ? [] : ["EXPOSURE_EXCEEDED"]), ...unfunded]),
      limits: {
        maxTradeUsd: usd(microOf(policy.maxTradeUsd) ?? 0n),
        maxExposureUsd: usd(cap),
        remainingUsd: usd(larger(0n, cap - exposure)),
        balanceUsd: usd(user.balance),
      },
    },
    sell: verdict([...standings, ...(exposure > 0n ? [] : ["INSUFFICIENT_SHARES"])]),
    deposit: verdict([]),
    withdraw: verdict([...(user.restricted ? ["ACCOUNT_RESTRICTED"] : []), ...unfunded]),
  };
}
