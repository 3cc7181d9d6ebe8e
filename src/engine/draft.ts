import { mayBeNegative } from "../domain/accounts.ts";
import type { Json } from "../domain/audit/audit-link.ts";
import type { AuditPayloads, AuditType } from "../domain/audit/audit-payloads.ts";
import { Fault, invariant } from "../domain/fault.ts";
import type { HedgeRef } from "../domain/market/hedge.ts";
import type { Side } from "../domain/market/market.ts";
import type { DaySums, HourSums } from "../domain/market/running-sums.ts";
import { decimalFromMicro } from "../domain/money.ts";
import { type RowWrite, RowWrites } from "./row-map.ts";
import type { Account, Table, Tables } from "./rows.ts";

export type { RowWrite };

/** The state that a command reads: rows by table and key, as committed or as earlier commands of the batch left them. */
export interface Reader {
  get<T extends Table>(table: T, key: string): Tables[T] | undefined;
}

/** One row of the ledger: `amountMicro` moves from the debited to the credited account. */
export interface Transfer {
  debit: string;
  credit: string;
  amountMicro: bigint;
}

/** A transfer, and the index of the command's audit entry that explains it. */
interface DraftTransfer extends Transfer {
  entry: number;
}

export interface Trade {
  id: string;
  marketId: string;
  traderId: string;
  side: Side;
  amountMicro: bigint;
  feeMicro: bigint;
  sharesMicro: bigint;
  /** What the sold shares had cost; null for bought shares. */
  releasedMicro: bigint | null;
  hedgeRef: HedgeRef | null;
  /** The YES price after the trade, in millionths. */
  yesPricePpm: number;
  /** The time of the trade's audit entry. */
  ts: number;
  /** The hour that this trade completes; its sums go to the tables of hours and days. */
  hourOver: MarketHour | null;
  dayOver: TraderDay | null;
}

export interface MarketHour extends HourSums {
  marketId: string;
}

/** The sums of one side of the market. */
export interface TraderDay extends DaySums {
  traderId: string;
  marketId: string;
}

/** Everything that one command writes; discarded if the command is refused. */
export class Draft implements Reader {
  readonly transfers: DraftTransfer[] = [];
  readonly trades: Trade[] = [];
  readonly audit: { type: AuditType; payload: { [key: string]: Json | undefined } }[] = [];
  /** The commit must happen before this instant of the database's clock: the closing time of the traded market. */
  before: number | null = null;
  /** The time of the audit entries, milliseconds since the epoch. It never moves back from one command to the next. */
  readonly ts: number;
  readonly #below: Reader;
  readonly #writes = new RowWrites();

  constructor(below: Reader, ts: number) {
    this.#below = below;
    this.ts = ts;
  }

  get<T extends Table>(table: T, key: string): Tables[T] | undefined {
    const write = this.#writes.get(table, key);
    return write ? (write.row as Tables[T]) : this.#below.get(table, key);
  }

  put<T extends Table>(table: T, key: string, row: Tables[T]): void {
    this.adopt({ table, key, row } as RowWrite);
  }

  adopt(write: RowWrite): void {
    this.#writes.set(write);
  }

  writes(): readonly RowWrite[] {
    return this.#writes.list;
  }

  /**
   * Moves money between two accounts. The next recorded entry explains the move.
   * @throws Fault made by `shortfall`, if the debited account does not hold the amount and may not be negative
   */
  transfer(debit: string, credit: string, amountMicro: bigint, shortfall = insufficientFunds): void {
    invariant(amountMicro >= 0n && debit !== credit, "a transfer moves 0 or more between two accounts");
    if (amountMicro === 0n) return;
    const from = this.account(debit);
    if (from.balanceMicro < amountMicro && !mayBeNegative(debit)) throw shortfall(from.balanceMicro, amountMicro);
    const to = this.account(credit);
    this.put("account", debit, { ...from, balanceMicro: from.balanceMicro - amountMicro });
    this.put("account", credit, { ...to, balanceMicro: to.balanceMicro + amountMicro });
    this.transfers.push({ debit, credit, amountMicro, entry: this.audit.length });
  }

  /** Takes over everything of a draft that was made upon this one. */
  absorb(upon: Draft): void {
    for (const write of upon.writes()) this.adopt(write);
    for (const transfer of upon.transfers)
      this.transfers.push({ ...transfer, entry: transfer.entry + this.audit.length });
    this.audit.push(...upon.audit);
    if (upon.before !== null) this.before = upon.before;
  }

  account(id: string): Account {
    return this.get("account", id) ?? { id, balanceMicro: 0n, version: 0 };
  }

  record<T extends AuditType>(type: T, payload: AuditPayloads[T]): void {
    this.audit.push({ type, payload });
  }
}

/** The error, with the account's balance and the requested amount. */
export function insufficientFunds(balanceMicro: bigint, amountMicro: bigint): Fault {
  return new Fault("INSUFFICIENT_FUNDS", "Not enough funds", {
    detail: { limit: decimalFromMicro(balanceMicro), value: decimalFromMicro(amountMicro) },
  });
}
