import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { postWebhook } from "../support/operator.ts";
import { userToken } from "../support/user-token.ts";

const TRADERS = 16;
const CAPITAL_USD = 9000;
const PACE_MS = 20;

/** What the clients of a tenant have seen. */
export interface Load {
  /** Ids of acknowledged trades, one for each order. */
  acknowledged: Map<string, string>;
  /** Answers other than 200 and 429, and what was not answered, by status. */
  failed: Map<string, number>;
  /** The longest time between two acknowledged trades of any clients. */
  longestGapMs(): number;
  stop(): Promise<void>;
}

export interface LoadOptions {
  /** Of those with money, which ones trade; all unless given. */
  traders?: readonly number[];
  /** Whether orders carry an `Idempotency-Key`; one without is sent once, whatever becomes of it. */
  keyed?: boolean;
  /** Between two requests of a client. */
  paceMs?: number;
}

/** A user's order. */
export interface Order {
  /** The user's, of `userToken`. */
  token: string;
  body: { marketId: string; selection: { side: "yes" | "no" }; amount: number };
  /** The `Idempotency-Key`; none unless given. */
  key?: string | undefined;
}

/** Deposits for so many traders. */
export async function fund(url: string, secrets: Record<string, string>, traders = TRADERS): Promise<void> {
  for (let index = 0; index < traders; index++) {
    const event = { event: "deposit.completed", userId: `usr_${index}`, amountUsd: CAPITAL_USD, txRef: randomUUID() };
    const answer = await postWebhook(url, "/payments/inbound/acme", secrets.ACME_WEBHOOK_SECRET ?? "", event);
    if (answer.status !== 200) throw new Error(`The deposit was answered with ${answer.status}`);
  }
}

/** Sends an order once: the trade's id, or else the status and the error code, or that nothing answered. */
export async function sendOrder(
  url: string,
  secrets: Record<string, string>,
  { token, body, key }: Order,
): Promise<{ tradeId: string } | { refused: string }> {
  const answer = await fetch(`${url}/v1/trade`, {
    method: "POST",
    headers: {
      "x-api-key": secrets.ACME_PUBLIC_KEY ?? "",
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      ...(key === undefined ? {} : { "idempotency-key": key }),
    },
    body: JSON.stringify(body),
  }).catch(() => undefined);
  if (answer?.status === 200) return (await answer.json()) as { tradeId: string };
  return { refused: answer ? `${answer.status} ${answer.headers.get("error-code")}` : "no answer" };
}

/** Starts clients that trade at whichever server `pick` names, and repeat with its key what was not acknowledged. */
export function startLoad(
  pick: () => string,
  secrets: Record<string, string>,
  marketIds: readonly string[],
  { traders = Array.from({ length: TRADERS }, (_, index) => index), keyed = true, paceMs = PACE_MS }: LoadOptions = {},
): Load {
  const acknowledged = new Map<string, string>();
  const failed = new Map<string, number>();
  const stopping = new AbortController();
  let [last, longest] = [performance.now(), 0];

  async function attempt(order: Order): Promise<string | undefined> {
    const answer = await sendOrder(pick(), secrets, order);
    if ("tradeId" in answer) return answer.tradeId;
    const { refused } = answer;
    if (!refused.startsWith("429")) failed.set(refused, (failed.get(refused) ?? 0) + 1);
    return undefined;
  }

  const clients = traders.map(async (index) => {
    const token = await userToken(`usr_${index}`, secrets);
    for (let turn = 0; !stopping.signal.aborted; turn++) {
      const key = randomUUID();
      const side = (turn + index) % 3 === 0 ? "no" : "yes";
      const marketId = marketIds[turn % marketIds.length] ?? "";
      const order: Order = {
        token,
        body: { marketId, selection: { side }, amount: 0.5 },
        key: keyed ? key : undefined,
      };
      // Also after the end: what was sent may be in, and its key says so.
      for (let tries = 0; tries < (keyed ? 1000 : 1) && !acknowledged.has(key); tries++) {
        const id = await attempt(order);
        if (id !== undefined) {
          acknowledged.set(key, id);
          longest = Math.max(longest, performance.now() - last);
          last = performance.now();
        }
        await delay(paceMs);
      }
    }
  });
  return {
    acknowledged,
    failed,
    longestGapMs: () => Math.round(longest),
    stop: async () => {
      stopping.abort();
      await Promise.all(clients);
    },
  };
}
