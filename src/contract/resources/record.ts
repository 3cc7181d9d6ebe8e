import { z } from "zod";
import { CHAIN_PROBLEMS } from "../../domain/audit/audit-link.ts";
import { NoInput, operation } from "../operation.ts";
import { line, PageCursor, PageLimit, Timestamp, text, Usd, UsdAmount, UserId } from "../scalars.ts";
import { CountryCode } from "./policy.ts";

export const Health = z
  .object({ ok: z.boolean(), service: z.string(), db: z.boolean(), uptimeSec: z.number().int().min(0) })
  .meta({ id: "Health" });

export const AuditEntry = z
  .object({
    seq: z.number().int(),
    type: z.string(),
    actor: z.string(),
    payload: z.record(z.string(), z.json()),
    hash: z.string(),
    ts: z.string().meta({ description: "ISO 8601, exactly as it was hashed." }),
    keyId: z.string().meta({ description: "Extension: which audit key sealed the entry." }),
    payloadText: z.string().meta({ description: "Extension: the exact text that was hashed." }),
  })
  .meta({ id: "AuditEntry" });

export const AuditFilter = z.object({
  limit: PageLimit.default(50),
  cursor: PageCursor.optional(),
  type: text(64).optional().meta({ description: "Extension: only entries of this type." }),
  actor: text(300).optional().meta({ description: "Extension: only entries of this actor." }),
  after: z.coerce
    .number()
    .int()
    .min(0)
    .optional()
    .meta({ description: "Extension: only entries after this seq, oldest first." }),
});

export const AuditPage = z
  .object({ entries: z.array(AuditEntry), cursor: z.string().nullable() })
  .meta({ id: "AuditPage" });

const ChainProblemFound = z
  .object({
    kind: z.enum(CHAIN_PROBLEMS),
    seq: z.number().int().meta({ description: "The first entry that it concerns." }),
    text: z.string().meta({ examples: ["the log was set back: it ends at entry 21, and had reached 26"] }),
  })
  .meta({ id: "ChainProblem", description: "Why the log does not hold." });
const Anchor = z
  .object({ seq: z.number().int(), hash: z.string(), ts: z.string().meta({ description: "The entry's own." }) })
  .meta({ id: "Anchor", description: "An entry that the log is known to have held." });
export const AuditStatus = z
  .object({
    verified: z.boolean(),
    head: z.string(),
    count: z.number().int().min(0),
    problem: ChainProblemFound.nullable(),
    anchor: Anchor.nullable().meta({ description: "The newest one known to this server." }),
  })
  .meta({ id: "AuditStatus" });

export const Reconciliation = z
  .object({ ok: z.boolean(), discrepancy: Usd, checkedAt: Timestamp })
  .meta({ id: "Reconciliation" });

const sums = {
  discrepancy: z.number().meta({ description: "In the unit of the check." }),
  stated: z.number().meta({ description: "What the rows under test say." }),
  expected: z.number().meta({ description: "What they should." }),
};
const held = z
  .string()
  .nullable()
  .optional()
  .meta({
    description: "Of what is no amount: what the table holds, in words; null for no row.",
    examples: ["admin key ops of 2027-01-31T18:00:00.000Z"],
  });
const said = z.string().nullable().optional().meta({ description: "What the audit log says of it; null for nothing." });
export const LedgerCheck = z
  .object({
    name: z.string().meta({ examples: ["escrow"] }),
    unit: z.enum(["usd", "count"]).meta({ description: "What the numbers are: US dollars, or a number of rows." }),
    ok: z.boolean(),
    ...sums,
    rows: z.number().int().min(0).meta({ description: "How many rows disagree." }),
    places: z.array(z.object({ place: z.string(), ...sums, held, said })).meta({ description: "The first of them." }),
  })
  .meta({ id: "LedgerCheck" });

export const Received = z.object({ received: z.literal(true) }).meta({ id: "Received" });

/** A KYC result. `status` other than `passed` and `failed` is kept on record and changes nothing. */
export const KycEvent = z
  .object({
    tenantId: z.string(),
    userId: UserId,
    status: text(64),
    provider: line(64),
    verifiedAt: Timestamp,
    jurisdiction: CountryCode.optional(),
  })
  .meta({
    id: "KycEvent",
    examples: [{ userId: "usr_1", status: "passed", provider: "idv", verifiedAt: "2026-01-31T18:00:00.000Z" }],
  });

/** A payment event. Only `deposit.completed` moves money; the fields it needs are checked when it does. */
export const PaymentEvent = z
  .object({ tenantId: z.string(), event: text(64) })
  .loose()
  .meta({
    id: "PaymentEvent",
    examples: [{ event: "deposit.completed", userId: "usr_1", amountUsd: 250, txRef: "tx_0001" }],
  });

/** A Stripe event. Only `type` and `data.object` are read, and those fields are checked by what the type needs. */
export const StripeEvent = z
  .object({
    tenantId: z.string(),
    id: text(255),
    type: text(255),
    data: z.object({ object: z.looseObject({}) }).loose(),
  })
  .loose()
  .meta({ id: "StripeEvent" });

/** Deposits are 0.01 to 1e9 dollars (decision 25). */
export const Deposit = z.object({
  userId: UserId,
  amountUsd: UsdAmount.refine(
    (micro) => micro >= 10_000n && micro <= 1_000_000_000_000_000n,
    "must be 0.01 to 1000000000",
  ),
  txRef: text(255),
});

export const recordOperations = {
  getHealth: operation({
    method: "GET",
    path: "/health",
    auth: "none",
    summary: "Liveness of the service and its database.",
    input: NoInput,
    output: Health,
  }),
  listAudit: operation({
    method: "GET",
    path: "/v1/audit",
    auth: "admin",
    scope: "read",
    summary: "The audit log, newest first.",
    input: AuditFilter,
    output: AuditPage,
  }),
  getAuditStatus: operation({
    method: "GET",
    path: "/v1/audit/status",
    auth: "admin",
    scope: "read",
    summary: "Verify the audit chain.",
    input: NoInput,
    output: AuditStatus,
  }),
  reconcile: operation({
    method: "POST",
    path: "/v1/reconcile",
    auth: "admin",
    scope: "read",
    summary: "Check the whole ledger.",
    input: NoInput,
    output: Reconciliation,
    writes: true,
  }),
  explainLedger: operation({
    method: "GET",
    path: "/v1/reconcile/checks",
    auth: "admin",
    scope: "read",
    summary: "Every check of the ledger with both of its sums, and the first places that disagree.",
    input: NoInput,
    output: z.array(LedgerCheck),
    extension: true,
  }),
  receiveKyc: operation({
    method: "POST",
    path: "/kyc/inbound/:tenantId",
    auth: "signature",
    summary: "An identity-verification result.",
    input: KycEvent,
    output: Received,
  }),
  receivePayment: operation({
    method: "POST",
    path: "/payments/inbound/:tenantId",
    auth: "signature",
    summary: "A payment confirmation.",
    input: PaymentEvent,
    output: Received,
  }),
  receiveStripe: operation({
    method: "POST",
    path: "/payments/stripe/:tenantId",
    auth: "signature",
    summary: "A Stripe event: payments, refunds and disputes.",
    input: StripeEvent,
    output: Received,
  }),
};
