import { DEFAULT_POLICY } from "../../../src/domain/policy/policy.ts";
import type { Command } from "../../../src/engine/commands.ts";
import type { ArrivedWebhook } from "../../../src/engine/webhooks/arrived.ts";
import { BEGINNING } from "./fake-database.ts";
import type { Random } from "./random.ts";

/** Something that a client wants done: one command, however often it has to be sent. */
export interface Task {
  id: number;
  /** The actor of the task's audit entries, which shows in the journal which task caused them. */
  actor: string;
  /** The command as sent by one attempt; trades have a fresh id each time, as the services give them. */
  command: (attempt: string) => Command;
  key: { caller: string; key: string; requestHash: string } | undefined;
}

const dollars = (amount: number) => BigInt(Math.round(amount * 1e6));

export const TRADERS = ["u0", "u1", "u2", "u3"];
const FAR = BEGINNING + 86_400_000;

/** The tenant before the clients come: two markets that stay, one that closes on the way, money, and KYC for three. */
export function openingCommands(closing: number): Command[] {
  const market = { type: "createMarket", category: "c", resolutionRef: "manual", meta: "{}" } as const;
  const policy = { ...DEFAULT_POLICY, feeBps: 37, maxTradeUsd: 200, maxUserExposureUsd: 230 };
  return [
    {
      type: "applyConfig",
      policy,
      kycRequired: true,
      liquidityMicro: dollars(100),
      capitalMicro: dollars(2000),
      keys: [],
      document: JSON.stringify({ policy }),
      documentSha256: "",
      gitCommit: undefined,
    },
    { ...market, id: "m0", question: "?", kind: "cpmm", p0Ppm: 300_000, closeAt: FAR, liquidityMicro: dollars(500) },
    { ...market, id: "m1", question: "?", kind: "lmsr", p0Ppm: 500_000, closeAt: FAR, liquidityMicro: dollars(300) },
    {
      ...market,
      id: "m2",
      question: "?",
      kind: "cpmm",
      p0Ppm: 700_000,
      closeAt: closing,
      liquidityMicro: dollars(5),
    },
    ...TRADERS.slice(0, 3).flatMap((traderId): Command[] => [
      { type: "recordKyc", traderId, status: "passed", provider: "p", verifiedAt: 1, jurisdiction: undefined },
      {
        type: "recordDeposit",
        provider: "payments",
        traderId,
        amountMicro: dollars(250),
        reference: `open-${traderId}`,
      },
    ]),
  ];
}

/** A task of any kind. Names are few, so tasks meet each other's effects. */
export function anyTask(id: number, random: Random): Task {
  const command = anyCommand(id, random);
  // Now and then a key is used that an earlier task used for another request.
  const keyed = random.chance(0.6);
  const reused = id > 20 && random.chance(0.06) ? random.int(10, id - 1) : id;
  return {
    id,
    actor: `task:${id}`,
    command,
    key: keyed ? { caller: "client", key: `k${reused}`, requestHash: `h${id}` } : undefined,
  };
}

function anyCommand(id: number, random: Random): (attempt: string) => Command {
  const marketId = random.chance(0.05) ? "nowhere" : random.pick(["m0", "m0", "m1", "m1", "m2"]);
  const traderId = random.pick(TRADERS);
  const fixed = (command: Command) => () => command;
  const dice = random.next();
  if (dice < 0.46) {
    const amounts = [random.between(0.01, 2), random.int(1, 60), random.int(60, 200), 200];
    const amountMicro = random.chance(0.06) ? random.pick([1n, dollars(200) + 1n]) : dollars(random.pick(amounts));
    const side = random.pick(["yes", "no"] as const);
    return (attempt) => ({
      type: "placeTrade",
      id: attempt,
      marketId,
      traderId,
      side,
      amountMicro,
      claimedJurisdiction: undefined,
    });
  }
  if (dice < 0.58) {
    const sharesMicro = random.chance(0.05) ? 1n : dollars(random.between(0.1, random.pick([3, 30, 100])));
    const side = random.pick(["yes", "no"] as const);
    return (attempt) => ({
      type: "sellShares",
      id: attempt,
      marketId,
      traderId,
      side,
      sharesMicro,
      claimedJurisdiction: undefined,
    });
  }
  if (dice < 0.68) {
    const command = aboutTrader(id, traderId, random);
    return (attempt) => (command.type === "creditWallet" ? { ...command, id: attempt } : command);
  }
  if (dice < 0.79) {
    const amountMicro = dollars(random.pick([5, 5, 40]));
    const reference = `tx${random.int(0, 12)}`;
    const webhook = random.chance(0.6) ? deliveryOf(`${reference} ${traderId} ${amountMicro}`) : undefined;
    return fixed({ type: "recordDeposit", provider: "payments", traderId, amountMicro, reference, webhook });
  }
  if (dice < 0.795)
    return fixed({ type: "keepWebhook", webhook: deliveryOf(`other ${random.int(0, 3)}`), outcome: "kept" });
  if (dice < 0.81) return fixed({ type: "closeMarket", marketId: random.pick(["m2", "m2", "m0"]) });
  if (dice < 0.82) return (attempt) => ({ type: "clarifyMarket", id: attempt, marketId, text: `Text ${id}` });
  if (dice < 0.83) return fixed({ type: "suspendMarket", marketId });
  if (dice < 0.88) return fixed({ type: "resumeMarket", marketId });
  if (dice < 0.905) return fixed({ type: "settleMarket", marketId, outcome: random.pick(["yes", "no"]) });
  if (dice < 0.93)
    return fixed({
      type: "updatePolicy",
      patch: { feeBps: random.pick([0, 37, 100]), maxTradeUsd: random.pick([50, 200]) },
    });
  if (dice < 0.96)
    return fixed({
      type: "recordKyc",
      traderId,
      status: random.chance(0.8) ? "passed" : "failed",
      provider: "p",
      verifiedAt: random.int(0, 4),
      jurisdiction: undefined,
    });
  if (dice < 0.98) return fixed({ type: "recordReconciliation", ok: true, discrepancyMicro: 0n });
  const poisoned = random.chance(0.5);
  return fixed({
    type: "createMarket",
    id: `x${id}`,
    // The database refuses NUL characters; the doors do too, so only a bug would bring one here.
    question: poisoned ? "poison\0" : "?",
    category: "c",
    kind: "cpmm",
    p0Ppm: 500_000,
    closeAt: FAR,
    resolutionRef: "manual",
    meta: "{}",
    liquidityMicro: dollars(random.pick([50, 50, 5000])),
  });
}

/** The text stands for the bytes, and for their hash. */
const deliveryOf = (sha256: string): ArrivedWebhook => ({
  provider: "payments",
  sha256,
  event: "simulated",
  reference: null,
  userId: null,
  body: null,
});

/** A withdrawal's owner follows from its number, so a decision about it needs no look-up. */
const ownerOf = (withdrawal: number) => TRADERS[withdrawal % TRADERS.length] ?? "";

function aboutTrader(id: number, traderId: string, random: Random): Command {
  const dice = random.next();
  if (dice < 0.2) return { type: "creditWallet", id: `c${id}`, traderId, amountMicro: dollars(random.int(1, 20)) };
  if (dice < 0.4) return { type: "restrictUser", traderId, restricted: random.chance(0.4) };
  if (dice < 0.5)
    return {
      type: "submitSuitability",
      id: `a${id}`,
      traderId,
      answers: { q1: random.int(0, 4), q2: random.int(0, 4) },
    };
  if (dice < 0.75)
    return { type: "requestWithdrawal", id: `w${id}`, traderId: ownerOf(id), amountMicro: dollars(random.int(1, 150)) };
  const withdrawal = random.int(10, id);
  return { type: "decideWithdrawal", id: `w${withdrawal}`, traderId: ownerOf(withdrawal), approve: random.chance(0.5) };
}

export const isPoison = (command: Command) => command.type === "createMarket" && command.question.includes("\0");
