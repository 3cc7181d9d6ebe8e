import type { AuditEntry } from "../../../src/domain/audit/audit-link.ts";
import type { Command } from "../../../src/engine/commands.ts";

export interface NaiveBook {
  kind: string;
  yes: bigint;
  no: bigint;
  status: string;
  volume: bigint;
  fund: bigint;
  closeAt: number;
  closingRecorded: boolean;
  /** The clarifications, oldest first. */
  texts: string[];
}

/** Thrown when the journal holds something that should have been refused, or that does not add up. */
export class Disagreement extends Error {}

function must(condition: boolean, what: string): void {
  if (!condition) throw new Disagreement(what);
}

/** Commands about a user that do not bring one into being. */
const NOT_NAMING = new Set(["sellShares", "requestWithdrawal", "decideWithdrawal"]);

type Payload = Record<string, unknown>;

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
  readonly delivered = new Set<string>();
  readonly known = new Set<string>();
  readonly restricted = new Set<string>();
  readonly withdrawals = new Map<string, { trader: string; amount: bigint; status: string }>();
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
    const payload = JSON.parse(payloadText) as Payload;
    if ("traderId" in command && !NOT_NAMING.has(command.type) && type !== "payment.conflict")
      this.known.add(command.traderId);
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
        const known = this.kyc.get(command.traderId);
        // Providers' clocks differ by up to five minutes, so a refusal dated that little before a pass counts, with the pass's time.
        const contradicts =
          command.status !== "passed" && known?.state === "verified" && command.verifiedAt >= known.at - 300_000;
        // A pass dated that little before a refusal is on record, and changes nothing.
        if (type === "kyc.unrecognised") {
          const isBefore = known?.state === "rejected" && command.verifiedAt <= known.at;
          must(command.status === "passed" && isBefore, "a KYC event that counts was left without effect");
          must(command.verifiedAt >= (known?.at ?? 0) - 300_000, "an old KYC event was put on record");
          break;
        }
        must((known?.at ?? -1) < command.verifiedAt || contradicts, "an older KYC event was applied");
        const state = command.status === "passed" ? "verified" : "rejected";
        this.kyc.set(command.traderId, { state, at: Math.max(command.verifiedAt, known?.at ?? 0) });
        break;
      }
      case "recordDeposit":
        must(!this.delivered.has(command.webhook?.sha256 ?? ""), "the same bytes took effect twice");
        if (command.webhook) this.delivered.add(command.webhook.sha256);
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
        this.books.set(command.id, {
          kind,
          yes,
          no,
          status: "open",
          volume: 0n,
          fund,
          closeAt,
          closingRecorded: false,
          texts: [],
        });
        this.#move("treasury", `escrow:${command.id}`, fund);
        break;
      }
      case "suspendMarket":
        this.#turn(command.marketId, "open", "suspended");
        break;
      case "resumeMarket":
        this.#turn(command.marketId, "suspended", "open");
        break;
      case "clarifyMarket": {
        const book = this.#book(command.marketId);
        must(book.status !== "settled" && book.texts.length < 20, "a text too many");
        book.texts.push(`${payload.id} ${payload.text}`);
        break;
      }
      case "settleMarket":
        this.#settle(command.marketId, command.outcome);
        break;
      case "closeMarket": {
        const book = this.#book(command.marketId);
        must(
          book.status !== "settled" && !book.closingRecorded && Date.parse(ts) >= book.closeAt,
          "a closing too many",
        );
        book.closingRecorded = true;
        break;
      }
      case "placeTrade":
        this.#buy(command, payload);
        break;
      case "sellShares":
        this.#sell(command, payload);
        break;
      case "creditWallet":
        this.#move("external:operator", `wallet:${command.traderId}`, command.amountMicro);
        break;
      case "restrictUser":
        must(this.restricted.has(command.traderId) !== command.restricted, "a restriction that changes nothing");
        if (command.restricted) this.restricted.add(command.traderId);
        else this.restricted.delete(command.traderId);
        break;
      case "requestWithdrawal": {
        const { id, traderId: trader, amountMicro: amount } = command;
        must(!this.withdrawals.has(id) && !this.restricted.has(trader), `withdrawal ${id} should have been refused`);
        this.withdrawals.set(id, { trader, amount, status: "pending" });
        this.#move(`wallet:${trader}`, `pending:${trader}`, amount);
        break;
      }
      case "decideWithdrawal": {
        const withdrawal = this.withdrawals.get(command.id);
        must(withdrawal?.status === "pending", `withdrawal ${command.id} was decided twice`);
        if (!withdrawal) break;
        withdrawal.status = command.approve ? "approved" : "rejected";
        const to = command.approve ? "external:withdrawals" : `wallet:${withdrawal.trader}`;
        this.#move(`pending:${withdrawal.trader}`, to, withdrawal.amount);
        break;
      }
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

  #turn(id: string, from: string, to: string): void {
    const book = this.#book(id);
    must(book.status === from, `${id} was ${book.status} and became ${to}`);
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

  /** What buying and selling have in common; returns the fee due. */
  #admit(command: { marketId: string; traderId: string }, gross: bigint, payload: Payload): bigint {
    const { marketId, traderId } = command;
    const book = this.#book(marketId);
    must(book.status === "open", `${marketId} took a trade while ${book.status}`);
    must(this.kyc.get(traderId)?.state === "verified", `${traderId} traded without KYC`);
    must(!this.restricted.has(traderId), `${traderId} traded while restricted`);
    const fee = (gross * BigInt(this.limits.feeBps) + 9999n) / 10_000n;
    must(micro(payload.fee) === fee, `a fee of ${payload.fee} where ${fee} was due`);
    book.volume += gross;
    return fee;
  }

  #buy(command: Command & { type: "placeTrade" }, payload: Payload): void {
    const { marketId, traderId, side, amountMicro } = command;
    const book = this.#book(marketId);
    must(amountMicro <= this.limits.maxTrade, "a trade over the limit");
    must(this.exposure(traderId) + amountMicro <= this.limits.maxExposure, "a trade over the exposure cap");
    const fee = this.#admit(command, amountMicro, payload);
    const net = amountMicro - fee;
    const shares = micro(payload.shares);
    const [own, opposite] = side === "yes" ? [book.yes, book.no] : [book.no, book.yes];
    if (book.kind === "cpmm") {
      const due = own + net - divideUp(own * opposite, opposite + net);
      must(shares === due, `${shares} shares where ${due} were due`);
    } else mustBeClose(shares, logarithmicBuy(book.fund, own, opposite, net));
    this.#setPool(book, side, own + net - shares, opposite + net);
    const held = this.#held(traderId, side, marketId);
    held.shares += shares;
    held.cost += amountMicro;
    this.#move(`wallet:${traderId}`, `escrow:${marketId}`, net);
    this.#move(`wallet:${traderId}`, "fees", fee);
  }

  #sell(command: Command & { type: "sellShares" }, payload: Payload): void {
    const { marketId, traderId, side, sharesMicro: shares } = command;
    const book = this.#book(marketId);
    const held = this.#held(traderId, side, marketId);
    must(held.shares >= shares, "shares were sold that no trader held");
    const proceeds = micro(payload.amount);
    const [own, opposite] = side === "yes" ? [book.yes, book.no] : [book.no, book.yes];
    if (book.kind === "cpmm") {
      // The most that leaves k whole.
      const keeps = (amount: bigint) => (own + shares - amount) * (opposite - amount) >= own * opposite;
      must(keeps(proceeds) && !keeps(proceeds + 1n), `proceeds of ${proceeds}`);
    } else mustBeClose(proceeds, logarithmicSell(book.fund, own, opposite, shares));
    const fee = this.#admit(command, proceeds, payload);
    const released = (held.cost * shares) / held.shares;
    must(micro(payload.cost) === released, `a cost of ${payload.cost} where ${released} was due`);
    held.shares -= shares;
    held.cost -= released;
    this.#setPool(book, side, own + shares - proceeds, opposite - proceeds);
    this.#move(`escrow:${marketId}`, `wallet:${traderId}`, proceeds - fee);
    this.#move(`escrow:${marketId}`, "fees", fee);
  }

  #setPool(book: NaiveBook, side: string, own: bigint, opposite: bigint): void {
    [book.yes, book.no] = side === "yes" ? [own, opposite] : [opposite, own];
  }

  #held(trader: string, side: string, market: string): { shares: bigint; cost: bigint } {
    const key = `${trader} ${side} ${market}`;
    const held = this.positions.get(key) ?? { shares: 0n, cost: 0n };
    this.positions.set(key, held);
    return held;
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

/** At most what is due, and no more than two micro-units less. Doubles carry these sizes to a thousandth of one. */
function mustBeClose(given: bigint, due: number): void {
  must(Number(given) <= due + 1e-3 && Number(given) >= due - 2, `${given} where ${due} was due`);
}

/** In a logarithmic market the sum of e^(-reserve/b) stays what it is; with p0 = 0.5, b = F / ln 2. */
function logarithmicBuy(fund: bigint, own: bigint, opposite: bigint, net: bigint): number {
  const b = Number(fund) / Math.LN2;
  const sum = Math.exp(-Number(own) / b) + Math.exp(-Number(opposite) / b);
  return Number(own + net) + b * Math.log(sum - Math.exp(-Number(opposite + net) / b));
}

function logarithmicSell(fund: bigint, own: bigint, opposite: bigint, shares: bigint): number {
  const b = Number(fund) / Math.LN2;
  const sum = Math.exp(-Number(own) / b) + Math.exp(-Number(opposite) / b);
  return b * Math.log(sum / (Math.exp(-Number(own + shares) / b) + Math.exp(-Number(opposite) / b)));
}
