import { randomUUID } from "node:crypto";
import { localApi } from "../../client/local-api.ts";
import type { Api } from "../../contract/operations.ts";
import { Fault } from "../../domain/fault.ts";
import type { Side } from "../../domain/market/market.ts";
import { wallClockMs } from "../../domain/time/clock.ts";
import { type Repeated, repeat } from "../../services/background/repeat.ts";
import type { TenantServices } from "../../services/tenant/tenant.ts";

/** Programs that trade invented money. The demo says so wherever it names them. */
export const CROWD = ["carol", "dave", "erin"] as const;

const FUNDS_USD = 1000;
/** A trader who still has this much from an earlier demo gets no new deposit. */
const ENOUGH_USD = 200;
const [LEAST_USD, MOST_USD] = [5, 40] as const;
const MOST_SHARES = 60;
const STEP_MS = 1000;
/** One trade every two seconds on average, at uneven intervals. */
const CHANCE_PER_STEP = 0.5;
/** Before a trade an opinion moves by up to half of WANDER in log-odds, and by this share back to its start. */
const WANDER = 0.5;
const RETURN = 0.06;

export type Random = () => number;

/** A trader's opinion of a market, as log-odds of YES. */
export interface Opinion {
  began: number;
  now: number;
}

interface Seen {
  yesPrice: number;
  /** The trader's own shares of each side. */
  held: Partial<Record<Side, number>>;
}

type Order = { selection: { side: Side } } & ({ amount: number } | { selection: { action: "sell" }; shares: number });

export const opinionAt = (yesPrice: number): Opinion => {
  const logOdds = Math.log(yesPrice / (1 - yesPrice));
  return { began: logOdds, now: logOdds };
};

/** A random walk that tends back to its start, so that prices move and stay plausible. */
export function wander({ began, now }: Opinion, random: Random): Opinion {
  return { began, now: now + (random() - 0.5) * WANDER + (began - now) * RETURN };
}

/**
 * An order that moves the price towards the opinion: it first sells shares of the other side, so that the trader does
 * not run out of money, else it buys for a few whole dollars.
 */
export function orderTowards(opinion: Opinion, { yesPrice, held }: Seen, random: Random): Order {
  const side: Side = 1 / (1 + Math.exp(-opinion.now)) > yesPrice ? "yes" : "no";
  const other: Side = side === "yes" ? "no" : "yes";
  const shares = Math.floor(Math.min(held[other] ?? 0, MOST_SHARES * (0.3 + 0.7 * random())));
  if (shares >= 1) return { selection: { side: other, action: "sell" }, shares };
  return { selection: { side }, amount: LEAST_USD + Math.floor(random() * (MOST_USD - LEAST_USD + 1)) };
}

/** The demo's own traders. They act within this process, so that they use none of a visitor's rate limit. */
export class Crowd {
  readonly #services: TenantServices;
  readonly #random: Random;
  readonly #opinions = new Map<string, Opinion>();

  constructor(services: TenantServices, random: Random = Math.random) {
    this.#services = services;
    this.#random = random;
  }

  /** Verifies the traders, and funds those with too little money. */
  async join(tenantId: string): Promise<void> {
    const provider = localApi(this.#services.handlers, { actor: "provider:demo" });
    for (const userId of CROWD) {
      const verifiedAt = new Date(wallClockMs()).toISOString();
      await provider.receiveKyc({
        tenantId,
        userId,
        status: "passed",
        provider: "demo",
        verifiedAt,
        jurisdiction: "CH",
      });
      if ((await this.#as(userId).getWallet({})).balanceUsd >= ENOUGH_USD) continue;
      const deposit = { event: "deposit.completed", userId, amountUsd: FUNDS_USD, txRef: `demo-${randomUUID()}` };
      await provider.receivePayment({ tenantId, ...deposit });
    }
  }

  /** A random trader trades on a random market. Returns false when no trade was executed. */
  async trade(marketIds: readonly string[]): Promise<boolean> {
    const marketId = this.#pick(marketIds);
    const userId = this.#pick(CROWD);
    if (marketId === undefined || userId === undefined) return false;
    const trader = this.#as(userId);
    try {
      const [{ status, yesPrice }, positions] = await Promise.all([
        trader.getMarket({ id: marketId }),
        trader.listPositions({}),
      ]);
      if (status !== "open") return false;
      const opinion = wander(this.#opinions.get(marketId) ?? opinionAt(yesPrice), this.#random);
      this.#opinions.set(marketId, opinion);
      const own = positions.filter((position) => position.marketId === marketId);
      const held = Object.fromEntries(own.map(({ side, shares }) => [side, shares]));
      await trader.placeTrade({ marketId, ...orderTowards(opinion, { yesPrice, held }, this.#random) });
      return true;
    } catch (error) {
      // Out of money, over a limit that a visitor tightened, or settled meanwhile: the next step tries again.
      if (error instanceof Fault && error.code !== "INTERNAL") return false;
      throw error;
    }
  }

  /** Trades on these markets until it is stopped. */
  start(marketIds: readonly string[], onError: (error: unknown) => void): Repeated {
    const step = async () => this.#random() < CHANCE_PER_STEP && (await this.trade(marketIds));
    return repeat(step, { pauseMs: STEP_MS, onError });
  }

  #pick<Item>(items: readonly Item[]): Item | undefined {
    return items[Math.floor(this.#random() * items.length)];
  }

  #as(userId: string): Api {
    return localApi(this.#services.handlers, { actor: `user:${userId}`, user: { id: userId, jurisdiction: "CH" } });
  }
}
