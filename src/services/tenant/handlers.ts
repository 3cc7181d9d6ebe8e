import { recordHandlers } from "../audit/record.ts";
import { configurationHandlers } from "../configuration/configuration.ts";
import { freezeHandlers, policyHandlers } from "../configuration/policy.ts";
import { rollbackHandlers } from "../configuration/rollback.ts";
import type { ServiceContext } from "../context.ts";
import type { AllHandlers, Handlers } from "../invoke.ts";
import { keyHandlers } from "../keys.ts";
import { endHandlers } from "../markets/ends.ts";
import { explainHandlers, idHandlers } from "../markets/lookups.ts";
import { marketViewHandlers } from "../markets/market-views.ts";
import { marketHandlers } from "../markets/markets.ts";
import { positionHandlers } from "../markets/positions.ts";
import { tradingHandlers } from "../markets/trading.ts";
import { oracleHandlers } from "../oracle/oracle.ts";
import { proposalHandlers } from "../proposals/proposals.ts";
import { reportHandlers } from "../reports/reports.ts";
import type { RefusalLog } from "../security/refusal-log.ts";
import { eligibilityHandlers } from "../traders/eligibility.ts";
import { userHandlers } from "../traders/users.ts";
import { walletHandlers } from "../traders/wallets.ts";
import { deliveryHandlers } from "../webhooks/deliveries.ts";
import { inboundHandlers } from "../webhooks/inbound.ts";
import { inboundListHandlers } from "../webhooks/inbound-list.ts";
import type { DurabilityWatch } from "./durability-watch.ts";
import { serverHandlers } from "./server-status.ts";

/** The handlers of all operations except providers' webhooks; a missing handler does not compile. */
export function allHandlers(
  context: ServiceContext,
  {
    refusals,
    isDatabaseUp,
    durability,
  }: { refusals: RefusalLog; isDatabaseUp: () => Promise<boolean>; durability: DurabilityWatch },
): AllHandlers {
  return {
    ...marketHandlers(context),
    ...marketViewHandlers(context),
    ...endHandlers(context),
    ...proposalHandlers(context),
    ...tradingHandlers(context),
    ...walletHandlers(context),
    ...userHandlers(context),
    ...eligibilityHandlers(context),
    ...positionHandlers(context),
    ...recordHandlers(context),
    ...policyHandlers(context),
    ...inboundHandlers(context),
    ...inboundListHandlers(context),
    ...reportHandlers(context),
    ...explainHandlers(context, refusals),
    ...keyHandlers(context),
    ...deliveryHandlers(context),
    ...idHandlers(context, refusals),
    ...oracleHandlers(context),
    ...freezeHandlers(context),
    ...configurationHandlers(context),
    ...rollbackHandlers(context),
    ...serverHandlers(context, durability),
    ...healthHandlers(isDatabaseUp),
  };
}

/** Uptime counts from this call, when the services are opened. */
function healthHandlers(isDatabaseUp: () => Promise<boolean>) {
  const startedAt = performance.now();
  return {
    getHealth: async () => {
      const db = await isDatabaseUp();
      return { ok: db, service: "pmctl", db, uptimeSec: Math.floor((performance.now() - startedAt) / 1000) };
    },
  } satisfies Handlers;
}
