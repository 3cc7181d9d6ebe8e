import { readFileSync, writeFileSync } from "node:fs";
import { isErrno } from "../../config/environment.ts";
import { canonicalJson } from "../../domain/audit/audit-link.ts";
import { Fault } from "../../domain/fault.ts";
import type { Plan } from "../../plan/plan-types.ts";
import { type JudgedPlan, shownPlan } from "./plan-view.ts";

const FORMAT = "pmctl-plan-v1";

/** What a saved plan binds: the files, the live version, and every change. */
type Bound = Pick<JudgedPlan, "tenant" | "fileSha256" | "liveVersion" | "items" | "settings" | "targets"> &
  Partial<Pick<JudgedPlan, "rules" | "refusals">>;

/** Writes plans for a later apply. They hold what is printed, so no secrets. */
export function savePlans(file: string, plans: readonly JudgedPlan[]): void {
  try {
    writeFileSync(file, `${JSON.stringify({ format: FORMAT, plans }, null, 2)}\n`, { mode: 0o600 });
  } catch (cause) {
    throw new Fault("USAGE", `${file} cannot be written (${isErrno(cause) ? cause.code : "not a file"})`, { cause });
  }
}

/** @throws Fault USAGE when the file is no saved plan */
export function readPlans(file: string): Bound[] {
  try {
    const { format, plans } = JSON.parse(readFileSync(file, "utf8")) as { format?: unknown; plans?: unknown };
    if (format === FORMAT && Array.isArray(plans) && plans.length > 0 && plans.every(isBound)) return plans;
  } catch (cause) {
    throw new Fault("USAGE", `${file} is no plan: pmctl plan --out writes one`, { cause });
  }
  throw new Fault("USAGE", `${file} is no plan of this pmctl: make it again with pmctl plan --out`);
}

/** Checks the shape alone. The content is not trusted: the tenant is planned again and compared with it. */
function isBound(plan: unknown): plan is Bound {
  if (typeof plan !== "object" || plan === null) return false;
  const { tenant, items, settings, targets = [], rules = [], refusals = [] } = plan as Record<string, unknown>;
  const isItem = (item: unknown) => typeof item === "object" && item !== null;
  if (![rules, refusals].every((list) => Array.isArray(list) && list.every(isItem))) return false;
  if (!Array.isArray(targets) || !targets.every((target) => typeof target === "string")) return false;
  return typeof tenant === "string" && Array.isArray(settings) && Array.isArray(items) && items.every(isItem);
}

/**
 * The rules that ask a person, and that `plan --accept-rule` answered when the plan was made: it is not refused for them. They stand
 * in the tenant file, to whose hash the plan is bound.
 */
export function rulesApprovedIn({ rules = [], refusals }: Bound): string[] {
  const asked = rules.filter(({ effect }) => effect === "approve");
  if (refusals === undefined) return [];
  return asked.map(({ name }) => name).filter((name) => !refusals.some(({ field }) => field === `rules.${name}`));
}

/**
 * Refuses a plan that differs from the saved one. Applying moves the live version, so a plan can be applied once.
 * @throws Fault REFUSED saying what has changed
 */
export function requireSame(saved: Bound, plan: Plan): void {
  const fresh = shownPlan(plan);
  const stale = (what: string) =>
    new Fault(
      "REFUSED",
      `The plan of ${saved.tenant} is stale: ${what} since it was made; nothing was written. Plan again.`,
    );
  if (saved.fileSha256 !== fresh.fileSha256) throw stale("the files have changed");
  if (saved.liveVersion !== fresh.liveVersion) throw stale("the live configuration has changed");
  if (boundText(saved) !== boundText(fresh)) throw stale("a key, a market or the time has changed");
}

/** Leaves out who changed a value: the change itself was approved. */
function boundText({ items, settings }: Bound): string {
  return canonicalJson({ settings, items: items.map(({ by, ...item }) => item) });
}
