import { SLOWEST_MS } from "./fake-journal.ts";
import type { NaiveBook, NaiveLedger } from "./naive-ledger.ts";
import { type Attempt, LONGEST_CLOCK_STEP_MS } from "./simulation.ts";

/** An answer without an effect: it says how things stood, so there must have been a moment when they stood so. */
export interface Claim {
  attempt: Attempt;
  /** A refusal's code, "nothing to do", or "replayed". */
  what: string;
}

/** Idempotency keys that have had their effect, with the hash of the request. */
export type Keys = Map<string, string>;

/** Whether the claim is true of the ledger as it stands. */
export function holds({ attempt, what }: Claim, ledger: NaiveLedger, keys: Keys): boolean {
  const { command, task, answeredAt } = attempt;
  const used = task.key && keys.get(task.key.key);
  if (what === "replayed") return used !== undefined && used === task.key?.requestHash;
  if (what === "IDEMPOTENCY_MISMATCH") return used !== undefined && used !== task.key?.requestHash;
  if (what === "nothing to do") return nothingToDo(attempt, ledger);
  if (what === "ACCOUNT_RESTRICTED") return "traderId" in command && ledger.restricted.has(command.traderId);
  if (command.type === "requestWithdrawal")
    return what === "INSUFFICIENT_FUNDS" && ledger.balance(`wallet:${command.traderId}`) < command.amountMicro;
  if (command.type === "decideWithdrawal") {
    const status = ledger.withdrawals.get(command.id)?.status;
    if (what === "NOT_FOUND") return status === undefined;
    return what === "WITHDRAWAL_DECIDED" && status === (command.approve ? "rejected" : "approved");
  }
  if (command.type === "restrictUser") return what === "NOT_FOUND" && !ledger.known.has(command.traderId);
  if (!("marketId" in command)) return what === "TREASURY_INSUFFICIENT" && command.type === "createMarket";
  const book = ledger.books.get(command.marketId);
  if (what === "MARKET_NOT_FOUND") return book === undefined;
  if (book === undefined) return false;
  if (what === "MARKET_SETTLED") return book.status === "settled";
  if (what === "MARKET_CLOSED") return answeredAt >= book.closeAt && book.status !== "settled";
  if (what === "MARKET_SUSPENDED") return book.status === "suspended";
  if (what === "KYC_REQUIRED") return "traderId" in command && ledger.kyc.get(command.traderId)?.state !== "verified";
  if (command.type === "sellShares") {
    const held = ledger.positions.get(`${command.traderId} ${command.side} ${command.marketId}`)?.shares ?? 0n;
    if (what === "INSUFFICIENT_SHARES") return held < command.sharesMicro;
    return held >= command.sharesMicro && (what === "PRICE_BOUND" || what === "AMOUNT_TOO_SMALL");
  }
  if (command.type === "clarifyMarket") return what === "LIMIT_REACHED" && book.texts.length >= 20;
  if (command.type !== "placeTrade") return false;
  const { traderId, amountMicro } = command;
  switch (what) {
    case "MAX_TRADE_EXCEEDED":
      return amountMicro > ledger.limits.maxTrade;
    case "EXPOSURE_EXCEEDED":
      return ledger.exposure(traderId) + amountMicro > ledger.limits.maxExposure;
    case "INSUFFICIENT_FUNDS":
      return ledger.balance(`wallet:${traderId}`) < amountMicro;
    case "AMOUNT_TOO_SMALL":
      return amountMicro === 1n;
    case "COST_EXCEEDS_PAYOUT":
      // The fee is below one per cent, so only next to the highest price or for a few micro-dollars.
      return amountMicro < 1000n || priceAfter(book, command.side, Number(amountMicro)) > 0.99;
    case "PRICE_BOUND":
      return book.kind !== "cpmm" || priceAfter(book, command.side, Number(amountMicro)) > 0.999 - 1e-6;
    default:
      return false;
  }
}

/** Of the side bought, when no fee is taken: with a fee it would be less. */
function priceAfter({ yes, no }: NaiveBook, side: string, amount: number): number {
  const [own, opposite] = (side === "yes" ? [yes, no] : [no, yes]).map(Number) as [number, number];
  const oppositeAfter = opposite + amount;
  return oppositeAfter / (oppositeAfter + (own * opposite) / oppositeAfter);
}

function nothingToDo({ command, sentAt }: Attempt, ledger: NaiveLedger): boolean {
  switch (command.type) {
    case "closeMarket": {
      const book = ledger.books.get(command.marketId);
      // A process learns of a clock that was set forward with its next statement, whose answer may be slow.
      const early = book !== undefined && sentAt - 2 * LONGEST_CLOCK_STEP_MS - SLOWEST_MS < book.closeAt;
      return early || book?.status === "settled" || book?.closingRecorded === true;
    }
    case "restrictUser":
      return ledger.restricted.has(command.traderId) === command.restricted;
    case "decideWithdrawal":
      return ledger.withdrawals.get(command.id)?.status === (command.approve ? "approved" : "rejected");
    case "suspendMarket":
      return ledger.books.get(command.marketId)?.status === "suspended";
    case "resumeMarket":
      return ledger.books.get(command.marketId)?.status === "open";
    case "keepWebhook":
      return true;
    case "recordDeposit": {
      if (ledger.delivered.has(command.webhook?.sha256 ?? "")) return true;
      const receipt = ledger.receipts.get(`${command.provider} ${command.reference}`);
      return receipt?.amount === command.amountMicro && receipt.user === command.traderId;
    }
    case "recordKyc":
      return (ledger.kyc.get(command.traderId)?.at ?? -1) >= command.verifiedAt;
    case "updatePolicy": {
      const { feeBps, maxTradeUsd } = command.patch;
      return ledger.limits.feeBps === feeBps && ledger.limits.maxTrade === BigInt(maxTradeUsd ?? 0) * 1_000_000n;
    }
    default:
      return false;
  }
}
