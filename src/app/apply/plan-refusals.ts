import { counted } from "../../domain/text.ts";
import { actorsNeeded } from "../../plan/plan-actors.ts";
import { type Choices, writesOf, written } from "../../plan/plan-decision.ts";
import type { Refusal } from "../../plan/plan-types.ts";
import type { ConfigSession, LiveTenant } from "../tenant/config-session.ts";
import { inputOf } from "./apply-tenant.ts";
import type { PlannedTenant } from "./plan-tenant.ts";

type Planned = PlannedTenant & { tenant: LiveTenant | undefined };

/** The reasons to refuse an apply that no option and no change of the files resolves: other people have to. */
export async function refusedForOthers(
  session: ConfigSession,
  { plan, desired, live, tenant }: Planned,
  choices: Choices,
): Promise<Refusal[]> {
  if (!tenant || plan.empty) return [];
  const { api, actor } = tenant;
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
