import { usdFromMicro } from "../../domain/money.ts";

/** Every check of the ledger, with what a difference in it is counted in: an amount, or rows, each as much as a dollar. */
const UNITS = {
  accounts: "usd",
  configuration: "count",
  decisions: "count",
  escrow: "usd",
  fundingDays: "usd",
  head: "count",
  hedges: "count",
  hours: "usd",
  keys: "count",
  kyc: "count",
  markets: "count",
  policy: "count",
  pools: "usd",
  positions: "usd",
  record: "count",
  restrictions: "count",
  settlements: "count",
  suitability: "count",
  traderDays: "usd",
  trades: "usd",
  transfers: "usd",
  users: "count",
  volume: "usd",
  withdrawals: "usd",
} as const;

export type CheckName = keyof typeof UNITS;
const NAMES = Object.keys(UNITS) as CheckName[];

/** One check: what it compares, and by how much it is off in micro-units. Zero when it holds. */
export interface Check {
  name: string;
  differenceMicro: bigint;
  /** How many rows disagree. */
  rows: number;
}

/** A check with what it compared, and where it is off. */
export interface ExplainedCheck extends Check {
  /** What the rows under test add up to, and what they should. */
  statedMicro: bigint;
  expectedMicro: bigint;
  /** The first places that disagree. */
  places: Place[];
}

/** One row that disagrees. */
export interface Place {
  place: string;
  statedMicro: bigint;
  expectedMicro: bigint;
  differenceMicro: bigint;
  /** Of what is no amount: what the table holds and what the audit log says, in words; null for no row, or no entry. */
  held: string | null;
  said: string | null;
}

/** One value of a table, or of what a journal adds up to, that is not what the log leaves. */
export interface Difference {
  check: CheckName;
  /** The table; `audit` for an entry that the engine would not have written. */
  what: string;
  /** The row: a market, a user, a user with a market and a side, an account, a key's name, an entry. */
  id: string;
  field: string;
  /** What follows from the log, and what the table holds; null for no row, or nothing stated. */
  log: string | number | null;
  table: string | number | null;
  /** Both, of an amount in micro-units. */
  micro?: { log: bigint; table: bigint } | undefined;
}

/** A difference of what is no amount counts as much as a dollar. */
const DOLLAR = 1_000_000n;
/** So many places of a check are told by name: cheap forgeries do not hide a dear one. */
export const FIRST_PLACES = 100;
/** So many differences are kept for `replay`; a ledger with more is as wrong. */
const MOST_DIFFERENCES = 10_000;

/** The sum of what is off, whatever the check. */
export const discrepancyOf = (checks: readonly Check[]): bigint =>
  checks.reduce((sum, { differenceMicro }) => sum + differenceMicro, 0n);

/** Whether a check counts rows instead of money. */
export const isCount = (name: string): boolean => UNITS[name as CheckName] === "count";

/** Every check, as one finds them of a ledger that adds up. */
export const NOTHING_OFF: readonly Check[] = NAMES.map((name) => ({ name, differenceMicro: 0n, rows: 0 }));

/** Collects what a comparison finds. Each check sums absolute differences, so two errors cannot cancel out. */
export class Comparison {
  readonly differences: Difference[] = [];
  readonly #checks = new Map<CheckName, ExplainedCheck>();
  /** Rows that disagree, by check: a row of several fields is one. */
  readonly #places = new Map<string, Place>();

  /** Adds to what a check's rows add up to, and what they should. */
  sum(check: CheckName, statedMicro: bigint, expectedMicro: bigint): void {
    const sums = this.#check(check);
    sums.statedMicro += statedMicro;
    sums.expectedMicro += expectedMicro;
  }

  /** Adds what the database itself has added up of a check. */
  summed(name: CheckName, found: Omit<ExplainedCheck, "name">): void {
    const check = this.#check(name);
    check.statedMicro += found.statedMicro;
    check.expectedMicro += found.expectedMicro;
    check.differenceMicro += found.differenceMicro;
    check.rows += found.rows;
    check.places.push(...found.places.slice(0, FIRST_PLACES - check.places.length));
    for (const { place, statedMicro, expectedMicro } of found.places) {
      const [log, table] = [usdFromMicro(expectedMicro), usdFromMicro(statedMicro)];
      this.differences.push({ check: name, what: name, id: place, field: "sum", log, table });
    }
  }

  differ(difference: Difference): void {
    const { check, id, field, log, table, micro } = difference;
    if (this.differences.length < MOST_DIFFERENCES) this.differences.push(difference);
    if (micro && !isCount(check)) {
      const off = micro.log - micro.table;
      const sums = { statedMicro: micro.table, expectedMicro: micro.log, differenceMicro: off < 0n ? -off : off };
      this.place(check, id, { ...sums, held: null, said: null });
      return;
    }
    const words = (value: Difference["log"]) =>
      value === null ? null : field === id ? String(value) : `${field} ${value}`;
    const rows = (value: Difference["log"]) => (value === null ? 0n : DOLLAR);
    const sums = { statedMicro: rows(table), expectedMicro: rows(log), differenceMicro: DOLLAR };
    this.place(check, id, { ...sums, held: words(table), said: words(log) });
  }

  /** Adds a place, or to a place: what is no amount counts once for each row. */
  place(name: CheckName, place: string, found: Omit<Place, "place">): void {
    const check = this.#check(name);
    const key = `${name}\n${place}`;
    const known = this.#places.get(key);
    if (!known) {
      const first = { place, ...found };
      this.#places.set(key, first);
      check.rows += 1;
      check.differenceMicro += found.differenceMicro;
      if (check.places.length < FIRST_PLACES) check.places.push(first);
      return;
    }
    known.held = joined(known.held, found.held);
    known.said = joined(known.said, found.said);
    if (isCount(name)) return;
    known.statedMicro += found.statedMicro;
    known.expectedMicro += found.expectedMicro;
    known.differenceMicro += found.differenceMicro;
    check.differenceMicro += found.differenceMicro;
  }

  /** All checks; one that had no rows to look at holds too. */
  get checks(): ExplainedCheck[] {
    return NAMES.map((name) => this.#check(name));
  }

  #check(name: CheckName): ExplainedCheck {
    const known = this.#checks.get(name);
    if (known) return known;
    const check = { name, differenceMicro: 0n, rows: 0, statedMicro: 0n, expectedMicro: 0n, places: [] };
    this.#checks.set(name, check);
    return check;
  }
}

function joined(one: string | null, other: string | null): string | null {
  return one === null || other === null ? (one ?? other) : `${one}, ${other}`;
}
