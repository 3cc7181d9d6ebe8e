import { z } from "zod";
import { operationsUnder } from "../operation.ts";
import { line, Timestamp, text, UsdAmount, UserId } from "../scalars.ts";
import { PlaceCode } from "./policy.ts";

export const Received = z.object({ received: z.literal(true) }).meta({ id: "Received" });

const tenantId = z.string().describe("The tenant's id, which is its folder's name.");

/** A field that `deposit.completed` requires; in other events it may hold anything. */
const ofDeposit = (type: "string" | "number", description: string) =>
  z
    .unknown()
    .optional()
    .meta({ type, description: `${description} Required for \`deposit.completed\`.` });

/** A KYC result. A `status` other than passed or failed is recorded and blocks trading, unless the policy allows it. */
export const KycEvent = z
  .object({
    tenantId,
    userId: UserId,
    status: text(64).describe("`passed`, or a failure such as `failed`; any other status requires a review."),
    provider: line(64).describe("The name of the identity provider."),
    verifiedAt: Timestamp.describe("When the provider decided. A result older than the recorded one changes nothing."),
    jurisdiction: PlaceCode.optional(),
  })
  .meta({
    id: "KycEvent",
    examples: [{ userId: "usr_1", status: "passed", provider: "idv", verifiedAt: "2026-01-31T18:00:00.000Z" }],
  });

/** A payment event. Only `deposit.completed` moves money; the fields it needs are checked when it does. */
export const PaymentEvent = z
  .object({
    tenantId,
    event: text(64).describe("Only `deposit.completed` moves money; other events are stored."),
    userId: ofDeposit("string", "The user whose wallet is credited."),
    amountUsd: ofDeposit("number", "US dollars from 0.01 to 1e9, at most six decimals."),
    txRef: ofDeposit("string", "Your reference for the payment, 1 to 255 characters. Each reference is credited once."),
  })
  .loose()
  .meta({
    id: "PaymentEvent",
    examples: [{ event: "deposit.completed", userId: "usr_1", amountUsd: 250, txRef: "tx_0001" }],
  });

/** A Stripe event. The server reads only `type` and `data.object`, and checks `data.object` by type. */
export const StripeEvent = z
  .object({
    tenantId,
    id: text(255).describe("The event's id at Stripe."),
    type: text(255).describe("What happened at Stripe."),
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
