import { everyPage } from "../../client/pages.ts";
import { readCertificate } from "../../config/certificate.ts";
import { loadEnvironment } from "../../config/environment.ts";
import { requiredStandbys } from "../../config/tenant-config.ts";
import type { Api } from "../../contract/operations.ts";
import { otherKeyFault } from "../../domain/audit/chain-walk.ts";
import { promisesOf } from "../../domain/durability.ts";
import { countUnsettled } from "../../queries/due-work.ts";
import { readDurability } from "../../queries/server.ts";
import { countVerifiedOfUnknownPlace } from "../../queries/traders/list-traders.ts";
import { readPolicy } from "../../services/configuration/policy.ts";
import { fromFiles, planOn } from "../apply/plan-tenant.ts";
import { lastBackupAt } from "../backup/last-backup.ts";
import { collectCertificate, evaluateAddresses, evaluateCertificate, evaluateJurisdictions } from "./addresses.ts";
import type { Check } from "./check.ts";
import { evaluateBackup, evaluateDurability } from "./durability.ts";
import { examineKeySet } from "./key-set.ts";
import { examineLogins } from "./login.ts";
import { examineOracle } from "./oracle.ts";
import { collectRecord, collectTreasury, evaluateRecord, evaluateSettlements, evaluateTreasury } from "./record.ts";
import { collectServer, evaluateServer } from "./server.ts";
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
  waitingDrift,
  waitingMarkets,
  waitingProposals,
  waitingWithdrawals,
} from "./waiting.ts";

/** Every question about a tenant; doctor, inbox and status are views of this list. A new check is a row here. */
export const CHECKS: readonly Check[] = [
  {
    id: "addresses",
    asks: "Do the addresses of the tenant file go together?",
    examine: ({ config }) => evaluateAddresses(config),
  },
  {
    id: "certificate",
    asks: "Is the certificate for this host, and how long is it valid?",
    examine: ({ config, directory }) => evaluateCertificate(collectCertificate(config, directory)),
    waits: {
      kinds: ["certificate"],
      files: ({ config, directory }, scope) => {
        const found = readCertificate(config, loadEnvironment(directory), scope.now);
        return found ? expiringCertificate(scope.tenant, found.expires, scope) : [];
      },
    },
  },
  {
    id: "server",
    asks: "Who serves the tenant, is the server well, and does it take our key?",
    examine: async (tenant) => evaluateServer(await collectServer(tenant), tenant.id),
    cause: "audit key",
  },
  { id: "user tokens", asks: "Can the tokens of users be verified?", examine: examineKeySet },
  { id: "database login", asks: "Can the database's logins do what they must, and no more?", examine: examineLogins },
  {
    id: "durability",
    asks: "What does an acknowledged change survive?",
    inDatabase: {
      finds: "durability, replication, archive",
      examine: async (sql, { config }) => {
        const facts = await readDurability(sql);
        return evaluateDurability({ ...facts, ...promisesOf(facts), required: requiredStandbys(config) });
      },
    },
  },
  {
    id: "backup",
    asks: "When was the last backup written from this directory?",
    examine: async ({ id, directory }) => [evaluateBackup(await lastBackupAt({ directory, tenant: id }), id)],
    waits: {
      kinds: ["backup"],
      files: async ({ directory }, { tenant, now }) =>
        missingBackup(tenant, await lastBackupAt({ directory, tenant }), now),
    },
  },
  {
    id: "record",
    asks: "Does the audit log hold, do the anchors know it, and is the database as it says?",
    inDatabase: {
      finds: "audit chain, anchors, on record",
      examine: async (sql, tenant) => evaluateRecord(await collectRecord(sql, tenant), tenant.id),
    },
    cause: "audit key",
    waits: {
      kinds: ["chain"],
      live: async ({ api }, { tenant }) => {
        const status = await api.getAuditStatus({});
        if (status.problem?.sealedWith !== undefined) throw otherKeyFault(status.problem.text);
        return brokenChain(tenant, status);
      },
    },
  },
  {
    id: "ledger",
    asks: "Does the ledger add up?",
    waits: {
      kinds: ["ledger"],
      live: async ({ api }, { tenant }) => unbalancedLedger(tenant, await api.explainLedger({ failing: "true" })),
    },
  },
  {
    id: "treasury",
    asks: "Can the treasury fund another market?",
    inDatabase: {
      finds: "treasury",
      examine: async (sql, tenant) => [evaluateTreasury(await collectTreasury(sql, tenant))],
    },
  },
  {
    id: "settlements",
    asks: "Which markets past their closing time wait for their outcome?",
    inDatabase: {
      finds: "settlements",
      examine: async (sql, { id }) => [evaluateSettlements(await countUnsettled(sql), id)],
    },
    waits: {
      kinds: ["market.closed", "market.held"],
      live: async ({ api }, { tenant }) => {
        // Those with a proposal wait for it, as an item of their own.
        const proposed = new Set((await pendingProposals(api)).map(({ marketId }) => marketId));
        const waiting = await everyPage((page) => api.listMarkets({ status: "waiting", ...page }));
        const markets = waiting.filter(({ id }) => !proposed.has(id));
        if (markets.length === 0) return [];
        const [risks, holds] = [await api.listRisk({ status: "waiting" }), await api.listHeldMarkets({})];
        return waitingMarkets(tenant, markets, risks, holds);
      },
    },
  },
  {
    id: "oracle",
    asks: "Can the feeds settle the markets that were created on them?",
    inDatabase: { finds: "oracle, held markets", examine: examineOracle },
  },
  {
    id: "jurisdictions",
    asks: "Are users refused because nothing says where they live?",
    inDatabase: {
      finds: "jurisdictions",
      examine: async (sql) => {
        const { value: policy } = await readPolicy(sql);
        return [evaluateJurisdictions(policy.jurisdictions, await countVerifiedOfUnknownPlace(sql))];
      },
    },
  },
  {
    id: "withdrawals",
    asks: "Which withdrawals wait to be decided?",
    waits: {
      kinds: ["withdrawal"],
      live: async ({ api }, { tenant }) => {
        const proposed = new Set(
          (await pendingProposals(api)).map(({ kind, request }) => kind === "withdraw" && request.id),
        );
        const pending = await everyPage((page) => api.listWithdrawals({ status: "pending", ...page }));
        return waitingWithdrawals(
          tenant,
          pending.filter(({ withdrawalId }) => !proposed.has(withdrawalId)),
        );
      },
    },
  },
  {
    id: "proposals",
    asks: "Which changes wait for another person, or for their time?",
    waits: {
      kinds: ["market.proposed", "proposal"],
      live: async ({ api }, { tenant, now }) => waitingProposals(tenant, await pendingProposals(api), now),
    },
  },
  {
    id: "identity checks",
    asks: "Which identity checks had a status that is neither passed nor failed?",
    waits: { kinds: ["kyc"], live: ({ api }, { tenant, now }) => undecidedChecks(tenant, api, now) },
  },
  {
    id: "drift",
    asks: "What was changed live since the last apply?",
    waits: {
      kinds: ["drift"],
      live: async (live, { tenant }, session) => {
        const { plan } = await planOn(live, fromFiles(session, session.keysAtHand()), session);
        return waitingDrift(tenant, plan.items);
      },
    },
  },
  {
    id: "overrides",
    asks: "Which temporary values of the policy end soon?",
    waits: {
      kinds: ["override"],
      live: ({ config }, { tenant, until }) => endingOverrides(tenant, config.overrides, until),
    },
  },
  {
    id: "freeze",
    asks: "Is a freeze in force?",
    waits: { kinds: ["freeze"], live: ({ config }, { tenant }) => standingFreeze(tenant, config.freeze) },
  },
  {
    id: "keys",
    asks: "Which API keys expire soon?",
    waits: { kinds: ["key"], live: ({ config }, scope) => expiringKeys(scope.tenant, config.keys, scope) },
  },
  {
    id: "receivers",
    asks: "Which receivers of webhooks did not get all?",
    waits: {
      kinds: ["receiver"],
      live: async ({ api }, { tenant }) => failingReceivers(tenant, await api.listWebhookReceivers({})),
    },
  },
];

const pendingProposals = (api: Api) => everyPage((page) => api.listProposals({ status: "pending", ...page }));
