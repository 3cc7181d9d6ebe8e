import { z } from "zod";
import { operationsUnder } from "../operation.ts";
import { line, Timestamp, text, UsdAmount, UserId } from "../scalars.ts";
import { PlaceCode } from "./policy.ts";

export const Received = z.object({ received: z.literal(true) }).meta({ id: "Received" });

/** A KYC result. A `status` that is neither passed nor a word of refusal is on record and stops trading, unless the policy says otherwise. */
export const KycEvent = z
  .object({
    tenantId: z.string(),
    userId: UserId,
    status: text(64),
    provider: line(64),
    verifiedAt: Timestamp,
    jurisdiction: PlaceCode.optional(),
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

/** A Stripe event. Only `type` and `data.object` are read; each type has its own checks of `data.object`. */
export const StripeEvent = z
  .object({
    tenantId: z.string(),
    id: text(255),
    type: text(255),
    data: z.object({ object: z.looseObject({}) }).loose(),
  })
  .loose()
  .meta({ id: "StripeEvent" });

/** Deposits are 0.01 to 1e9 dollars. */
export const Deposit = z.object({
  userId: UserId,
  amountUsd: UsdAmount.refine(
    (micro) => micro >= 10_000n && micro <= 1_000_000_000_000_000n,
    "must be 0.01 to 1000000000",
  ),
  txRef: text(255),
});

const identity = operationsUnder("identity");
const money = operationsUnder("money");

/** Providers' webhooks. */
export const inboundOperations = {
  receiveKyc: identity.signed({
    path: "/kyc/inbound/:tenantId",
    summary: "Receive the result of an identity verification.",
    input: KycEvent,
    output: Received,
    refusals: [],
  }),
  receivePayment: money.signed({
    path: "/payments/inbound/:tenantId",
    summary: "Receive a payment confirmation.",
    input: PaymentEvent,
    output: Received,
    refusals: [],
  }),
  receiveStripe: money.signed({
    path: "/payments/stripe/:tenantId",
    summary: "Receive a Stripe event about payments, refunds and disputes.",
    input: StripeEvent,
    output: Received,
    refusals: [],
    provider: "stripe",
  }),
};
