import { usdFromMicro } from "../../domain/money.ts";

/** Every check of the ledger with the unit of its differences: an amount, or rows that each count as a dollar. */
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

/** One check: what it compares, and its difference in micro-units, which is zero when it holds. */
export interface Check {
  name: string;
  differenceMicro: bigint;
  /** How many rows disagree. */
  rows: number;
}

/** A check with what it compared, and the places that disagree. */
export interface ExplainedCheck extends Check {
  /** The sum of the checked rows, and the expected sum. */
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
  /** For values other than amounts: the table's and the audit log's value as text; null for no row, or no entry. */
  held: string | null;
  said: string | null;
}

/** A value of a table, or a sum of a journal, that differs from the log. */
export interface Difference {
  check: CheckName;
  /** The table; `audit` for an entry that the engine would not have written. */
  what: string;
  /** The row: a market, a user, a user with a market and a side, an account, a key's name, or an entry. */
  id: string;
  field: string;
  /** The value from the log, and the table's value; null for no row, or no stated value. */
  log: string | number | null;
  table: string | number | null;
  /** Both values, for an amount in micro-units. */
  micro?: { log: bigint; table: bigint } | undefined;
}

/** A difference of values other than amounts counts as a dollar. */
const DOLLAR = 1_000_000n;
/** The most places of a check that are named, so that cheap forgeries do not hide an expensive one. */
export const FIRST_PLACES = 100;
/** The most differences that `replay` keeps; a ledger with more is no less wrong. */
const MOST_DIFFERENCES = 10_000;

/** The sum of all differences, over all checks. */
export const discrepancyOf = (checks: readonly Check[]): bigint =>
  checks.reduce((sum, { differenceMicro }) => sum + differenceMicro, 0n);

/** Whether a check counts rows instead of money. */
export const isCount = (name: string): boolean => UNITS[name as CheckName] === "count";

/** Every check, as in a ledger without differences. */
export const NOTHING_OFF: readonly Check[] = NAMES.map((name) => ({ name, differenceMicro: 0n, rows: 0 }));

/** Collects the results of a comparison. Each check sums absolute differences, so two errors cannot cancel out. */
export class Comparison {
  readonly differences: Difference[] = [];
  readonly #checks = new Map<CheckName, ExplainedCheck>();
  /** Rows that disagree, by check; a row with several wrong fields counts once. */
  readonly #places = new Map<string, Place>();

  /** Adds to the sum of a check's rows, and to the expected sum. */
  sum(check: CheckName, statedMicro: bigint, expectedMicro: bigint): void {
    const sums = this.#check(check);
    sums.statedMicro += statedMicro;
    sums.expectedMicro += expectedMicro;
  }

  /** Adds a sum that the database itself computed for a check. */
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

  /** Adds a place, or adds to it; values other than amounts count once for each row. */
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

  /** All checks; a check without rows holds too. */
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
