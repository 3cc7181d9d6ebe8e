/**
 * Recomputes a tenant's log: `take` the entries in order, then read `findings` (entries that the engine would not have
 * decided) and `rows` (what the tables must contain, see `queries/reconcile/compare.ts`). It reads only its arguments,
 * so a process can keep one in memory and continue from its end:
 *
 *     const recomputation = new Recomputation();
 *     recomputation.take(pageOfSealedLines);        // entries whose seals were verified, from `recomputation.end` on
 *     recomputation.findings;                       // of all entries taken so far
 */

import { createHash } from "node:crypto";
import { TREASURY } from "../domain/accounts.ts";
import type { ChainPoint } from "../domain/audit/audit-link.ts";
import type { AuditPayloads, AuditType } from "../domain/audit/audit-payloads.ts";
import { GENESIS, type SealedLines } from "../domain/audit/chain-walk.ts";
import { decimalFromMicro, microFromDecimal } from "../domain/money.ts";
import { applyEntry } from "./fold.ts";
import { applyCapital } from "./fold-configuration.ts";
import { type LoggedEntry, LoggedRows, loggedEntry, parsed, partsOf, type RowsPart } from "./logged-rows.ts";
import type { Problem } from "./problem.ts";
import { recompute } from "./recompute.ts";
import { executedCredit, type OperatorCredit, unexecutedCredit } from "./recompute-approvals.ts";

/** An entry with content that the engine would not have decided. */
export interface Finding extends Problem {
  seq: bigint;
  type: string;
}

/** One sentence for people. */
export const describeFinding = ({ about, what, recorded, recomputed }: Problem): string =>
  `${about}: ${what} is ${recorded} on record, and should be ${recomputed}`;

/** The most findings that are kept; a log with more is equally wrong. */
const MOST_FINDINGS = 1000;

/** Trades are compared with their entries by one digest for each range of this many numbers. */
export const TRADES_PER_DIGEST = 1000n;

/** The types that an apply records before its own entry, which states the capital for its markets. */
export const OF_APPLY: ReadonlySet<string> = new Set<AuditType>([
  ...(["key.created", "key.revoked", "market.created", "market.suspended", "market.resumed"] as const),
  ...(["market.imported", "market.moved"] as const),
]);

/** A payment of a provider: the credited user and amount, and the amount taken back. */
interface Payment {
  userId: string;
  creditedMicro: bigint;
  takenBackMicro: bigint;
}

/** A piece of a recomputation that contains no objects with methods, so it can be written and read again. */
export type RecomputationPart =
  | RowsPart
  | readonly [kind: "payment", key: string, payment: Payment]
  | readonly [kind: "byHand", id: string]
  | readonly [kind: "digest", range: bigint, digest: string]
  | readonly [kind: "place", place: Place];

/** The fields of a recomputation that do not grow with its tenant. */
interface Place {
  at: number;
  end: ChainPoint;
  findings: Finding[];
  running: { range: bigint; lines: string[] } | undefined;
  unfunded: (Finding & { ts: number }) | undefined;
  settled: { marketId: string; status: string } | undefined;
  credited: (Pick<Finding, "seq" | "type"> & { credit: OperatorCredit; at: number }) | undefined;
}

/** A log recomputed up to an entry. */
export class Recomputation {
  /** The tables' contents after the entries. */
  readonly rows = new LoggedRows();
  /** The time of the last entry, milliseconds since the epoch. */
  at = 0;
  #findings: Finding[] = [];
  #end: ChainPoint = GENESIS;
  /** The digests of complete ranges of trades, and below them the current range. */
  readonly #trades = new Map<bigint, string>();
  #running: Place["running"];
  readonly #payments = new Map<string, Payment>();
  /** The ids of credits and debits by operators. */
  readonly #byHand = new Set<string>();
  /** A market that the treasury could not fund, until its apply has stated its capital. */
  #unfunded: Place["unfunded"];
  /** The state found by the last settlement, for the evidence that follows it. */
  #settled: Place["settled"];
  /** The credit by an operator that the last entry is; undefined for another entry. */
  #credited: Place["credited"];

  /** The last entry taken. */
  get end(): ChainPoint {
    return this.#end;
  }

  /** The findings in the order of the log, without those that an operator has accepted since. */
  get findings(): readonly Finding[] {
    return this.#unfunded ? [...this.#findings, this.#unfunded] : this.#findings;
  }

  /** @param entries entries with verified seals, from the one after `end` on */
  take(entries: readonly SealedLines[]): void {
    for (const { lines, hash } of entries) {
      const seq = this.#end.seq + 1n;
      const { type, ts, actor, payloadText } = partsOf(lines);
      const entry = loggedEntry({ type, ts, actor, payload: parsed(payloadText) });
      if (entry) this.#takeEntry(seq, entry);
      else this.#find({ seq, type }, { about: type, what: "payload", recorded: payloadText, recomputed: "an object" });
      this.#end = { seq, hash };
    }
  }

  /** Takes, from entries after the last wanted one, the capital that their apply moved before its other effects. */
  takeCapital(entries: readonly SealedLines[]): void {
    for (const { lines } of entries) {
      const { type, ts, actor, payloadText } = partsOf(lines);
      const entry = loggedEntry({ type, ts, actor, payload: parsed(payloadText) });
      if (entry?.type === "config.applied") applyCapital(this.rows, entry.payload);
      if (this.rows.balance(TREASURY) >= 0n) this.#unfunded = undefined;
    }
  }

  /** The digests of the lines of trades (see `tradeLine`), by range of their numbers. */
  tradeDigests(): ReadonlyMap<bigint, string> {
    if (!this.#running) return this.#trades;
    return new Map([...this.#trades, [this.#running.range, digestOf(this.#running.lines)]]);
  }

  #takeEntry(seq: bigint, entry: LoggedEntry): void {
    const { type } = entry;
    const place = { seq, type };
    for (const problem of recompute(this.rows, entry)) this.#find(place, problem);
    this.#followCommit(place, entry);
    this.#followPayments(place, entry);
    this.#followMoves(place, entry);
    this.#followCredits(place, entry);
    if (type === "market.settled" || type === "market.voided") {
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

  /** Checks the entries of one commit together. */
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

  /** An operator's move has its own id, which is the same if a request was repeated. */
  #followMoves(place: Pick<Finding, "seq" | "type">, { type, payload }: LoggedEntry): void {
    const id = type === "wallet.credited" ? payload.creditId : type === "wallet.debited" ? payload.debitId : undefined;
    if (id === undefined) return;
    const problem = { about: id, what: "moved by an operator", recorded: "once", recomputed: "before" };
    if (this.#byHand.has(id)) this.#find(place, problem);
    this.#byHand.add(id);
  }

  /** One commit has a credit for which others are needed, and after it the execution of its proposal. */
  #followCredits(place: Pick<Finding, "seq" | "type">, { type, payload, at }: LoggedEntry): void {
    const last = this.#credited;
    this.#credited = undefined;
    if (type === "proposal.executed" && payload.kind === "credit") {
      const credit = last?.at === at ? last.credit : undefined;
      for (const problem of executedCredit(this.rows, payload.proposalId, credit)) this.#find(place, problem);
    } else if (last) {
      const { credit, at: creditedAt, ...of } = last;
      for (const problem of unexecutedCredit(this.rows, credit, creditedAt)) this.#find(of, problem);
    }
    if (type === "wallet.credited" && payload.creditId !== undefined)
      this.#credited = { ...place, credit: payload, at };
  }

  /** A payment is credited once to one user, and at most the credited amount is taken back. */
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
    if (this.#running?.range === range) this.#running.lines.push(line);
    else {
      if (this.#running) this.#trades.set(this.#running.range, digestOf(this.#running.lines));
      this.#running = { range, lines: [line] };
    }
  }

  /** All of it in parts, from which `restore` makes an equal one. */
  *parts(): Generator<RecomputationPart> {
    yield* this.rows.parts();
    for (const [key, payment] of this.#payments) yield ["payment", key, payment];
    for (const id of this.#byHand) yield ["byHand", id];
    for (const [range, digest] of this.#trades) yield ["digest", range, digest];
    const [at, end, findings] = [this.at, this.#end, this.#findings];
    yield [
      "place",
      {
        at,
        end,
        findings,
        running: this.#running,
        unfunded: this.#unfunded,
        settled: this.#settled,
        credited: this.#credited,
      },
    ];
  }

  restore(part: RecomputationPart): void {
    switch (part[0]) {
      case "payment":
        this.#payments.set(part[1], part[2]);
        break;
      case "byHand":
        this.#byHand.add(part[1]);
        break;
      case "digest":
        this.#trades.set(part[1], part[2]);
        break;
      case "place": {
        const { at, end, findings, running, unfunded, settled, credited } = part[1];
        this.at = at;
        [this.#end, this.#findings, this.#running] = [end, findings, running];
        [this.#unfunded, this.#settled, this.#credited] = [unfunded, settled, credited];
        break;
      }
      default:
        this.rows.restore(part);
    }
  }
}

function digestOf(lines: readonly string[]): string {
  return createHash("sha256").update(lines.join("\n")).digest("hex");
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
