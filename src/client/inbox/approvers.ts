import type { Api, WireResult } from "../../contract/operations.ts";

type Approval = WireResult<"getProposal">["approvals"][number];
type Keys = WireResult<"listKeys">;

/** Who agrees to a proposal, the first first, and whether that actor's key has ended since: it may have leaked. */
export async function approversOf(approvals: readonly Approval[], api: Api): Promise<string[]> {
  const keys = await api.listKeys({});
  return approvals.map((each) => (hasEnded(each, keys) ? `${each.by} (key revoked or expired since)` : each.by));
}

/** A rotation without a leak carries a key on; one that was given the name later is another key. */
function hasEnded({ by, at }: Approval, keys: Keys): boolean {
  const values = keys.filter(({ name, type }) => type === "admin" && `admin:${name}` === by);
  let until = Date.parse(at);
  let isActive = values.length === 0;
  for (const { createdAt, expiresAt, leaked, active } of values) {
    if (leaked || Date.parse(createdAt) > until) continue;
    until = Math.max(until, expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(expiresAt));
    isActive ||= active;
  }
  return !isActive;
}
