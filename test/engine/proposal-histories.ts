import * as fc from "fast-check";
import { canonicalJson, type Json } from "../../src/domain/audit/audit-link.ts";
import { Fault } from "../../src/domain/fault.ts";
import type { Work } from "../../src/engine/approvals/decisions.ts";
import type { Proposal } from "../../src/engine/approvals/rows.ts";
import { type Command, workOf } from "../../src/engine/commands.ts";
import { SINGLE } from "../../src/engine/rows.ts";
import { anySide } from "../domain/random.ts";
import { anyTrader } from "./histories.ts";
import { configOf, marketOf, openWorld, tradeOf, usd, type World } from "./world.ts";

/** Rules under which everything waits, and milder ones that an apply puts in their place. */
const STRICT: Json = {
  resolution: { holdHours: 0.25, approvals: 2, correctionHours: 48, categories: { sports: { approvals: 3 } } },
  approvals: {
    ...{ withdraw: { aboveUsd: 10, approvals: 2 }, credit: { aboveUsd: 10, approvals: 3 } },
    ...{ loosen: { approvals: 2 }, key: { approvals: 2 } },
  },
};
const MILD: Json = { resolution: { correctionHours: 48, categories: { sports: { holdHours: 0.5 } } }, approvals: {} };

/** What a person may ask for; the rules decide whether it waits. */
type Asking = Extract<Command, { asked?: unknown }>;

export type ProposalStep = { wait: number } & (
  | { does: "ask"; command: Asking; by: string }
  | { does: "approve" | "execute" | "reject" | "object"; which: number; by: string; traderId: string }
  | { does: "run"; command: Command }
);

const anyMarketId = fc.constantFrom("m1", "m2");
const anyOutcome = fc.oneof(anySide, fc.constant("0.4" as const));
const anyActor = fc.constantFrom("admin:ops", "admin:eve", "admin:zoe");
const anyWait = fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.integer({ min: 1, max: 1_200_000 }));
const anyAmount = fc.constantFrom(usd(1), usd(10), usd(11), usd(40));
const anyId = fc.integer({ min: 0, max: 4 });
const reason = "As the record says";

const anyAsking: fc.Arbitrary<Asking> = fc.oneof(
  fc.record({ type: fc.constant("settleMarket" as const), marketId: anyMarketId, outcome: anyOutcome }),
  fc.record({
    ...{ type: fc.constant("voidMarket" as const), marketId: anyMarketId, reason: fc.constant(reason) },
    maxTreasuryMicro: fc.constantFrom(0n, usd(500)),
  }),
  fc.record({
    ...{ type: fc.constant("correctMarket" as const), marketId: anyMarketId, reason: fc.constant(reason) },
    outcome: fc.oneof(anyOutcome, fc.constant("void" as const)),
  }),
  fc.record({
    ...{ type: fc.constant("decideWithdrawal" as const), id: anyId.map((id) => `w${id}`) },
    ...{ traderId: anyTrader, approve: fc.boolean() },
  }),
  fc.record({
    ...{ type: fc.constant("creditWallet" as const), id: fc.uuid(), traderId: anyTrader },
    amountMicro: anyAmount,
  }),
  fc.constantFrom(20, 30, 40).map((feeBps): Asking => ({ type: "updatePolicy", patch: { feeBps } })),
  fc.constantFrom(1000, 2000).map((maxTradeUsd): Asking => ({ type: "updatePolicy", patch: { maxTradeUsd } })),
  fc.uuid().map((hash): Asking => ({ type: "createKey", name: "night", keyType: "admin", hash, expiresAt: null })),
);

const anyRun: fc.Arbitrary<Command> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ marketId: anyMarketId, traderId: anyTrader, side: anySide }).map(tradeOf) },
  fc.record({
    ...{ type: fc.constant("requestWithdrawal" as const), id: anyId.map((id) => `w${id}`) },
    ...{ traderId: anyTrader, amountMicro: anyAmount },
  }),
  fc.record({ type: fc.constantFrom("suspendMarket" as const, "resumeMarket" as const), marketId: anyMarketId }),
  fc.record({
    ...{ type: fc.constant("approvePlan" as const), by: anyActor },
    sha256: fc.constantFrom("a".repeat(64), "b".repeat(64)),
  }),
  fc.constantFrom(STRICT, STRICT, MILD).map((rules) => configOf({ document: canonicalJson(rules) })),
);

export const anyProposalStep: fc.Arbitrary<ProposalStep> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ does: fc.constant("ask" as const), command: anyAsking, by: anyActor, wait: anyWait }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      does: fc.constantFrom(...(["approve", "approve", "execute", "reject", "object"] as const)),
      ...{ which: fc.nat(), by: fc.oneof(anyActor, fc.constant("oracle")), traderId: anyTrader, wait: anyWait },
    }),
  },
  { weight: 3, arbitrary: fc.record({ does: fc.constant("run" as const), command: anyRun, wait: anyWait }) },
);

/** Two markets with positions, under the strict rules. */
export function ruledWorld(): World {
  const world = openWorld({ feeBps: 30, maxTradeUsd: 1500, maxCreditUsd: 1000 }, STRICT as object);
  world.run(marketOf({ id: "m1" }));
  world.run(marketOf({ id: "m2", category: "sports", kind: "lmsr" }));
  for (const traderId of ["ann", "bob"]) {
    world.run({ type: "recordDeposit", provider: "payments", traderId, amountMicro: usd(500), reference: traderId });
    world.run({ type: "recordKyc", traderId, status: "passed", provider: "sumsub", verifiedAt: 1, jurisdiction: "GB" });
    for (const marketId of ["m1", "m2"]) world.run(tradeOf({ marketId, traderId, amountMicro: usd(20) }));
    world.run({ type: "requestWithdrawal", id: traderId === "ann" ? "w0" : "w1", traderId, amountMicro: usd(40) });
  }
  return world;
}

/** Runs the steps of a history; it remembers what each proposal would carry out. */
export class ProposalHistory {
  readonly world = ruledWorld();
  readonly #askedFor = new Map<string, Asking>();

  /** Runs a step if it is not refused. @returns whether it was accepted */
  run(step: ProposalStep): boolean {
    this.world.wait(step.wait);
    const command = this.#commandOf(step);
    if (!command) return false;
    try {
      this.world.run(command);
      return true;
    } catch (fault) {
      if (!(fault instanceof Fault)) throw fault;
      return false;
    }
  }

  #commandOf(step: ProposalStep): Command | undefined {
    if (step.does === "run") {
      const { command } = step;
      if (command.type === "requestWithdrawal" && this.world.get("withdrawal", command.id)) return undefined;
      const { policy } = this.world.get("tenant", SINGLE) ?? {};
      return command.type === "applyConfig" && policy ? { ...command, policy } : command;
    }
    if (step.does === "ask") return this.#asking(step.command, step.by);
    const { does, which, by, traderId } = step;
    const all = this.world.all("proposal");
    // Mostly those that wait, so that many are carried out.
    const proposals = which % 4 === 0 ? all : all.filter(([, { status }]) => status === "pending");
    const [proposalId, proposal] = proposals[which % Math.max(proposals.length, 1)] ?? [];
    if (proposalId === undefined || !proposal) return undefined;
    if (does === "reject") return { type: "rejectProposal", proposalId, by, reason };
    if (does === "object") {
      const { marketId } = proposal;
      return marketId === null ? undefined : { type: "objectToProposal", proposalId, marketId, traderId, reason };
    }
    return { type: `${does}Proposal`, proposalId, by, work: this.#workOf(proposal) };
  }

  #asking(command: Asking, by: string): Command | undefined {
    const known = command.type === "decideWithdrawal" ? this.world.get("withdrawal", command.id) : undefined;
    const proposalId = `prp_${this.#askedFor.size}`;
    const asking = known ? { ...command, traderId: known.traderId } : command;
    this.#askedFor.set(proposalId, asking);
    // The recomputation finds a credit's user and amount in its request.
    const credit =
      asking.type === "creditWallet" ? { id: asking.traderId, amount: Number(asking.amountMicro) / 1e6 } : {};
    return {
      ...asking,
      asked: { proposalId, by, request: canonicalJson({ number: proposalId, ...credit }), evidence: null },
    };
  }

  #workOf({ id, request }: Proposal): Work {
    return workOf(this.#askedFor.get(id) as Command<"settleMarket">, request, () => ({ done: id, at: 1 })) as Work;
  }
}
