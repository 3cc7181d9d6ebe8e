import type { Input, Result } from "../contract/operations.ts";
import { Deposit } from "../contract/record.ts";
import { Fault } from "../domain/fault.ts";
import type { ServiceContext } from "./context.ts";
import { describeIssue, type Handlers } from "./invoke.ts";
import { receiveStripe } from "./stripe.ts";

/** Providers' webhooks. The door has verified the signature over the raw bytes. */
export function inboundHandlers(context: ServiceContext) {
  return {
    receiveKyc: (event) => receiveKyc(context, event),
    receivePayment: (event) => receivePayment(context, event),
    receiveStripe: (event) => receiveStripe(context, event),
  } satisfies Handlers;
}

const RECEIVED = { received: true } as const;

async function receiveKyc({ sequencer }: ServiceContext, event: Input<"receiveKyc">): Promise<Result<"receiveKyc">> {
  const { userId, status, provider, verifiedAt, jurisdiction } = event;
  await sequencer.submit({
    command: { type: "recordKyc", traderId: userId, status, provider, verifiedAt, jurisdiction },
    actor: `provider:${provider}`,
  });
  return RECEIVED;
}

/** The answer follows the commit: a provider that hears 200 never asks again. */
async function receivePayment(
  { sequencer }: ServiceContext,
  event: Input<"receivePayment">,
): Promise<Result<"receivePayment">> {
  if (event.event !== "deposit.completed") return RECEIVED;
  const parsed = Deposit.safeParse(event);
  if (!parsed.success) throw new Fault("BAD_REQUEST", describeIssue(parsed.error.issues[0]));
  const { userId, amountUsd, txRef } = parsed.data;
  await sequencer.submit({
    command: {
      type: "recordDeposit",
      provider: "payments",
      traderId: userId,
      amountMicro: amountUsd,
      reference: txRef,
    },
    actor: "provider:payments",
  });
  return RECEIVED;
}
