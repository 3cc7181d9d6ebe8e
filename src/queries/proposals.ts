import type { ProposalKind, ProposalState } from "../domain/policy/proposal.ts";
import type { Proposal } from "../engine/approvals/rows.ts";
import { TABLES } from "../ledger/tables.ts";
import type { ReadSql, Row } from "../postgres/connect.ts";
import { nowMs } from "../postgres/database-time.ts";

export interface ProposalQuery {
  status?: ProposalState | undefined;
  kind?: ProposalKind | undefined;
  marketId?: string | undefined;
  /** The last proposal of the previous page. */
  before?: string | undefined;
  limit: number;
}

const columns = (sql: ReadSql) => sql.unsafe(TABLES.proposal.selected());
const toProposal = (stored: Row): Proposal => TABLES.proposal.decode(stored);

/** Proposals, newest first. */
export async function listProposals(sql: ReadSql, query: ProposalQuery): Promise<Proposal[]> {
  const { status, kind, marketId, before, limit } = query;
  const rows = await sql`
    select ${columns(sql)}
      from proposal
     where true
       ${status === undefined ? sql`` : sql`and status = ${status}`}
       ${kind === undefined ? sql`` : sql`and kind = ${kind}`}
       ${marketId === undefined ? sql`` : sql`and market_id = ${marketId}`}
       ${before === undefined ? sql`` : sql`and id < ${before}`}
     order by id desc
     limit ${limit}`;
  return rows.map(toProposal);
}

export async function findProposal(sql: ReadSql, id: string): Promise<Proposal | undefined> {
  const [row] = await sql`select ${columns(sql)} from proposal where id = ${id}`;
  return row && toProposal(row);
}

/** The last proposal about a market. */
export async function lastProposalOf(sql: ReadSql, marketId: string): Promise<Proposal | undefined> {
  const [last] = await listProposals(sql, { marketId, limit: 1 });
  return last;
}

/** The end of a page of due proposals. */
export type DueMark = Pick<Proposal, "finalAt" | "id">;

/** Proposals that wait for nothing but the sweep, the longest first. */
export async function listDueProposals(
  sql: ReadSql,
  { after, limit }: { after: DueMark | undefined; limit: number },
): Promise<Proposal[]> {
  const rows = await sql`
    select ${columns(sql)}
      from proposal
     where ${isDue(sql)} and final_at <= ${nowMs(sql)}
       ${after ? sql`and (final_at, id) > (${String(after.finalAt)}::bigint, ${after.id})` : sql``}
     order by final_at, id
     limit ${limit}`;
  return rows.map(toProposal);
}

/** Whether a proposal needs nothing but its time. */
export function isDue(sql: ReadSql) {
  return sql`status = 'pending' and kind <> 'key' and objections = 0
       and json_array_length(approvals::json) >= approvals_needed`;
}
