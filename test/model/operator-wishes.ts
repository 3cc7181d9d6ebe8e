import type { Labels } from "./labels.ts";
import { type Random, USERS } from "./random.ts";
import type { Step, Wish } from "./steps.ts";

/** What `GET /v1/risk` says without a status; the command says the states too. */
const RISK_FIELDS = "marketId,question,maxLiability,yesPayout,noPayout";

/** What operators change and look at, and what users say of themselves. */
export class OperatorWishes {
  readonly #random: Random;
  readonly #labels: Labels;

  constructor(random: Random, labels: Labels) {
    this.#random = random;
    this.#labels = labels;
  }

  answers(): Record<string, number> {
    const random = this.#random;
    const bad = random.chance(0.1);
    const count = bad ? random.pick([0, 6, 1]) : random.integer(1, 5);
    return Object.fromEntries(
      Array.from({ length: count }, (_, index) => [`q${index}`, bad && count === 1 ? 5 : random.integer(0, 4)]),
    );
  }

  patch(): Record<string, unknown> {
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

  key(): Wish {
    const random = this.#random;
    const kind = random.pick(["create", "create", "rotate", "revoke"] as const);
    if (kind === "create")
      return {
        do: "createKey",
        name: random.chance(0.8) ? this.#labels.next("k") : this.#labels.known("k"),
        type: random.pick(["admin", "public"]),
      };
    if (kind === "rotate")
      return { do: "rotateKey", name: this.#labels.known("k"), overlapSeconds: random.pick([0, 3600, 86_400]) };
    return { do: "revokeKey", name: random.pick([this.#labels.known("k"), this.#labels.known("k"), "ops"]) };
  }

  proposal(): Wish {
    const random = this.#random;
    const proposal = { back: random.pick([0, 0, 0, 1, 2, 7]), waits: random.chance(0.9) };
    const reason = random.pick(["It rained", "It rained", "It rained", " ", "x".repeat(501)]);
    const act = random.weighted({ approve: 10, execute: 4, reject: 3, object: 8 });
    if (act === "object") return { do: "objectToProposal", user: random.pick(USERS), proposal, reason };
    if (act === "reject") return { do: "rejectProposal", proposal, reason };
    return { do: `${act}Proposal`, proposal };
  }

  look(): Step {
    const [words, path, user] = this.#random.pick<[string[], string, string?]>([
      [["report", "overview"], "/v1/reports/overview"],
      [["report", "house"], "/v1/reports/house"],
      [["report", "traders"], "/v1/reports/traders"],
      [["report", "funding"], "/v1/reports/funding"],
      [["risk", "--status", "open", "--fields", RISK_FIELDS], "/v1/risk"],
      [["hedge"], "/v1/hedge/exposure"],
      [["policy", "show"], "/v1/policy"],
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
