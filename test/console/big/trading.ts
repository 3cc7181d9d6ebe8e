import { setTimeout as delay } from "node:timers/promises";
import { SignJWT } from "jose";
import type { Secrets } from "./big-tenant.ts";

/** Trades over the API, so many a second, until it is stopped. */
export async function keepTrading(
  url: string,
  { PUBLIC_KEY, JWT_SECRET }: Secrets,
  of: { users: readonly string[]; markets: readonly string[]; perSecond: number },
): Promise<{ stop(): Promise<{ traded: number; refused: number }> }> {
  const tokens = await Promise.all(
    of.users.map((user) =>
      new SignJWT()
        .setProtectedHeader({ alg: "HS256" })
        .setSubject(user)
        .setIssuedAt()
        .setExpirationTime("6h")
        .sign(new TextEncoder().encode(JWT_SECRET)),
    ),
  );
  let [isOver, traded, refused, asked] = [false, 0, 0, 0];
  const trade = async (): Promise<void> => {
    const number = asked++;
    const answer = await fetch(`${url}/v1/trade`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "x-api-key": PUBLIC_KEY,
        authorization: `Bearer ${tokens[number % tokens.length]}`,
      },
      body: JSON.stringify({
        marketId: of.markets[number % of.markets.length],
        selection: { side: (number >> 3) % 2 === 0 ? "yes" : "no" },
        amount: 1,
      }),
    });
    await answer.arrayBuffer();
    if (answer.ok) traded += 1;
    else refused += 1;
  };
  const under = new Set<Promise<void>>();
  const loop = async (): Promise<void> => {
    const startedAt = performance.now();
    while (!isOver) {
      const due = ((performance.now() - startedAt) / 1000) * of.perSecond;
      while (asked < due) {
        const one = trade().finally(() => under.delete(one));
        one.catch(() => {});
        under.add(one);
      }
      await delay(20);
    }
    await Promise.allSettled(under);
  };
  const running = loop();
  running.catch(() => {});
  return {
    stop: async () => {
      isOver = true;
      await running;
      return { traded, refused };
    },
  };
}
