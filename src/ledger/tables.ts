import { isScope } from "../domain/access/scopes.ts";
import type { AuditEntry } from "../domain/audit/audit-link.ts";
import { type Override, type Policy, storedPolicy } from "../domain/policy/policy.ts";
import type { Table, Tables } from "../engine/rows.ts";
import { APPROVAL_TABLES } from "./approval-tables.ts";
import {
  bigint,
  converted,
  flag,
  journal,
  json,
  line,
  merged,
  named,
  replaced,
  smallint,
  type TableCodec,
  text,
  whole,
  words,
} from "./codec.ts";
import { MARKET_TABLES } from "./market-tables.ts";
import { MONEY_TABLES } from "./money-tables.ts";

/** The row fields from which the policy at an instant follows. */
export const POLICY_COLUMNS = {
  policy: { ...json<Policy>(), decode: (stored: string) => storedPolicy(JSON.parse(stored)) },
  overrides: json<readonly Override[]>(),
};

/**
 * The tables of the commit statement, in its order. Each codec determines the columns, the table's part of the
 * statement, its loader, the rights of the server's login, and what proves its rows at a restore.
 */
export const TABLES = {
  ...APPROVAL_TABLES,
  ...MARKET_TABLES,
  ...MONEY_TABLES,
  apiKey: converted<Tables["apiKey"], Omit<Tables["apiKey"], "onRecord">>(
    replaced("api_key", ["hash"], "chain", {
      hash: text(),
      name: text(),
      type: text(),
      scopes: words(isScope),
      from: named(
        "networks",
        words((word): word is string => word !== ""),
      ),
      createdAt: whole(),
      expiresAt: whole(),
      leaked: flag(),
    }),
    (key) => key,
    // As stored: no audit entry has confirmed the key yet.
    (key) => ({ ...key, onRecord: false }),
  ),
  assessment: journal<Tables["assessment"]>("assessment", ["id"], "chain", {
    id: text(),
    traderId: text(),
    answers: text(),
    score: smallint(),
    submittedAt: whole(),
  }),
  audit: journal<AuditEntry>("audit", ["seq"], "chain", {
    seq: bigint(),
    type: line(),
    actor: line(),
    payloadText: named("payload", line()),
    ts: line(),
    keyId: line(),
    hash: line(),
  }),
  // A forged row would answer a retry with something that never happened. Without the row a retry is decided anew. When
  // a new answer is stored, any existing row is expired.
  storedAnswer: merged<Tables["storedAnswer"]>(
    "stored_answer",
    ["caller", "key"],
    "mac",
    {
      caller: text(),
      key: text(),
      requestHash: text(),
      status: smallint(),
      body: text(),
      createdAt: whole(),
      seal: text(),
    },
    { server: "delete", adds: [] },
  ),
  // In no backup: a restore signs everyone out.
  consoleSession: merged<Tables["consoleSession"]>(
    "console_session",
    ["sha256"],
    undefined,
    {
      sha256: text(),
      keyHash: text(),
      keyName: text(),
      createdAt: whole(),
      endsAt: whole(),
      endedAt: whole(),
      seal: text(),
    },
    { server: "delete", adds: [] },
  ),
  tenant: replaced<Tables["tenant"]>("tenant", [], "chain", {
    ...POLICY_COLUMNS,
    policyUpdatedAt: whole(),
    kycRequired: flag(),
    liquidityMicro: bigint(),
    capitalMicro: bigint(),
    document: text(),
  }),
  trader: replaced<Tables["trader"]>("trader", ["id"], "chain", {
    id: text(),
    kyc: text(),
    restricted: flag(),
    jurisdiction: text(),
    kycAt: whole(),
    suitabilityScore: smallint(),
    suitabilityAt: whole(),
    createdAt: whole(),
  }),
};

/** Rows that exist only in a process's memory. */
type Derived =
  | ("clarifications" | "freeze" | "holders" | "holderDebts" | "holderFees" | "keyring" | "marketKey" | "portfolio")
  | ("planApprovals" | "positionFee" | "revocation" | "stake" | "tenantRecord" | "waitingProposal");

/** The codecs of the rows that commands read and write. A missing codec does not compile. */
export const CODECS: { [T in Exclude<Table, Derived>]: TableCodec<Tables[T]> } & { [T in Derived]?: undefined } =
  TABLES;
