import type { Input, Result } from "../../contract/operations.ts";
import { Fault } from "../../domain/fault.ts";
import { referenceKey } from "../../engine/rows.ts";
import { loadByKey } from "../../ledger/load.ts";
import { TABLES } from "../../ledger/tables.ts";
import type { Reader } from "../../postgres/pool.ts";
import type { ServiceContext } from "../../services/context.ts";
import type { Caller, ProviderHandlers } from "../../services/invoke.ts";
import { senderOnRecord } from "../../services/webhooks/inbound.ts";
import { readStripeEvent } from "./read.ts";

const PROVIDER = "stripe";
/** An owner never changes once set, so the second attempt usually has the right one. */
const MAX_LOOKS = 3;

type Context = Pick<ServiceContext, "sequencer" | "pool">;

/** The handler of Stripe's webhook. The server adds it to the services' handlers, which know no provider. */
export function stripeHandlers(context: Context): ProviderHandlers {
  return { receiveStripe: (event, caller) => receiveStripe(context, event, caller) };
}

/**
 * Applies a Stripe event whose signature the server has verified. The answer follows the commit, and is 200 even if no
 * money moves: Stripe would only repeat an unusable event.
 */
async function receiveStripe(
  { sequencer, pool }: Context,
  { id, type, data }: Input<"receiveStripe">,
  caller: Caller,
): Promise<Result<"receiveStripe">> {
  const arrived = caller.webhook;
  const sender = senderOnRecord(caller, PROVIDER);
  const said = readStripeEvent(type, data.object);
  const webhook = arrived && {
    provider: PROVIDER,
    sha256: arrived.sha256,
    event: type,
    reference: id,
    userId: said && "traderId" in said.fact ? (said.fact.traderId ?? null) : null,
    body: null,
  };
  if (!said) {
    const command = webhook && ({ type: "keepWebhook", webhook, outcome: "no effect" } as const);
    if (command) await sequencer.submit({ command, ...sender });
    return { received: true };
  }
  const { reference, fact } = said;
  let ownerId = await readOwner(pool, reference);
  for (let look = 0; look < MAX_LOOKS; look++) {
    const { result } = await sequencer.submit({
      command: { type: "recordPayment", provider: PROVIDER, reference, ownerId, fact, webhook },
      ...sender,
    });
    if (!result || result.ownerId === ownerId) return { received: true };
    ownerId = result.ownerId;
  }
  throw new Fault("OVERLOADED", "Too many events about one payment at once: try again", { retryAfterSec: 1 });
}

/** The user of a payment, whose rows the command must name. */
async function readOwner(reader: Reader, reference: string): Promise<string | undefined> {
  const key = referenceKey(PROVIDER, reference);
  return (await reader.read((sql) => loadByKey(sql, TABLES.payment, [key]))).get(key)?.userId || undefined;
}
