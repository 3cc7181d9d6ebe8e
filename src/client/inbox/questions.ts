import type { Api, WireResult } from "../../contract/operations.ts";
import { everyPage } from "../pages.ts";
import type { InboxKind, Scope, Waiting } from "./item.ts";
import { subjectsOf, totalsOf } from "./proposed.ts";
import {
  brokenChain,
  endingOverrides,
  expiringCertificate,
  expiringKeys,
  failingReceivers,
  missingBackup,
  standingFreeze,
  unbalancedLedger,
  undecidedChecks,
  waitingMarkets,
  waitingProposals,
  waitingWithdrawals,
} from "./waiting.ts";

/** The parts of the live configuration that questions read. */
type Config = Pick<WireResult<"getConfig">, "overrides" | "keys"> & Partial<Pick<WireResult<"getConfig">, "freeze">>;

/** A question to a tenant's API about what waits for a person. */
export interface Question {
  kinds: readonly InboxKind[];
  ask(live: { api: Api; config: Config }, scope: Scope): Waiting[] | Promise<Waiting[]>;
}

const pendingProposals = (api: Api) => everyPage((page) => api.listProposals({ status: "pending", ...page }));

/** What can be learnt over the API. A command asks more, of its own machine and files. */
export const QUESTIONS = {
  chain: {
    kinds: ["chain"],
    ask: async ({ api }, { tenant }) => brokenChain(tenant, await api.getAuditStatus({})),
  },
  ledger: {
    kinds: ["ledger"],
    ask: async ({ api }, { tenant }) => unbalancedLedger(tenant, await api.explainLedger({ failing: "true" })),
  },
  settlements: {
    kinds: ["market.closed", "market.held"],
    async ask({ api }, { tenant }) {
      // Those with a proposal wait for it, as an item of their own.
      const proposed = new Set((await pendingProposals(api)).map(({ marketId }) => marketId));
      const risks = (await api.listRisk({ status: "waiting" })).filter(({ marketId }) => !proposed.has(marketId));
      if (risks.length === 0) return [];
      const holds = await api.listHeldMarkets({});
      return waitingMarkets(tenant, risks, holds);
    },
  },
  withdrawals: {
    kinds: ["withdrawal"],
    async ask({ api }, { tenant }) {
      const [proposals, pending] = await Promise.all([
        pendingProposals(api),
        everyPage((page) => api.listWithdrawals({ status: "pending", ...page })),
      ]);
      const proposed = new Set(proposals.map(({ kind, request }) => kind === "withdraw" && request.id));
      return waitingWithdrawals(
        tenant,
        pending.filter(({ withdrawalId }) => !proposed.has(withdrawalId)),
      );
    },
  },
  proposals: {
    kinds: ["market.proposed", "proposal"],
    async ask({ api }, { tenant, now }) {
      const proposals = await pendingProposals(api);
      const [subjects, totals] = await Promise.all([subjectsOf(proposals, api), totalsOf(proposals, api)]);
      return waitingProposals(tenant, proposals, now, { ...subjects, totals });
    },
  },
  identityChecks: { kinds: ["kyc"], ask: ({ api }, { tenant, now }) => undecidedChecks(tenant, api, now) },
  overrides: {
    kinds: ["override"],
    ask: ({ config }, { tenant, until }) => endingOverrides(tenant, config.overrides, until),
  },
  freeze: { kinds: ["freeze"], ask: ({ config }, { tenant }) => standingFreeze(tenant, config.freeze) },
  keys: { kinds: ["key"], ask: ({ config }, scope) => expiringKeys(scope.tenant, config.keys, scope) },
  /** As its server knows it. A command reads its own directory, which need not be the server's. */
  machine: {
    kinds: ["certificate", "backup"],
    async ask({ api }, scope) {
      const { certificates, lastBackup } = await api.getServer({});
      return [
        ...(certificates ?? []).flatMap(({ section, expiresAt }) =>
          expiringCertificate(section, Date.parse(expiresAt), scope),
        ),
        ...(lastBackup ? missingBackup(scope.tenant, lastBackup.at, scope.now) : []),
      ];
    },
  },
  receivers: {
    kinds: ["receiver"],
    ask: async ({ api }, { tenant }) => failingReceivers(tenant, await api.listWebhookReceivers({})),
  },
} as const satisfies Readonly<Record<string, Question>>;
