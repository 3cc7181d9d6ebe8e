import { QUESTIONS, type Question } from "../../client/inbox/questions.ts";
import { expiringCertificate, missingBackup } from "../../client/inbox/waiting.ts";
import { readCertificate, tlsSections } from "../../config/certificate.ts";
import { loadEnvironment } from "../../config/environment.ts";
import { requiredStandbys } from "../../config/tenant-config.ts";
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
import { waitingDrift } from "./waiting.ts";

/** What waits by the tenant's API alone. */
function asked({ kinds, ask }: Question): NonNullable<Check["waits"]> {
  return { kinds, live: ask };
}

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
        const environment = loadEnvironment(directory);
        return tlsSections(config).flatMap((section) => {
          const found = readCertificate(config, environment, scope.now, section);
          return found ? expiringCertificate(section.join("."), found.expires, scope) : [];
        });
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
      live: async (live, scope) => {
        const { problem } = await live.api.getAuditStatus({});
        if (problem?.sealedWith !== undefined) throw otherKeyFault(problem.text);
        return QUESTIONS.chain.ask(live, scope);
      },
    },
  },
  {
    id: "ledger",
    asks: "Does the ledger add up?",
    waits: asked(QUESTIONS.ledger),
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
    waits: asked(QUESTIONS.settlements),
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
    waits: asked(QUESTIONS.withdrawals),
  },
  {
    id: "proposals",
    asks: "Which changes wait for another person, or for their time?",
    waits: asked(QUESTIONS.proposals),
  },
  {
    id: "identity checks",
    asks: "Which identity checks had a status that is neither passed nor failed?",
    waits: asked(QUESTIONS.identityChecks),
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
    waits: asked(QUESTIONS.overrides),
  },
  {
    id: "freeze",
    asks: "Is a freeze in force?",
    waits: asked(QUESTIONS.freeze),
  },
  {
    id: "keys",
    asks: "Which API keys expire soon?",
    waits: asked(QUESTIONS.keys),
  },
  {
    id: "receivers",
    asks: "Which receivers of webhooks did not get all?",
    waits: asked(QUESTIONS.receivers),
  },
];
