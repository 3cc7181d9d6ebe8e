import type { PlanApproval, Proposal } from "../engine/approvals/rows.ts";
import { textArray } from "../postgres/arrays.ts";
import type { ReadSql } from "../postgres/connect.ts";
import { TABLES } from "./tables.ts";

/** The proposals that wait, by their subjects. */
export async function loadWaiting(sql: ReadSql, subjects: string[]): Promise<Map<string, Proposal>> {
  const rows = await sql`
    select ${sql.unsafe(TABLES.proposal.selected())}
      from proposal
     where status = 'pending' and subject = any(${textArray(subjects)}::text[])`;
  return new Map(rows.map((stored) => TABLES.proposal.decode(stored)).map((row) => [row.subject, row]));
}

/** Whether users hold shares of markets, settled or not. A key is the market's id, a newline and the user's. */
export async function loadStakes(sql: ReadSql, keys: string[]): Promise<Map<string, { isHeld: boolean }>> {
  const [markets, traders] = [
    keys.map((key) => key.split("\n", 1)[0] ?? ""),
    keys.map((key) => key.slice(key.indexOf("\n") + 1)),
  ];
  const rows = await sql<{ key: string }[]>`
    select distinct wanted.market_id || chr(10) || wanted.trader_id as key
      from unnest(${textArray(markets)}::text[], ${textArray(traders)}::text[]) as wanted (market_id, trader_id)
      join position p on p.trader_id = wanted.trader_id and p.market_id = wanted.market_id and p.shares_micro > 0`;
  return new Map(rows.map(({ key }) => [key, { isHeld: true }]));
}

/** Who approved each apply. */
export async function loadPlanApprovals(sql: ReadSql, hashes: string[]): Promise<Map<string, readonly PlanApproval[]>> {
  const rows = await sql`
    select ${sql.unsafe(TABLES.planApproval.selected())}
      from plan_approval
     where sha256 = any(${textArray(hashes)}::text[])
     order by at, actor`;
  const approvals = rows.map((stored) => TABLES.planApproval.decode(stored));
  return new Map(hashes.map((hash) => [hash, approvals.filter(({ sha256 }) => sha256 === hash)]));
}
