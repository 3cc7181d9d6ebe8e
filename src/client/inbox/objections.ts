import type { Api, WireResult } from "../../contract/operations.ts";

/** Who objects to a proposal, and why, the first first. The texts are in the log alone. */
export async function objectionsTo(
  { proposalId, marketId, objections, proposedAt: since }: WireResult<"getProposal">,
  api: Api,
): Promise<string[]> {
  if (objections === 0 || marketId === null) return [];
  const found: string[] = [];
  for (let cursor: string | null | undefined; cursor !== null && found.length < objections; ) {
    const page = await api.listAudit({ type: "proposal.objected", marketId, since, limit: 200, cursor });
    for (const { payload } of page.entries)
      if (payload.proposalId === proposalId) found.push(`${payload.userId}: ${payload.reason}`);
    cursor = page.cursor;
  }
  return found.toReversed();
}
