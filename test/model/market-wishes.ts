import type { Labels } from "./labels.ts";
import { COUNTRIES, type Random, USERS } from "./random.ts";
import type { TenantPlan, TradeTerms, Wish } from "./steps.ts";

/** What traders and operators want of markets. */
export class MarketWishes {
  readonly #random: Random;
  readonly #labels: Labels;
  readonly #tenant: TenantPlan;

  constructor(random: Random, labels: Labels, tenant: TenantPlan) {
    this.#random = random;
    this.#labels = labels;
    this.#tenant = tenant;
  }

  trade(): Wish {
    const random = this.#random;
    const user = this.#random.pick(USERS);
    const selling = random.chance(0.25);
    const terms: TradeTerms = { side: random.pick(["yes", "no"]) };
    if (selling) terms.shares = random.pick(["all", "half", "micro", "more", random.dollars(0.000001, 100)] as const);
    else terms.amount = this.#amount();
    if (selling ? random.chance(0.1) : random.chance(0.05))
      terms[selling ? "minAvgPrice" : "maxAvgPrice"] = random.integer(1, 99) / 100;
    if (random.chance(0.03)) terms[selling ? "minProceeds" : "minShares"] = random.dollars(0.01, 100);
    if (!selling && random.chance(0.1))
      terms.hedgeRef = {
        symbol: random.pick(["btcusd", "XAU"]),
        direction: random.pick(["long", "short"]),
        notional: random.integer(1, 10_000_000),
        externalRef: "pos-7",
      };
    const claimed = random.chance(0.4) ? { claimed: random.pick(COUNTRIES) } : {};
    return {
      do: random.pick(["placeTrade", "placeTrade", "placeOrder"]),
      user,
      ...claimed,
      market: this.#labels.known("m"),
      terms,
    };
  }

  #amount(): number {
    const random = this.#random;
    const kind = random.weighted({ usual: 60, tiny: 12, small: 12, large: 10, huge: 3, limit: 3, bad: 3 });
    if (kind === "tiny") return random.pick([0.000001, 0.000002, 0.000003, 0.00001]);
    if (kind === "small") return random.dollars(0.0001, 1);
    if (kind === "large") return random.dollars(500, 1_000_000);
    if (kind === "huge") return random.pick([2 ** 33, 2 ** 33 - 0.000001, 1e9]);
    if (kind === "limit") return random.pick([500, 5000, 500.000001, 2500]);
    if (kind === "bad") return random.pick([0, -1, 0.0000001, 2 ** 33 + 1, 1e308]);
    return random.dollars(1, 400);
  }

  market(): Wish {
    const random = this.#random;
    const p0 = random.pick([
      0.5,
      0.5,
      0.001,
      0.999,
      0.99,
      0.01,
      random.integer(1000, 999_000) / 1e6,
      random.next() * 0.998 + 0.001,
    ]);
    const body: Record<string, unknown> & { closeIn?: number } = {
      question: `Question ${this.#labels.count("m") + 1}`,
      category: random.pick(["sports", "weather", "crypto"]),
      kind: random.pick(["cpmm", "lmsr"]),
      p0,
      resolutionRef: random.pick(["the press", "the press", "pm:btc > 100000"]),
      closeAt: `2096-01-0${random.integer(1, 9)}T00:00:00Z`,
    };
    if (random.chance(0.1)) Object.assign(body, { closeIn: random.integer(800, 2000), closeAt: undefined });
    if (random.chance(0.3))
      body.liquidityUsd = random.pick([0.000001, 0.0001, 1, 10, 333.333333, 10_000, this.#tenant.capitalUsd]);
    if (random.chance(0.1)) body.meta = { description: "a long story", nested: { list: [1, null, "x"] } };
    if (random.chance(0.12))
      Object.assign(
        body,
        random.pick([
          { p0: 0 },
          { p0: 1 },
          { p0: 0.0009 },
          { kind: "amm" },
          { category: "a b" },
          { question: "" },
          { closeAt: "2096-01-01" },
          { closeAt: "2001-01-01T00:00:00Z" },
          { liquidityUsd: -1 },
        ]),
      );
    return { do: "createMarket", as: this.#labels.next("m"), body };
  }

  halt = (): Wish => ({
    do: this.#random.pick(["suspendMarket", "resumeMarket", "resumeMarket"]),
    market: this.#labels.known("m"),
  });

  clarify = (): Wish => ({
    do: "clarifyMarket",
    text: this.#random.pick([
      "Drizzle counts.",
      "Hagel\nzählt nicht. <b>&amp;",
      "x".repeat(1000),
      "x".repeat(1001),
      " ",
    ]),
    market: this.#labels.known("m"),
  });

  settle(): Wish {
    const random = this.#random;
    const market = this.#labels.known("m");
    const expected = random.chance(0.1) ? { expectPayouts: random.integer(0, 2) } : {};
    if (random.chance(0.3)) return { do: "voidMarket", market, ...this.#grounds(), ...expected };
    return { do: "settleMarket", market, outcome: this.#outcome(), ...expected };
  }

  correct = (): Wish => ({
    do: "correctMarket",
    market: this.#labels.known("m"),
    outcome: this.#outcome(),
    ...this.#grounds(),
  });

  #outcome = () =>
    this.#random.pick([
      ...(["yes", "no", "yes", "no", "yes", "no", "void"] as const),
      ...[0.4, 0.000001, 0.999999, 1, 0.1234567].map((yes) => ({ yes })),
      { yes: this.#random.integer(1, 999_999) / 1e6 },
    ]);

  /** The reason, and what the treasury may add. */
  #grounds() {
    const most = this.#random.pick([undefined, undefined, 0, 0.5, 1_000_000, 1_000_000]);
    const reason = this.#random.chance(0.95) ? { reason: "The match was called off" } : {};
    return { ...reason, ...(most === undefined ? {} : { maxTreasuryUsd: most }) };
  }
}
