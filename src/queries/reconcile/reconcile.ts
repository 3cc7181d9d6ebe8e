import type { ReadSql } from "../../postgres/connect.ts";
import { ledgerChecks, standingRows } from "./reconcile-checks.ts";
import { standingChecks } from "./reconcile-standing.ts";

/** One check of the ledger: what it compares, and by how much it is off in micro-units. Zero when it holds. */
export interface Check {
  name: string;
  differenceMicro: bigint;
  /** How many rows disagree. */
  rows: number;
}

/** The sum of what is off, whatever the check. */
export const discrepancyOf = (checks: readonly Check[]): bigint =>
  checks.reduce((sum, { differenceMicro }) => sum + differenceMicro, 0n);

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

const FIRST_PLACES = 5;

/** A check that has no rows to look at holds too. */
const NAMES = [
  ...["accounts", "configuration", "decisions", "escrow", "fundingDays", "head", "hedges", "hours", "keys", "kyc"],
  ...["markets", "policy", "positions", "restrictions", "settlements", "suitability", "traderDays", "trades", "volume"],
  "withdrawals",
];

/** Every check, as one finds them of a ledger that adds up. */
export const NOTHING_OFF: readonly Check[] = NAMES.map((name) => ({ name, differenceMicro: 0n, rows: 0 }));

/** Checks that count rows instead of money: each row adds a dollar to the sum of discrepancies. */
export const COUNTING_CHECKS: ReadonlySet<string> = new Set([
  ...["head", "hedges"],
  ...["configuration", "decisions", "keys", "kyc", "markets", "policy", "restrictions", "settlements", "suitability"],
]);

/**
 * Every check. Each sums absolute differences, so two errors cannot cancel out. What each compares stands with its rows,
 * which `ledgerChecks` and `standingRows` put together.
 * @param sql of a snapshot, unless nothing else writes: all statements see one state of the ledger
 */
export async function reconcileLedger(sql: ReadSql): Promise<Check[]> {
  const summed = (checks: Fragment) => sql<{ name: string; difference: string; rows: string }[]>`
    ${checks}
    select name, trunc(sum(difference))::text as difference, count(*)::text as rows
      from checks
     where difference <> 0
     group by name`;
  const rows = [...(await summed(ledgerChecks(sql, await lastEntry(sql)))), ...(await summed(standingRows(sql)))];
  return NAMES.map((name) => {
    const row = rows.find((each) => each.name === name);
    return { name, differenceMicro: BigInt(row?.difference ?? 0), rows: Number(row?.rows ?? 0) };
  });
}

/** Zero for a log without entries. */
async function lastEntry(sql: ReadSql): Promise<bigint> {
  const [row] = await sql<{ seq: string | null }[]>`select max(seq) as seq from audit`;
  return BigInt(row?.seq ?? 0);
}

/** The checks of what lives beside the chain, alone: they pass over the trades, however many there are. */
export async function reconcileStanding(sql: ReadSql): Promise<{ name: string; place: string }[]> {
  return sql<{ name: string; place: string }[]>`
    with ${standingChecks(sql)}
    select name, place from standing where difference <> 0 order by name, place`;
}

/**
 * The same checks for a person: both sums of each, and the first places that disagree.
 * @param sql as of {@link reconcileLedger}
 */
export async function explainLedger(sql: ReadSql): Promise<ExplainedCheck[]> {
  const explained = (checks: Fragment) => sql<ExplainedRow[]>`
    ${checks},
    ranked as (
      select *, case when difference <> 0 then
                  row_number() over (partition by name, difference <> 0 order by place) end as rank
        from checks
    )
    select name, trunc(sum(difference))::text as difference, count(*) filter (where difference <> 0)::text as rows,
           coalesce(trunc(sum(stated)), 0)::text as stated, coalesce(trunc(sum(expected)), 0)::text as expected,
           coalesce(
             jsonb_agg(jsonb_build_array(place, trunc(stated::numeric)::text, trunc(expected::numeric)::text,
                                         trunc(difference::numeric)::text, held, said)
                       order by rank) filter (where rank <= ${FIRST_PLACES}), '[]')::text as places
      from ranked
     group by name`;
  const rows = [...(await explained(ledgerChecks(sql, await lastEntry(sql)))), ...(await explained(standingRows(sql)))];
  return NAMES.map((name) => {
    const row = rows.find((each) => each.name === name);
    return {
      name,
      differenceMicro: BigInt(row?.difference ?? 0),
      rows: Number(row?.rows ?? 0),
      statedMicro: BigInt(row?.stated ?? 0),
      expectedMicro: BigInt(row?.expected ?? 0),
      places: (JSON.parse(row?.places ?? "[]") as PlaceRow[]).map(
        ([place, stated, expected, difference, held, said]) => ({
          place: place ?? "",
          statedMicro: BigInt(stated ?? 0),
          expectedMicro: BigInt(expected ?? 0),
          differenceMicro: BigInt(difference),
          held,
          said,
        }),
      ),
    };
  });
}

type Fragment = ReturnType<typeof standingRows>;

type PlaceRow = [place: string | null, stated: string | null, expected: string | null, ...PlaceEnd];
type PlaceEnd = [difference: string, held: string | null, said: string | null];

interface ExplainedRow {
  name: string;
  difference: string;
  rows: string;
  stated: string;
  expected: string;
  places: string;
}
