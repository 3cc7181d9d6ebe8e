import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { isErrno } from "../../config/environment.ts";
import { canonicalJson } from "../../domain/audit/audit-link.ts";
import { Fault } from "../../domain/fault.ts";
import type { Plan } from "../../plan/plan-types.ts";
import { type Accepted, ON_DRIFT } from "./plan-choices.ts";
import { type ShownPlan, shownPlan } from "./plan-view.ts";

const FORMAT = "pmctl-plan-v2";

/** The bound part of a saved plan: the files, the live version, and every change. */
type Bound = Pick<ShownPlan, "tenant" | "fileSha256" | "liveVersion" | "items" | "settings" | "targets">;

/** A plan, with what its maker accepted. */
export interface SavedPlan extends Bound {
  accepted: Accepted;
  /** Hash of the canonical text of everything else that is bound, so an acceptance counts for this plan alone. */
  sha256: string;
}

/** Writes plans for a later apply. They contain what is printed, so no secrets. */
export function savePlans(file: string, plans: readonly (ShownPlan & { accepted: Accepted })[]): void {
  const saved = plans.map((plan) => ({ ...plan, sha256: digestOf(plan) }));
  try {
    writeFileSync(file, `${JSON.stringify({ format: FORMAT, plans: saved }, null, 2)}\n`, { mode: 0o600 });
  } catch (cause) {
    throw new Fault("USAGE", `${file} cannot be written (${isErrno(cause) ? cause.code : "not a file"})`, { cause });
  }
}

/** @throws Fault USAGE when the file is not a saved plan, REFUSED when it was changed after it was saved */
export function readPlans(file: string): SavedPlan[] {
  const { format, plans } = contentOf(file);
  if (format !== FORMAT || !Array.isArray(plans) || plans.length === 0 || !plans.every(isSaved))
    throw new Fault("USAGE", `${file} is not a plan of this pmctl: make it again with pmctl plan --out`);
  const changed = plans.find((plan) => plan.sha256 !== digestOf(plan));
  if (changed)
    throw new Fault("REFUSED", `${file}: the plan of ${changed.tenant} was changed after it was made; plan again`);
  return plans;
}

function contentOf(file: string): { format?: unknown; plans?: unknown } {
  try {
    const content = JSON.parse(readFileSync(file, "utf8")) as unknown;
    return typeof content === "object" && content !== null ? content : {};
  } catch (cause) {
    throw new Fault("USAGE", `${file} is not a plan: pmctl plan --out writes one`, { cause });
  }
}

/** Checks only the shape. The content is not trusted: the tenant is planned again and compared with it. */
function isSaved(plan: unknown): plan is SavedPlan {
  if (typeof plan !== "object" || plan === null) return false;
  const { tenant, items, settings, accepted, targets = [] } = plan as Record<string, unknown>;
  const isItem = (item: unknown) => typeof item === "object" && item !== null;
  const isText = (text: unknown) => typeof text === "string";
  if (!Array.isArray(targets) || !targets.every(isText)) return false;
  if (!isItem(accepted)) return false;
  const { onDrift, rules } = accepted as Accepted;
  if (!Array.isArray(rules) || (onDrift !== undefined && !ON_DRIFT.includes(onDrift))) return false;
  return isText(tenant) && Array.isArray(settings) && Array.isArray(items) && items.every(isItem);
}

/** Leaves out who changed a value, because the change itself was approved. */
function digestOf({
  tenant,
  fileSha256,
  liveVersion,
  items,
  settings,
  targets = [],
  accepted,
}: Omit<SavedPlan, "sha256">) {
  const bound = {
    tenant,
    fileSha256,
    liveVersion,
    settings,
    targets,
    accepted,
    items: items.map(({ by, ...item }) => item),
  };
  return createHash("sha256")
    .update(canonicalJson(JSON.parse(JSON.stringify(bound))))
    .digest("hex");
}

/**
 * Refuses a plan that differs from the saved one. An apply moves the live version, so a plan can be applied once.
 * @throws Fault REFUSED saying what changed
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

/** Leaves out who changed a value, because the change itself was approved. */
function boundText({ items, settings }: Bound): string {
  return canonicalJson({ settings, items: items.map(({ by, ...item }) => item) });
}
