import { type ApprovalRules, rulesIn } from "../domain/policy/approvals.ts";
import type { Desired, LiveConfig, Plan, PlanItem } from "./plan-types.ts";

/** What of a plan makes an apply need other actors. */
type Part = "apply" | "loosen" | "key";

const SAID: Record<Part, string> = {
  apply: "an apply",
  loosen: "an apply that loosens",
  key: "an apply that gives keys",
};

const LIMITS = ["policy.", "kyc.", "resolution.", "approvals."];

const loosens = ({ field, direction }: PlanItem) =>
  direction === "loosens" && LIMITS.some((section) => field.startsWith(section));
const givesKey = ({ field, desired }: PlanItem) => field.startsWith("keys.") && desired !== null;

/** How many actors an apply of these items needs, and for what. The live rules count; the first apply needs no other. */
function needsOf(items: readonly PlanItem[], { version, document }: LiveConfig): [Part, number][] {
  if (version === 0) return [];
  const { apply, loosen, key }: ApprovalRules = rulesIn(document).approvals;
  const needs: [Part, number][] = [
    ["apply", apply?.approvals ?? 1],
    ["loosen", items.some(loosens) ? (loosen?.approvals ?? 1) : 1],
    ["key", items.some(givesKey) ? (key?.approvals ?? 1) : 1],
  ];
  return needs.filter(([, actors]) => actors > 1);
}

/** How many actors must agree to an apply of these items. */
export function actorsNeeded(items: readonly PlanItem[], live: LiveConfig): number {
  return Math.max(1, ...needsOf(items, live).map(([, actors]) => actors));
}

const OF_FILES = "`pmctl plan --out FILE`, `pmctl approve FILE` by the others, `pmctl apply --plan FILE`";

const OF_ROLLBACK = "`pmctl rollback --approve` by the others, `pmctl rollback`";

/** What a plan needs before it is carried out; nothing for a plan that changes nothing. @param stored of a rollback */
export function actorWarnings(
  { items, empty }: Pick<Plan, "items" | "empty">,
  live: LiveConfig,
  { stored }: Pick<Desired, "stored">,
): string[] {
  if (empty) return [];
  const changed = items.filter(({ kind }) => kind !== "adopted");
  return needsOf(changed, live).map(
    ([part, actors]) => `${SAID[part]} needs ${actors} actors: ${stored ? OF_ROLLBACK : OF_FILES}`,
  );
}
