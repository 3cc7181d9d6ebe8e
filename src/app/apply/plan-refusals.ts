import { everyPage } from "../../client/pages.ts";
import { counted } from "../../domain/text.ts";
import { actorsNeeded } from "../../plan/plan-actors.ts";
import { type Choices, writesOf, written } from "../../plan/plan-decision.ts";
import type { Refusal } from "../../plan/plan-types.ts";
import type { ConfigSession, LiveTenant } from "../tenant/config-session.ts";
import { inputOf } from "./apply-tenant.ts";
import type { PlannedTenant } from "./plan-tenant.ts";

type Planned = PlannedTenant & { tenant: LiveTenant | undefined };

/** The reasons to refuse an apply that no option and no change of the files resolves: other people have to. */
export async function refusedForOthers(session: ConfigSession, planned: Planned, choices: Choices): Promise<Refusal[]> {
  const { plan, tenant } = planned;
  if (!tenant || plan.empty) return [];
  return [...(await lackingActors(session, planned, tenant, choices)), ...(await proposed(planned, tenant, choices))];
}

async function lackingActors(
  session: ConfigSession,
  { plan, desired, live }: Planned,
  { api, actor }: LiveTenant,
  choices: Choices,
): Promise<Refusal[]> {
  const needed = actorsNeeded(written(plan, choices), live);
  if (needed <= 1) return [];
  const input = await inputOf(session, { desired, writes: writesOf(plan, desired, live, choices) });
  const [{ inputSha256 }, { decodeInput }] = await Promise.all([
    import("../../services/configuration/plan-approvals.ts"),
    import("../../services/invoke.ts"),
  ]);
  const sha256 = inputSha256(decodeInput("applyConfig", JSON.parse(JSON.stringify(input))));
  const { entries } = await api.listAudit({ type: "plan.approved", limit: 200 });
  const agreeing = new Set(entries.filter(({ payload }) => payload.sha256 === sha256).map((entry) => entry.actor));
  if (actor !== undefined) agreeing.add(actor);
  if (agreeing.size >= needed) return [];
  const message = `needs ${counted(needed, "actor")}, and ${agreeing.size} would agree: the others approve the file of pmctl plan --out`;
  return [{ reason: "actors", field: null, flag: null, message }];
}

/** Markets that an apply would resume although a proposal about them waits. */
async function proposed({ plan, desired, live }: Planned, { api }: LiveTenant, choices: Choices): Promise<Refusal[]> {
  const resumed = (writesOf(plan, desired, live, choices).marketStates ?? []).filter(({ to }) => to === "open");
  if (resumed.length === 0) return [];
  const waiting = await everyPage((page) => api.listProposals({ status: "pending", ...page }));
  return resumed.flatMap(({ marketId }): Refusal[] => {
    const proposal = waiting.find((each) => each.marketId === marketId);
    const key = live.markets.find(({ id }) => id === marketId)?.key;
    if (!proposal) return [];
    const message = `a proposal about it waits: pmctl proposal show ${proposal.proposalId}`;
    return [{ reason: "proposal", field: `markets.${key}`, flag: null, message }];
  });
}
