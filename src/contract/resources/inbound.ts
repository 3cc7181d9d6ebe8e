import { z } from "zod";
import { operationsUnder } from "../operation.ts";
import { line, Timestamp, text, UsdAmount, UserId } from "../scalars.ts";
import { PlaceCode } from "./policy.ts";

export const Received = z.object({ received: z.literal(true) }).meta({ id: "Received" });

const tenantId = z.string().describe("The tenant's id, which is its folder's name.");

/** A field of `deposit.completed`, as the description says it; other events may hold anything there. */
const ofDeposit = (type: "string" | "number", description: string) =>
  z
    .unknown()
    .optional()
    .meta({ type, description: `${description} Required of \`deposit.completed\`.` });

/** A KYC result. A `status` that is neither passed nor a word of refusal is on record and stops trading, unless the policy says otherwise. */
export const KycEvent = z
  .object({
    tenantId,
    userId: UserId,
    status: text(64).describe("`passed`, or a word of refusal such as `failed`; any other word asks for a review."),
    provider: line(64).describe("The name of the identity provider."),
    verifiedAt: Timestamp.describe(
      "When the provider decided; an older result than the one on record changes nothing.",
    ),
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
    amountUsd: ofDeposit("number", "US dollars, at most six decimals, 0.01 to 1e9."),
    txRef: ofDeposit("string", "Your reference of the payment, 1 to 255 characters: it is credited once."),
  })
  .loose()
  .meta({
    id: "PaymentEvent",
    examples: [{ event: "deposit.completed", userId: "usr_1", amountUsd: 250, txRef: "tx_0001" }],
  });

/** A Stripe event. Only `type` and `data.object` are read; each type has its own checks of `data.object`. */
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
