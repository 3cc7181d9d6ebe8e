import { coversScopes, type Scope, scopesOfApply } from "../domain/access/scopes.ts";
import { blockers, decide } from "./plan-decision.ts";
import type { Desired, LiveConfig, Plan } from "./plan-types.ts";

/**
 * Says which scopes an apply of everything in a plan asks for and the key in use lacks. Of a key without `config` nothing
 * is said: it is there to plan.
 * @param held undefined where no scopes bind
 */
export function scopeWarnings(
  plan: Plan,
  desired: Desired,
  live: LiveConfig,
  held: readonly Scope[] | undefined,
): string[] {
  if (!held || !coversScopes(held, ["config"]) || blockers(plan).length > 0) return [];
  const writes = decide(plan, desired, live, { onDrift: "overwrite", acceptLoosening: true });
  const lacking = scopesOfApply({
    createsMarkets: writes.create.length > 0,
    suspendsOrResumes: writes.states.length > 0,
    addsCapital: writes.capitalUsd > live.capitalUsd,
    changesKeys: writes.keys.length + writes.revoke.length > 0,
    given: writes.keys,
  }).filter(({ scope }) => !coversScopes(held, [scope]));
  const told = new Map(lacking.toReversed().map(({ scope, purpose }) => [scope, `${scope} (${purpose})`]));
  if (told.size === 0) return [];
  return [`the key in use cannot apply all of this: it lacks ${[...told.values()].reverse().join(", ")}`];
}
