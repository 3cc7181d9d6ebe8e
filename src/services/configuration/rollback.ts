import type { Result } from "../../contract/operations.ts";
import { loadPlanApprovals } from "../../ledger/load-approvals.ts";
import { judge, questionsOf } from "../../plan/judge.ts";
import { makePlan } from "../../plan/plan.ts";
import { actorsNeeded } from "../../plan/plan-actors.ts";
import { decide, writesOf, written } from "../../plan/plan-decision.ts";
import { desiredByApply, keptBy } from "../../plan/plan-desired.ts";
import type { LiveConfig } from "../../plan/plan-types.ts";
import { encodeResult } from "../answers.ts";
import type { ServiceContext } from "../context.ts";
import { type Caller, decodeInput, type Handlers } from "../invoke.ts";
import { getApply, plainJson } from "./applies.ts";
import { readConfiguration } from "./configuration.ts";
import { inputSha256 } from "./plan-approvals.ts";
import { previewPolicy } from "./policy-impact.ts";

/** What a page needs of plans, whose modules run in no browser. */
export function rollbackHandlers(context: ServiceContext) {
  return {
    previewRollback: ({ seq }, caller) => previewRollback(context, seq, caller),
  } satisfies Handlers;
}

/** A person who has seen the plan decides about it as a whole: drift is overwritten, and limits may loosen. */
const CHOICES = { onDrift: "overwrite", acceptLoosening: true } as const;

/**
 * Plans as the command does, without the operator's rules, which no server reads.
 * @throws Fault NOT_FOUND; REFUSED for a document that cannot be applied again
 */
async function previewRollback(
  context: ServiceContext,
  seq: number,
  { scopes }: Caller,
): Promise<Result<"previewRollback">> {
  const apply = encodeResult("getApply", await getApply(context, seq));
  const live = encodeResult("getConfig", await readConfiguration(context)) as LiveConfig;
  const feeds = context.oracle;
  const desired = desiredByApply(apply, live);
  const found = makePlan(desired, live);
  const { rules } = questionsOf(found, desired, live, feeds);
  const impact = rules ? await previewPolicy(context, rules) : null;
  const plan = judge(found, desired, live, { feeds, prices: new Map(), scopes, trades: impact });
  // A freeze only delays it.
  decide(plan, desired, live, { ...CHOICES, breakFreeze: true });
  const items = written(plan, CHOICES);
  const { gitCommit = null, stored = desired.document } = desired;
  const writes = { ...writesOf(plan, desired, live, CHOICES), gitCommit, rollbackTo: seq, feeds: {} };
  const input = JSON.parse(JSON.stringify(writes));
  const sha256 = inputSha256(decodeInput("applyConfig", input));
  const approvals = await context.pool.read((sql) => loadPlanApprovals(sql, [sha256]));
  return {
    items: items.map(({ field, kind, direction, by = null, ...values }) => ({
      ...{ field, kind, live: plainJson(values.live), desired: plainJson(values.desired), direction, by },
    })),
    settings: plan.settings,
    kept: keptBy(stored, live, live),
    overrides: plainJson(plan.overrides),
    warnings: plan.warnings,
    actorsNeeded: actorsNeeded(items, live),
    agreed: (approvals.get(sha256) ?? []).map(({ actor }) => actor),
    impact,
    input,
  };
}
