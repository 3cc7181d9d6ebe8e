import { mistakeIn } from "../../contract/decode.ts";
import { jsonSentence } from "../../contract/issue-sentence.ts";
import type { Input, Result } from "../../contract/operations.ts";
import { Deposit } from "../../contract/resources/inbound.ts";
import { text, UserId } from "../../contract/scalars.ts";
import { NO_ORIGIN } from "../../domain/access/security.ts";
import { Fault } from "../../domain/fault.ts";
import { kycVerdict } from "../../domain/policy/kyc-verdict.ts";
import type { ServiceContext } from "../context.ts";
import type { Caller, Handlers } from "../invoke.ts";

/** Webhooks in pmctl's own format. The server has verified the signature over the raw bytes. */
export function inboundHandlers(context: ServiceContext) {
  return {
    receiveKyc: (event, caller) => receiveKyc(context, event, caller),
    receivePayment: (event, caller) => receivePayment(context, event, caller),
  } satisfies Handlers;
}

const PROVIDER = "payments";
/** The largest stored body of an event without effect; larger events are recorded without their body. */
const MAX_KEPT_BYTES = 64 * 1024;
const RECEIVED = { received: true } as const;

/** The recorded actor of a provider's webhook: the operator who acted for the provider, or else the provider. */
export function senderOnRecord({ actor, reason }: Caller, provider: string): Pick<Caller, "actor" | "reason"> {
  return actor.startsWith("admin:") ? { actor, reason } : { actor: `provider:${provider}` };
}

async function receiveKyc(
  { sequencer, security }: ServiceContext,
  event: Input<"receiveKyc">,
  caller: Caller,
): Promise<Result<"receiveKyc">> {
  const arrived = caller.webhook;
  const { userId, status, provider, verifiedAt, jurisdiction } = event;
  const webhook = arrived && {
    provider: `kyc:${provider}`,
    sha256: arrived.sha256,
    event: status,
    reference: null,
    userId,
    body: null,
  };
  await sequencer.submit({
    command: { type: "recordKyc", traderId: userId, status, provider, verifiedAt, jurisdiction, webhook },
    ...senderOnRecord(caller, provider),
  });
  if (kycVerdict(status) === undefined) security.note("kyc.unrecognised", "status", NO_ORIGIN);
  return RECEIVED;
}

/** A provider's event that is not the result of a known user's check: it is recorded without effect. */
export interface KycNews {
  /** The provider's name for the event. */
  news: string;
  provider: string;
  userId?: string | undefined;
}

/** Records such an event as a webhook without effect, once for the same bytes. */
export async function keepNews(
  { sequencer }: Pick<ServiceContext, "sequencer">,
  { news, provider, userId }: KycNews,
  { sha256 }: NonNullable<Caller["webhook"]>,
): Promise<Result<"receiveKyc">> {
  const webhook = {
    provider: `kyc:${provider}`,
    sha256,
    event: text(64).safeParse(news).data ?? "unknown",
    reference: null,
    userId: UserId.safeParse(userId).data ?? null,
    body: null,
  };
  await sequencer.submit({
    command: { type: "keepWebhook", webhook, outcome: "no effect" },
    actor: `provider:${provider}`,
  });
  return RECEIVED;
}

/** The answer follows the commit, because a provider does not send an event again after a 200. */
async function receivePayment(
  { sequencer }: ServiceContext,
  event: Input<"receivePayment">,
  caller: Caller,
): Promise<Result<"receivePayment">> {
  const arrived = caller.webhook;
  const sender = senderOnRecord(caller, PROVIDER);
  const webhook = arrived && {
    provider: PROVIDER,
    sha256: arrived.sha256,
    event: event.event,
    reference: text(255).safeParse(event.txRef).data ?? null,
    userId: UserId.safeParse(event.userId).data ?? null,
    body: null,
  };
  if (event.event !== "deposit.completed") {
    if (!webhook) return RECEIVED;
    const body = Buffer.byteLength(arrived.body) <= MAX_KEPT_BYTES ? arrived.body : null;
    const command = { type: "keepWebhook", webhook: { ...webhook, body }, outcome: "kept" } as const;
    await sequencer.submit({ command, ...sender });
    return RECEIVED;
  }
  const parsed = Deposit.safeParse(event, { error: jsonSentence });
  if (!parsed.success) throw new Fault("BAD_REQUEST", mistakeIn(Deposit, event, parsed.error));
  const { userId, amountUsd, txRef } = parsed.data;
  await sequencer.submit({
    command: {
      type: "recordDeposit",
      provider: PROVIDER,
      traderId: userId,
      amountMicro: amountUsd,
      reference: txRef,
      webhook,
    },
    ...sender,
  });
  return RECEIVED;
}
