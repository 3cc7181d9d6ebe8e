import { isCommand } from "./command-line.ts";
import type { Policy } from "./model-state.ts";
import { Random } from "./random.ts";
import type { Call, Scenario, Step, TenantPlan, TradeTerms, Wish } from "./steps.ts";

export const USERS = ["ann", "bob", "cem", "dee"] as const;
const COUNTRIES = ["GB", "US", "US-NY", "DE", "FR-IDF", "no"] as const;

/** The scenario of a seed: a tenant and `count` steps, decided by nothing but the seed. */
export function scenarioOf(seed: number, count: number, servers: TenantPlan["servers"] = "within"): Scenario {
  const random = new Random(seed);
  const tenant = tenantOf(random, servers);
  const author = new Author(random, tenant);
  const steps = [...author.opening()];
  while (steps.length < count) steps.push(...author.next());
  return { seed, tenant, steps: steps.slice(0, count) };
}

function tenantOf(random: Random, servers: TenantPlan["servers"]): TenantPlan {
  const tiers = [
    { minScore: 0, capUsd: random.pick([500, 100_000]) },
    { minScore: random.integer(5, 9), capUsd: random.pick([2500, 250_000]) },
    { minScore: 15, capUsd: null },
  ];
  const policy: Policy = {
    feeBps: random.pick([0, 1, 50, 100, 100, 333, random.integer(0, 1000), 1000]),
    maxTradeUsd: random.pick([500, 5000, 1_000_000, 2 ** 33]),
    maxUserExposureUsd: random.pick([10_000, 1_000_000, 2 ** 33]),
    jurisdictions: random.chance(0.3)
      ? { allowed: random.chance(0.5) ? ["GB", "DE", "US"] : [], blocked: ["US-NY"] }
      : { allowed: [], blocked: [] },
    suitabilityRequired: random.chance(0.2),
    suitabilityThresholds: { blockBelow: random.pick([0, 0, 4]), tiers },
    resolution_url: null,
  };
  const liquidityUsd = random.pick([100, 1000, 1000, 25_000]);
  return { kycRequired: random.chance(0.4), capitalUsd: liquidityUsd * 40, liquidityUsd, policy, servers };
}

/** Writes steps one after the other, and remembers the labels that it has given. */
class Author {
  readonly #random: Random;
  readonly #tenant: TenantPlan;
  readonly #labels = { m: 0, w: 0, k: 0, i: 0, tx: 0, pi: 0 };
  readonly #keyed: string[] = [];
  #verified = 0;

  constructor(random: Random, tenant: TenantPlan) {
    this.#random = random;
    this.#tenant = tenant;
  }

  /** Money, users and two markets, so that the first steps find something to work with. */
  *opening(): Generator<Step> {
    for (const user of USERS) yield this.#call(this.#deposit(user, this.#random.dollars(100, 100_000)));
    if (this.#tenant.kycRequired) for (const user of USERS.slice(0, 3)) yield this.#call(this.#kyc(user, "passed"));
    for (let index = 0; index < 3; index++) yield this.#call(this.#market());
  }

  *next(): Generator<Step> {
    const random = this.#random;
    const kind = random.weighted({
      call: 100,
      again: 6,
      race: 5,
      restart: 0.5,
      kill: this.#killing(),
      look: this.#looking(),
    });
    if (kind === "again" && this.#keyed.length > 0)
      yield {
        type: "again",
        idempotencyKey: random.pick(this.#keyed),
        change: random.chance(0.3),
        server: this.#server(),
      };
    else if (kind === "race") yield { type: "race", calls: [this.#plain(0), this.#plain(1)] };
    else if (kind === "restart") yield { type: "restart", server: this.#server() };
    else if (kind === "kill")
      yield { type: "kill", server: this.#server(), call: { ...this.#plain(0), idempotencyKey: this.#label("i") } };
    else if (kind === "look") yield this.#look();
    else yield this.#call(this.#wish());
  }

  #killing = () => (this.#tenant.servers === "processes" ? 1 : 0);
  #looking = () => (this.#tenant.servers === "processes" ? 8 : 0);
  #server = (): 0 | 1 => (this.#random.chance(0.5) ? 0 : 1);
  #label = (kind: "m" | "w" | "k" | "i" | "tx" | "pi"): string => `${kind}${++this.#labels[kind]}`;
  #known = (kind: "m" | "w" | "k" | "tx" | "pi"): string => {
    const given = this.#labels[kind];
    // The newest ones more often, and now and then one that does not exist.
    if (given === 0 || this.#random.chance(0.02)) return `${kind}0`;
    return `${kind}${this.#random.chance(0.6) ? this.#random.integer(Math.max(1, given - 3), given) : this.#random.integer(1, given)}`;
  };
  #user = (): string => this.#random.pick(USERS);

  #call(wish: Wish): Step {
    const random = this.#random;
    const call: Call = { wish, server: this.#server() };
    const isWebhook = wish.do.startsWith("receive");
    const user = "user" in wish && !["creditWallet", "restrictUser", "releaseUser"].includes(wish.do);
    // Through any other key or straight to the database this would end the key that the test itself uses.
    if (wish.do === "revokeKey" && wish.name === "ops") return { type: "call", call };
    if (this.#tenant.servers === "processes" && isCommand(wish) && random.chance(0.15))
      call.door = random.pick(["http", "db"]);
    else if (!isWebhook && random.chance(0.25) && wish.do !== "quoteTrade") {
      call.idempotencyKey = this.#label("i");
      this.#keyed.push(call.idempotencyKey);
      if (random.chance(0.3)) call.lost = true;
    }
    if (!isWebhook && !call.door && random.chance(0.03))
      call.key = user ? this.#known("k") : random.pick(["web", this.#known("k")]);
    return { type: "call", call };
  }

  /** A call for a race or a kill: nothing that the other one's label hangs on. */
  #plain(server: 0 | 1): Call {
    const wish = this.#random.chance(0.7)
      ? this.#trade()
      : this.#random.pick([
          () => this.#halt(),
          () => this.#settle(),
          () => this.#withdraw(),
          () => this.#decide(),
          () => this.#deposit(),
        ])();
    return { wish, server };
  }

  #wish(): Wish {
    const random = this.#random;
    const kind = random.weighted({
      trade: 50,
      quote: 6,
      market: 5,
      halt: 5,
      settle: 2,
      withdraw: 4,
      decide: 4,
      deposit: 6,
      kyc: 4,
      stripe: 6,
      credit: 2,
      suitability: 3,
      restrict: 3,
      policy: 4,
      key: 3,
      reconcile: 1,
    });
    switch (kind) {
      case "trade":
        return this.#trade();
      case "quote":
        return { ...this.#trade(), do: "quoteTrade" } as Wish;
      case "market":
        return this.#market();
      case "halt":
        return this.#halt();
      case "settle":
        return this.#settle();
      case "withdraw":
        return this.#withdraw();
      case "decide":
        return this.#decide();
      case "deposit":
        return this.#deposit();
      case "kyc":
        return this.#kyc(this.#user(), random.pick(["passed", "passed", "failed", "pending"]));
      case "stripe":
        return this.#stripe();
      case "credit":
        return {
          do: "creditWallet",
          user: this.#user(),
          amount: random.dollars(0.000001, 10_000),
          ...(random.chance(0.9) ? { reason: "goodwill" } : {}),
        };
      case "suitability":
        return { do: "submitSuitability", user: this.#user(), answers: this.#answers() };
      case "restrict":
        return {
          do: random.pick(["restrictUser", "releaseUser", "releaseUser"]),
          user: random.pick([...USERS, "eve"]),
        };
      case "policy":
        return { do: "updatePolicy", patch: this.#patch() };
      case "key":
        return this.#key();
      case "reconcile":
        return { do: "reconcile" };
    }
  }

  #trade(): Wish {
    const random = this.#random;
    const user = this.#user();
    const selling = random.chance(0.25);
    const terms: TradeTerms = { side: random.pick(["yes", "no"]) };
    if (selling) terms.shares = random.pick(["all", "half", "micro", "more", random.dollars(0.000001, 100)] as const);
    else terms.amount = this.#amount();
    if (selling ? random.chance(0.1) : random.chance(0.05))
      terms[selling ? "minAvgPrice" : "maxAvgPrice"] = random.integer(1, 99) / 100;
    if (!selling && random.chance(0.03)) terms.minShares = random.dollars(0.01, 100);
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
      market: this.#known("m"),
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

  #market(): Wish {
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
      question: `Question ${this.#labels.m + 1}`,
      category: random.pick(["sports", "weather", "crypto"]),
      kind: random.pick(["cpmm", "lmsr"]),
      p0,
      resolutionRef: random.pick(["the press", "the press", "pm:btc > 100000"]),
      closeAt: `2096-01-0${random.integer(1, 9)}T00:00:00Z`,
    };
    if (random.chance(0.1)) Object.assign(body, { closeIn: random.integer(800, 2000), closeAt: undefined });
    if (random.chance(0.3))
      body.liquidityUsd = random.pick([1, 10, 0.000001, 333.333333, 10_000, this.#tenant.capitalUsd]);
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
    return { do: "createMarket", as: this.#label("m"), body };
  }

  #halt = (): Wish => ({
    do: this.#random.pick(["suspendMarket", "resumeMarket", "resumeMarket"]),
    market: this.#known("m"),
  });

  #settle(): Wish {
    const expected = this.#random.chance(0.1) ? { expectPayouts: this.#random.integer(0, 2) } : {};
    return { do: "settleMarket", market: this.#known("m"), outcome: this.#random.pick(["yes", "no"]), ...expected };
  }

  #withdraw = (): Wish => ({
    do: "requestWithdrawal",
    as: this.#label("w"),
    user: this.#user(),
    amount: this.#random.pick(["all", "half", "micro", "more", this.#random.dollars(0.01, 1000), 0.0000001] as const),
  });

  #decide = (): Wish => ({
    do: this.#random.pick(["approveWithdrawal", "rejectWithdrawal"]),
    withdrawal: this.#known("w"),
  });

  #deposit(user: string = this.#user(), amountUsd = this.#random.dollars(0.01, 50_000)): Wish {
    const random = this.#random;
    const txRef = random.chance(0.2) ? this.#known("tx") : this.#label("tx");
    const change = random.chance(0.05)
      ? random.pick([{ amountUsd: 0.009 }, { amountUsd: -5 }, { event: "deposit.pending" }, { userId: 7 }])
      : {};
    // A reference always names the same amount, unless it conflicts on purpose.
    const fixed = Number(txRef.slice(2)) % 5 === 0 ? { amountUsd: 50, userId: USERS[0] } : {};
    return {
      do: "receivePayment",
      body: { event: "deposit.completed", userId: user, amountUsd, txRef, ...fixed, ...change },
    };
  }

  #kyc(userId: string, status: string): Wish {
    const random = this.#random;
    this.#verified += random.integer(-1, 3);
    const verifiedAt = new Date(Date.UTC(2026, 0, 1) + this.#verified * 60_000).toISOString();
    const jurisdiction = random.chance(0.4) ? { jurisdiction: random.pick(COUNTRIES) } : {};
    return { do: "receiveKyc", body: { userId, status, provider: "idv", verifiedAt, ...jurisdiction } };
  }

  #stripe(): Wish {
    const random = this.#random;
    const intent = random.chance(0.6) ? this.#known("pi") : this.#label("pi");
    const user = USERS[Number(intent.slice(2)) % USERS.length] as string;
    const cents = 5000 + Number(intent.slice(2));
    const refund = `re_${intent}_${random.integer(1, 2)}`;
    const kind = random.weighted({ intent: 5, session: 3, refund: 2, charge: 2, dispute: 2, nobody: 0.5, euro: 0.5 });
    const paid = {
      id: intent,
      status: "succeeded",
      amount: cents,
      amount_received: cents,
      currency: "usd",
      metadata: { userId: user },
    };
    const dispute = { id: `dp_${intent}`, amount: cents, currency: "usd", payment_intent: intent };
    const won = random.chance(0.4);
    const [type, object] = {
      intent: ["payment_intent.succeeded", random.chance(0.1) ? { ...paid, amount_received: cents - 100 } : paid],
      session: [
        "checkout.session.completed",
        {
          id: `cs_${intent}`,
          payment_status: random.pick(["paid", "paid", "unpaid"]),
          payment_intent: intent,
          amount_total: cents,
          currency: "usd",
          client_reference_id: user,
          metadata: {},
        },
      ],
      refund: [
        "refund.created",
        {
          id: refund,
          amount: 1000,
          currency: "usd",
          status: random.pick(["succeeded", "failed"]),
          payment_intent: intent,
        },
      ],
      charge: [
        "charge.refunded",
        {
          id: `ch_${intent}`,
          amount: cents,
          amount_refunded: random.pick([1000, 2000]),
          currency: "usd",
          payment_intent: intent,
        },
      ],
      dispute: [`charge.dispute.${won ? "closed" : "created"}`, { ...dispute, status: won ? "won" : "needs_response" }],
      nobody: ["payment_intent.succeeded", { ...paid, id: `pi_${this.#label("i")}`, metadata: {} }],
      euro: ["payment_intent.succeeded", { ...paid, id: `pi_${this.#label("i")}`, currency: "eur" }],
    }[kind] as [string, object];
    return {
      do: "receiveStripe",
      body: { id: `evt_${random.chance(0.1) ? intent : this.#label("i")}`, object: "event", type, data: { object } },
    };
  }

  #answers(): Record<string, number> {
    const random = this.#random;
    const bad = random.chance(0.1);
    const count = bad ? random.pick([0, 6, 1]) : random.integer(1, 5);
    return Object.fromEntries(
      Array.from({ length: count }, (_, index) => [`q${index}`, bad && count === 1 ? 5 : random.integer(0, 4)]),
    );
  }

  #patch(): Record<string, unknown> {
    const random = this.#random;
    return random.pick<() => Record<string, unknown>>([
      () => ({ feeBps: random.pick([0, 100, 1000, random.integer(0, 1000)]) }),
      () => ({ feeBps: random.pick([1001, -1, 0.5]) }),
      () => ({ maxTradeUsd: random.pick([100, 5000, 2 ** 33, 0, 250.5]) }),
      () => ({ maxUserExposureUsd: random.pick([1000, 1_000_000, 2 ** 33]) }),
      () => ({ jurisdictions: { blocked: random.pick([[], ["US"], ["us-ny"]]) } }),
      () => ({ jurisdictions: { allowed: random.pick([[], [], ["GB", "NO", "US"]]) } }),
      () => ({ suitabilityRequired: random.chance(0.3) }),
      () => ({ suitabilityThresholds: { blockBelow: random.pick([0, 0, 3, 21]) } }),
      () => ({
        suitabilityThresholds: {
          tiers: random.pick([
            [{ minScore: 0, capUsd: null }],
            [
              { minScore: 0, capUsd: 700 },
              { minScore: 10, capUsd: null },
            ],
            [{ minScore: 1, capUsd: 5 }],
          ]),
        },
      }),
      () => ({ maxTradeUSD: 5 }),
      () => ({}),
    ])();
  }

  #key(): Wish {
    const random = this.#random;
    const kind = random.pick(["create", "create", "rotate", "revoke"] as const);
    if (kind === "create")
      return {
        do: "createKey",
        name: random.chance(0.8) ? this.#label("k") : this.#known("k"),
        type: random.pick(["admin", "public"]),
      };
    if (kind === "rotate")
      return { do: "rotateKey", name: this.#known("k"), overlapSeconds: random.pick([0, 3600, 86_400]) };
    return { do: "revokeKey", name: random.pick([this.#known("k"), this.#known("k"), "ops"]) };
  }

  #look(): Step {
    const [words, path, user] = this.#random.pick<[string[], string, string?]>([
      [["report", "overview"], "/v1/reports/overview"],
      [["report", "house"], "/v1/reports/house"],
      [["report", "traders"], "/v1/reports/traders"],
      [["report", "funding"], "/v1/reports/funding"],
      [["risk"], "/v1/risk"],
      [["hedge"], "/v1/hedge/exposure"],
      [["policy", "show"], "/v1/policy"],
      [["key", "list"], "/v1/keys"],
      [["audit", "status"], "/v1/audit/status"],
      [["oracle", "status"], "/v1/oracle/status"],
      [["market", "trending"], "/v1/markets/trending"],
      [["position", "list", "--user", "ann"], "/v1/positions", "ann"],
      [["suitability", "show", "--user", "bob"], "/v1/suitability", "bob"],
      [["user", "show", "cem"], "/v1/users/cem"],
    ]);
    return {
      type: "look",
      words: [...words, "--via", this.#random.pick(["http", "db"])],
      path,
      ...(user ? { user } : {}),
    };
  }
}
