/**
 * One program that recomputes a tenant's log: `take` the entries in order, then look at `findings` (what the engine would
 * not have decided) and `rows` (what the tables must hold: `queries/reconcile/compare.ts` does that). It reads nothing but
 * what it is given, so a process keeps one in memory and goes on from where it stands:
 *
 *     const recomputation = new Recomputation();
 *     recomputation.take(pageOfSealedLines);        // entries whose seals were verified, from `recomputation.end` on
 *     recomputation.findings;                       // of all entries taken so far
 */

import { createHash, type Hash } from "node:crypto";
import { TREASURY } from "../domain/accounts.ts";
import type { ChainPoint } from "../domain/audit/audit-link.ts";
import type { AuditPayloads, AuditType } from "../domain/audit/audit-payloads.ts";
import { GENESIS, type SealedLines } from "../domain/audit/chain-walk.ts";
import { isMapping } from "../domain/json/mapping.ts";
import { decimalFromMicro, microFromDecimal } from "../domain/money.ts";
import { applyCapital, applyEntry } from "./fold.ts";
import { type LoggedEntry, LoggedRows, loggedEntry } from "./logged-rows.ts";
import { type Problem, recompute } from "./recompute.ts";

/** An entry that states what the engine would not have decided. */
export interface Finding extends Problem {
  seq: bigint;
  type: string;
}

/** One sentence for people. */
export const describeFinding = ({ about, what, recorded, recomputed }: Problem): string =>
  `${about}: ${what} is ${recorded} on record, and should be ${recomputed}`;

/** So many findings are kept; a log with more is as wrong. */
const MOST_FINDINGS = 1000;

/** Trades are compared with their entries by a digest of all whose numbers lie in a range of this length. */
export const TRADES_PER_DIGEST = 1000n;

/** What an apply records before its own entry, which states the capital that funds its markets. */
export const OF_APPLY: ReadonlySet<string> = new Set<AuditType>([
  ...(["key.created", "key.revoked", "market.created", "market.suspended", "market.resumed"] as const),
  ...(["market.imported", "market.moved"] as const),
]);

/** A log recomputed up to an entry. */
export class Recomputation {
  /** What the entries taken leave in the tables. */
  readonly rows = new LoggedRows();
  /** When the last entry was written, milliseconds since 1970. */
  at = 0;
  #findings: Finding[] = [];
  #end: ChainPoint = GENESIS;
  /** The digests of complete ranges of trades, and below the range in progress. */
  readonly #trades = new Map<bigint, string>();
  #running: { range: bigint; hash: Hash } | undefined;
  /** Provider payments: who was credited with what, and what was taken back. */
  readonly #payments = new Map<string, { userId: string; creditedMicro: bigint; takenBackMicro: bigint }>();
  /** The ids of credits and debits by operators. */
  readonly #byHand = new Set<string>();
  /** A market that the treasury could not fund, until the apply it belongs to has stated its capital. */
  #unfunded: (Finding & { ts: number }) | undefined;
  /** The state that the last settlement found, for the evidence that follows it. */
  #settled: { marketId: string; status: string } | undefined;

  /** The last entry taken. */
  get end(): ChainPoint {
    return this.#end;
  }

  /** What the engine would not have decided, in the order of the log, but for what an operator has accepted since. */
  get findings(): readonly Finding[] {
    return this.#unfunded ? [...this.#findings, this.#unfunded] : this.#findings;
  }

  /** @param entries whose seals hold, from the one after `end` on */
  take(entries: readonly SealedLines[]): void {
    for (const { lines, hash } of entries) {
      const seq = this.#end.seq + 1n;
      const { type, ts, payloadText } = partsOf(lines);
      const entry = loggedEntry({ type, ts, payload: parsed(payloadText) });
      if (entry) this.#takeEntry(seq, entry);
      else this.#find({ seq, type }, { about: type, what: "payload", recorded: payloadText, recomputed: "an object" });
      this.#end = { seq, hash };
    }
  }

  /** Of entries after the last one wanted: the capital that their apply has moved before all else that it did. */
  takeCapital(entries: readonly SealedLines[]): void {
    for (const { lines } of entries) {
      const { type, ts, payloadText } = partsOf(lines);
      const entry = loggedEntry({ type, ts, payload: parsed(payloadText) });
      if (entry?.type === "config.applied") applyCapital(this.rows, entry.payload);
      if (this.rows.balance(TREASURY) >= 0n) this.#unfunded = undefined;
    }
  }

  /** The digests of the lines of trades (see `tradeLine`), by range of their numbers. */
  tradeDigests(): ReadonlyMap<bigint, string> {
    if (!this.#running) return this.#trades;
    return new Map([...this.#trades, [this.#running.range, this.#running.hash.copy().digest("hex")]]);
  }

  #takeEntry(seq: bigint, entry: LoggedEntry): void {
    const { type } = entry;
    const place = { seq, type };
    for (const problem of recompute(this.rows, entry)) this.#find(place, problem);
    this.#followCommit(place, entry);
    this.#followPayments(place, entry);
    this.#followMoves(place, entry);
    if (type === "market.settled") {
      const { marketId } = entry.payload;
      this.#settled = { marketId, status: this.rows.get("marketState", marketId)?.status ?? "" };
    }
    if (type === "finding.accepted")
      this.#findings = this.#findings.filter((finding) => finding.seq !== BigInt(entry.payload.seq));
    applyEntry(this.rows, entry);
    this.at = entry.ts;
    if (type === "trade.executed") this.#digest(seq, tradeLine(seq, entry));
    if (type === "market.created" && this.rows.balance(TREASURY) < 0n) {
      const owed = decimalFromMicro(-this.rows.balance(TREASURY));
      const what = { about: entry.payload.marketId, what: "funds", recorded: entry.payload.liquidity };
      this.#unfunded ??= { ...place, ...what, recomputed: `the treasury lacks ${owed}`, ts: entry.ts };
    }
  }

  /** What the entries of one commit say together. */
  #followCommit(place: Pick<Finding, "seq" | "type">, { type, payload, ts }: LoggedEntry): void {
    const unfunded = this.#unfunded;
    if (unfunded && (unfunded.ts !== ts || !OF_APPLY.has(type))) {
      this.#unfunded = undefined;
      const added = type === "config.applied" && unfunded.ts === ts ? microFromDecimal(payload.capitalAdded) : 0n;
      const { ts: _, ...finding } = unfunded;
      if (this.rows.balance(TREASURY) + added < 0n) this.#findings.push(finding);
    }
    if (type !== "oracle.resolved") return;
    const settled = this.#settled?.marketId === payload.marketId ? this.#settled.status : "not settled with it";
    if (settled !== "open")
      this.#find(place, { about: payload.marketId, what: "resolved", recorded: "open", recomputed: settled });
  }

  /** What an operator moves has an id of its own, which is the same where one request was made twice. */
  #followMoves(place: Pick<Finding, "seq" | "type">, { type, payload }: LoggedEntry): void {
    const id = type === "wallet.credited" ? payload.creditId : type === "wallet.debited" ? payload.debitId : undefined;
    if (id === undefined) return;
    const problem = { about: id, what: "moved by an operator", recorded: "once", recomputed: "before" };
    if (this.#byHand.has(id)) this.#find(place, problem);
    this.#byHand.add(id);
  }

  /** A payment is credited once and to one user, and no more is taken back than was credited. */
  #followPayments(place: Pick<Finding, "seq" | "type">, { type, payload }: LoggedEntry): void {
    if ((type !== "wallet.credited" && type !== "wallet.debited") || payload.txRef === undefined) return;
    const { userId, provider, txRef, cause } = payload;
    const key = `${provider}\n${txRef}`;
    const known = this.#payments.get(key);
    const amountMicro = microFromDecimal(payload.amount);
    const payment = known ?? { userId, creditedMicro: 0n, takenBackMicro: 0n };
    const about = `${provider} ${txRef}`;
    if (payment.userId !== userId)
      this.#find(place, { about, what: "user", recorded: userId, recomputed: payment.userId });
    if (type === "wallet.credited" && cause === undefined) {
      if (known)
        this.#find(place, { about, what: "credited", recorded: payload.amount, recomputed: "credited before" });
      payment.creditedMicro += amountMicro;
    } else payment.takenBackMicro += type === "wallet.debited" ? amountMicro : -amountMicro;
    if (payment.takenBackMicro < 0n || payment.takenBackMicro > payment.creditedMicro)
      this.#find(place, {
        ...{ about, what: "taken back", recorded: decimalFromMicro(payment.takenBackMicro) },
        recomputed: `at most ${decimalFromMicro(payment.creditedMicro)}`,
      });
    if (!known) this.#payments.set(key, payment);
  }

  #find(place: Pick<Finding, "seq" | "type">, problem: Problem): void {
    if (this.#findings.length < MOST_FINDINGS) this.#findings.push({ ...place, ...problem });
  }

  #digest(seq: bigint, line: string): void {
    const range = seq / TRADES_PER_DIGEST;
    if (this.#running?.range === range) this.#running.hash.update(`\n${line}`);
    else {
      if (this.#running) this.#trades.set(this.#running.range, this.#running.hash.digest("hex"));
      this.#running = { range, hash: createHash("sha256").update(line) };
    }
  }
}

/** A text that is not a JSON object gives an empty one. */
function parsed(payloadText: string): object {
  try {
    const payload: unknown = JSON.parse(payloadText);
    return isMapping(payload) ? payload : {};
  } catch {
    return {};
  }
}

/** The lines of `auditLines`, taken apart without an array for each: the payload is the last, and has none itself. */
function partsOf(lines: string): { ts: string; type: string; payloadText: string } {
  const seqAt = lines.indexOf("\n") + 1;
  const tsAt = lines.indexOf("\n", seqAt) + 1;
  const typeAt = lines.indexOf("\n", tsAt) + 1;
  const actorAt = lines.indexOf("\n", typeAt) + 1;
  const payloadAt = lines.indexOf("\n", actorAt) + 1;
  const [ts, type] = [lines.slice(tsAt, typeAt - 1), lines.slice(typeAt, actorAt - 1)];
  return { ts, type, payloadText: lines.slice(payloadAt) };
}

/** The row of a trade and its tag in one line, as `queries/reconcile/trades.ts` writes it of the tables. */
export function tradeLine(
  seq: bigint,
  { payload, ts }: { payload: AuditPayloads["trade.executed"]; ts: number },
): string {
  const { tradeId, marketId, userId, side, action, hedgeRef: tag } = payload;
  const isSale = action === "sell";
  const shares = microFromDecimal(payload.shares);
  const released = isSale ? String(microFromDecimal(payload.cost ?? "0")) : "";
  const ppm = Math.round(Number(payload.yesPriceAfter) * 1e6);
  const [amount, fee] = [microFromDecimal(payload.amount), microFromDecimal(payload.fee)];
  const of = `${seq}\t${tradeId}\t${marketId}\t${userId}\t${side}\t${amount}\t${fee}`;
  const row = `${of}\t${isSale ? -shares : shares}\t${released}\t${ppm}\t${ts}`;
  return tag === undefined ? row : `${row}\t${tag.symbol}\t${tag.direction}\t${tag.notional}\t${tag.externalRef}`;
}
