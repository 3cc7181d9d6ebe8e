import type { AuditEntry } from "../../src/domain/audit-link.ts";
import type { Command } from "../../src/engine/commands.ts";

export interface NaiveBook {
  kind: string;
  yes: bigint;
  no: bigint;
  status: string;
  volume: bigint;
  fund: bigint;
  closeAt: number;
}

/** Thrown when the journal holds something that should have been refused, or that does not add up. */
export class Disagreement extends Error {}

function must(condition: boolean, what: string): void {
  if (!condition) throw new Disagreement(what);
}

const micro = (decimal: unknown): bigint => {
  const [whole = "", fraction = ""] = String(decimal).split(".");
  return BigInt(whole + fraction.padEnd(6, "0"));
};

/**
 * A second, simple-minded ledger. It is fed the journal's entries in order, each with the command that asked for it,
 * and does by hand what that command means. It shares no code with the engine, and complains about any entry that a
 * correct engine would have refused.
 */
export class NaiveLedger {
  readonly balances = new Map<string, bigint>();
  readonly books = new Map<string, NaiveBook>();
  /** "trader side market" */
  readonly positions = new Map<string, { shares: bigint; cost: bigint }>();
  readonly receipts = new Map<string, { amount: bigint; user: string }>();
  readonly kyc = new Map<string, { state: string; at: number }>();
  readonly limits = { feeBps: 0, maxTrade: 0n, maxExposure: 0n };

  balance(account: string): bigint {
    return this.balances.get(account) ?? 0n;
  }

  exposure(trader: string): bigint {
    let sum = 0n;
    for (const [key, { cost }] of this.positions) {
      const [owner, , market] = key.split(" ");
      if (owner === trader && this.books.get(market ?? "")?.status !== "settled") sum += cost;
    }
    return sum;
  }

  /** One committed entry. `command` is what its actor had asked for. */
  follow({ type, payloadText, ts }: AuditEntry, command: Command): void {
    const payload = JSON.parse(payloadText) as Record<string, unknown>;
    switch (command.type) {
      case "applyConfig": {
        const { feeBps, maxTradeUsd, maxUserExposureUsd } = command.policy;
        this.#limit(feeBps, maxTradeUsd, maxUserExposureUsd);
        this.#move("external:capital", "treasury", command.capitalMicro);
        break;
      }
      case "updatePolicy": {
        must(type === "policy.updated", `${command.type} became ${type}`);
        this.#limit(command.patch.feeBps, command.patch.maxTradeUsd, command.patch.maxUserExposureUsd);
        break;
      }
      case "recordKyc": {
        must((this.kyc.get(command.traderId)?.at ?? -1) < command.verifiedAt, "an older KYC event was applied");
        const state = command.status === "passed" ? "verified" : "rejected";
        this.kyc.set(command.traderId, { state, at: command.verifiedAt });
        break;
      }
      case "recordDeposit":
        this.#deposit(command, type);
        break;
      case "recordReconciliation":
        break;
      case "createMarket": {
        must(!this.books.has(command.id), `market ${command.id} was created twice`);
        const fund = command.liquidityMicro ?? 0n;
        const p0 = BigInt(command.p0Ppm);
        const scarce = (a: bigint, b: bigint) => (a < b ? (fund * a) / b : fund);
        // The logarithmic pool is taken from its opening at one half, where both reserves are F.
        const [yes, no] = [scarce(1_000_000n - p0, p0), scarce(p0, 1_000_000n - p0)];
        const { kind, closeAt } = command;
        this.books.set(command.id, { kind, yes, no, status: "open", volume: 0n, fund, closeAt });
        this.#move("treasury", `escrow:${command.id}`, fund);
        break;
      }
      case "suspendMarket":
        this.#turn(command.marketId, "open", "suspended", ts);
        break;
      case "resumeMarket":
        this.#turn(command.marketId, "suspended", "open", ts);
        break;
      case "settleMarket":
        this.#settle(command.marketId, command.outcome);
        break;
      case "placeTrade":
        this.#trade(command, payload, ts);
        break;
    }
  }

  #limit(feeBps: number | undefined, maxTradeUsd: number | undefined, maxExposureUsd: number | undefined): void {
    if (feeBps !== undefined) this.limits.feeBps = feeBps;
    if (maxTradeUsd !== undefined) this.limits.maxTrade = micro(maxTradeUsd);
    if (maxExposureUsd !== undefined) this.limits.maxExposure = micro(maxExposureUsd);
  }

  #deposit(command: Command & { type: "recordDeposit" }, type: string): void {
    const reference = `${command.provider} ${command.reference}`;
    const receipt = this.receipts.get(reference);
    if (type === "payment.conflict") {
      const same = receipt?.amount === command.amountMicro && receipt.user === command.traderId;
      must(receipt !== undefined && !same, `${reference} does not conflict with anything`);
      return;
    }
    must(receipt === undefined, `${reference} was credited twice`);
    this.receipts.set(reference, { amount: command.amountMicro, user: command.traderId });
    this.#move(`external:${command.provider}`, `wallet:${command.traderId}`, command.amountMicro);
  }

  #turn(id: string, from: string, to: string, ts: string): void {
    const book = this.#book(id);
    must(book.status === from && Date.parse(ts) < book.closeAt, `${id} was ${book.status} and became ${to}`);
    book.status = to;
  }

  #settle(id: string, outcome: string): void {
    const book = this.#book(id);
    must(book.status !== "settled", `${id} was settled twice`);
    for (const [key, { shares }] of this.positions) {
      const [trader, side, market] = key.split(" ");
      if (market === id && side === outcome) this.#move(`escrow:${id}`, `wallet:${trader}`, shares);
    }
    this.#move(`escrow:${id}`, "treasury", this.balance(`escrow:${id}`));
    book.status = "settled";
  }

  #trade(command: Command & { type: "placeTrade" }, payload: Record<string, unknown>, ts: string): void {
    const { marketId, traderId, side, amountMicro } = command;
    const book = this.#book(marketId);
    must(book.status === "open" && Date.parse(ts) < book.closeAt, `${marketId} took a trade while ${book.status}`);
    must(this.kyc.get(traderId)?.state === "verified", `${traderId} traded without KYC`);
    must(amountMicro <= this.limits.maxTrade, "a trade over the limit");
    must(this.exposure(traderId) + amountMicro <= this.limits.maxExposure, "a trade over the exposure cap");
    const fee = (amountMicro * BigInt(this.limits.feeBps) + 9999n) / 10_000n;
    const net = amountMicro - fee;
    must(micro(payload.fee) === fee, `a fee of ${payload.fee} where ${fee} was due`);
    const shares = micro(payload.shares);
    const [own, opposite] = side === "yes" ? [book.yes, book.no] : [book.no, book.yes];
    const due =
      book.kind === "cpmm" ? own + net - divideUp(own * opposite, opposite + net) : logarithmic(book, side, net);
    must(
      book.kind === "cpmm" ? shares === due : due - shares <= 2n && shares <= due,
      `${shares} shares, ${due} were due`,
    );
    [book.yes, book.no] = side === "yes" ? [own + net - shares, opposite + net] : [opposite + net, own + net - shares];
    book.volume += amountMicro;
    const key = `${traderId} ${side} ${marketId}`;
    const held = this.positions.get(key) ?? { shares: 0n, cost: 0n };
    this.positions.set(key, { shares: held.shares + shares, cost: held.cost + amountMicro });
    this.#move(`wallet:${traderId}`, `escrow:${marketId}`, net);
    this.#move(`wallet:${traderId}`, "fees", fee);
  }

  #book(id: string): NaiveBook {
    const book = this.books.get(id);
    if (!book) throw new Disagreement(`there is no market ${id}`);
    return book;
  }

  #move(from: string, to: string, amount: bigint): void {
    this.balances.set(from, this.balance(from) - amount);
    this.balances.set(to, this.balance(to) + amount);
    must(from.startsWith("external:") || this.balance(from) >= 0n, `${from} is overdrawn`);
  }
}

const divideUp = (a: bigint, b: bigint) => (a + b - 1n) / b;

/** Shares of a logarithmic market with p0 = 0.5, where b = F / ln 2; rounded up, so the true number is not above it. */
function logarithmic(book: NaiveBook, side: string, net: bigint): bigint {
  const b = Number(book.fund) / Math.LN2;
  const [own, opposite] = (side === "yes" ? [book.yes, book.no] : [book.no, book.yes]).map(Number) as [number, number];
  const sum = Math.exp(-own / b) + Math.exp(-opposite / b);
  const ownAfter = -b * Math.log(sum - Math.exp(-(opposite + Number(net)) / b));
  return BigInt(Math.ceil(own + Number(net) - ownAfter + 1e-3));
}
