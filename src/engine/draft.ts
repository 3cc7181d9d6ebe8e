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

/** What a command reads: rows by table and key, as committed or as earlier commands of the batch left them. */
export interface Reader {
  get<T extends Table>(table: T, key: string): Tables[T] | undefined;
}

/** One row of the ledger: `amountMicro` moves from the debited to the credited account. */
export interface Transfer {
  debit: string;
  credit: string;
  amountMicro: bigint;
}

/** A transfer, and the index of the audit entry of the command that explains it. */
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
  /** What the shares that were sold had cost; null when they were bought. */
  releasedMicro: bigint | null;
  hedgeRef: HedgeRef | null;
  /** YES price after the trade, millionths. */
  yesPricePpm: number;
  /** The time of its audit entry. */
  ts: number;
  /** What is over with this trade: sums that go to the tables of hours and days. */
  hourOver: MarketHour | null;
  dayOver: TraderDay | null;
}

export interface MarketHour extends HourSums {
  marketId: string;
}

/** Of one side of the market. */
export interface TraderDay extends DaySums {
  traderId: string;
  marketId: string;
}

/** Everything that one command writes; discarded when the command is refused. */
export class Draft implements Reader {
  readonly transfers: DraftTransfer[] = [];
  readonly trades: Trade[] = [];
  readonly audit: { type: AuditType; payload: { [key: string]: Json | undefined } }[] = [];
  /** The commit must come before this instant of the database's clock: the closing time of the market traded. */
  before: number | null = null;
  /** The time of its audit entries, milliseconds since the epoch. It never steps back from one command to the next. */
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
   * Moves money between two accounts. The entry recorded next explains it.
   * @throws Fault with `shortfall` when the debited account, unless it may be negative, does not hold the amount.
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

  account(id: string): Account {
    return this.get("account", id) ?? { id, balanceMicro: 0n, version: 0 };
  }

  record<T extends AuditType>(type: T, payload: AuditPayloads[T]): void {
    this.audit.push({ type, payload });
  }
}

/** The refusal with what the account held and what was asked of it. */
export function insufficientFunds(balanceMicro: bigint, amountMicro: bigint): Fault {
  return new Fault("INSUFFICIENT_FUNDS", "Not enough funds", {
    detail: { limit: decimalFromMicro(balanceMicro), value: decimalFromMicro(amountMicro) },
  });
}
