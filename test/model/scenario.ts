import { isCommand } from "./command-line.ts";
import { Labels } from "./labels.ts";
import { MarketWishes } from "./market-wishes.ts";
import type { Rules } from "./model-proposals.ts";
import type { Policy } from "./model-state.ts";
import { MoneyWishes } from "./money-wishes.ts";
import { OperatorWishes } from "./operator-wishes.ts";
import { Random, USERS } from "./random.ts";
import type { Call, Scenario, Step, TenantPlan, Wish } from "./steps.ts";
import { SECOND } from "./tenant.ts";

/** The scenario of a seed: a tenant and `count` steps, decided by nothing but the seed. */
export function scenarioOf(
  seed: number,
  count: number,
  { servers = "within", isGoverned = false }: { servers?: TenantPlan["servers"]; isGoverned?: boolean } = {},
): Scenario {
  const random = new Random(seed);
  const plan = tenantOf(random, servers);
  const tenant = isGoverned ? { ...plan, correctionHours: 24, rules: rulesOf(random) } : plan;
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
    maxCreditUsd: 5000,
    jurisdictions: random.chance(0.3)
      ? { allowed: random.chance(0.5) ? ["DE", "GB", "US"] : [], blocked: ["US-NY"] }
      : { allowed: [], blocked: [] },
    kycReview: random.chance(0.7),
    suitabilityRequired: random.chance(0.2),
    suitabilityThresholds: { blockBelow: random.pick([0, 0, 4]), tiers },
    resolution_url: null,
  };
  const liquidityUsd = random.pick([100, 1000, 1000, 25_000]);
  return {
    kycRequired: random.chance(0.4),
    capitalUsd: liquidityUsd * 40,
    liquidityUsd,
    correctionHours: random.pick([0, 24, 24]),
    policy,
    servers,
  };
}

/** Ends of markets wait by their category: for a second actor, for a day, or for both but a second alone. */
function rulesOf(random: Random): Rules {
  return {
    categories: {
      sports: { approvals: 2 },
      weather: { holdHours: 24, approvals: random.pick([1, 2]) },
      crypto: { holdHours: 0.0003, approvals: 2 },
    },
    withdraw: { aboveUsd: random.pick([0, 10, 100]), approvals: 2 },
    credit: { aboveUsd: random.pick([1, 100]), approvals: 2 },
    key: { approvals: 2 },
    loosen: { approvals: 2 },
  };
}

/** Writes steps one after the other, and remembers the labels that it has given. */
class Author {
  readonly #random: Random;
  readonly #tenant: TenantPlan;
  readonly #labels: Labels;
  readonly #markets: MarketWishes;
  readonly #money: MoneyWishes;
  readonly #operator: OperatorWishes;
  readonly #keyed: string[] = [];

  constructor(random: Random, tenant: TenantPlan) {
    this.#random = random;
    this.#tenant = tenant;
    this.#labels = new Labels(random);
    this.#markets = new MarketWishes(random, this.#labels, tenant);
    this.#money = new MoneyWishes(random, this.#labels);
    this.#operator = new OperatorWishes(random, this.#labels);
  }

  /** Money, users and two markets, so that the first steps find something to work with. */
  *opening(): Generator<Step> {
    for (const user of USERS) yield this.#call(this.#money.deposit(user, this.#random.dollars(100, 100_000)));
    if (this.#tenant.kycRequired)
      for (const user of USERS.slice(0, 3)) yield this.#call(this.#money.kyc(user, "passed"));
    for (let index = 0; index < 3; index++) yield this.#call(this.#markets.market());
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
      yield {
        type: "kill",
        server: this.#server(),
        call: { ...this.#plain(0), idempotencyKey: this.#labels.next("i") },
      };
    else if (kind === "look") yield this.#operator.look();
    else yield this.#call(this.#wish());
  }

  #killing = () => (this.#tenant.servers === "processes" ? 1 : 0);
  #looking = () => (this.#tenant.servers === "processes" ? 8 : 0);
  #server = (): 0 | 1 => (this.#random.chance(0.5) ? 0 : 1);
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
      call.idempotencyKey = this.#labels.next("i");
      this.#keyed.push(call.idempotencyKey);
      if (random.chance(0.3)) call.lost = true;
    }
    if (wish.do.endsWith("Proposal") && !user) call.key = random.pick(["ops", SECOND, SECOND]);
    if (!isWebhook && !call.door && random.chance(0.03))
      call.key = user ? this.#labels.known("k") : random.pick(["web", this.#labels.known("k")]);
    return { type: "call", call };
  }

  /** A call for a race or a kill: nothing that the other one's label hangs on. */
  #plain(server: 0 | 1): Call {
    const wish = this.#random.chance(0.7)
      ? this.#markets.trade()
      : this.#random.pick([
          () => this.#markets.halt(),
          () => this.#markets.settle(),
          () => this.#money.withdraw(),
          () => this.#money.decide(),
          () => this.#money.deposit(),
        ])();
    return { wish, server };
  }

  #wish(): Wish {
    const random = this.#random;
    const isGoverned = this.#tenant.rules !== undefined;
    const kind = random.weighted({
      trade: 50,
      quote: 6,
      market: 5,
      halt: 4,
      clarify: 1,
      settle: isGoverned ? 8 : 3,
      correct: isGoverned ? 6 : 2,
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
      proposal: isGoverned ? 30 : 0,
    });
    switch (kind) {
      case "trade":
        return this.#markets.trade();
      case "quote":
        return { ...this.#markets.trade(), do: "quoteTrade" } as Wish;
      case "market":
        return this.#markets.market();
      case "halt":
        return this.#markets.halt();
      case "clarify":
        return this.#markets.clarify();
      case "settle":
        return this.#markets.settle();
      case "correct":
        return this.#markets.correct();
      case "withdraw":
        return this.#money.withdraw();
      case "decide":
        return this.#money.decide();
      case "deposit":
        return this.#money.deposit();
      case "kyc":
        return this.#money.kyc(random.pick(USERS), random.pick(["passed", "passed", "failed", "pending"]));
      case "stripe":
        return this.#money.stripe();
      case "credit":
        return {
          do: "creditWallet",
          user: random.pick(USERS),
          amount: random.dollars(0.000001, 10_000),
          ...(random.chance(0.9) ? { reason: "goodwill" } : {}),
        };
      case "suitability":
        return { do: "submitSuitability", user: random.pick(USERS), answers: this.#operator.answers() };
      case "restrict":
        return {
          do: random.pick(["restrictUser", "releaseUser", "releaseUser"]),
          user: random.pick([...USERS, "eve"]),
        };
      case "policy":
        return { do: "updatePolicy", patch: this.#operator.patch() };
      case "key":
        return this.#operator.key();
      case "proposal":
        return this.#operator.proposal();
      case "reconcile":
        return { do: "reconcile" };
    }
  }
}
