import { isSame, type Json } from "../domain/audit/audit-link.ts";
import type { Direction, PolicyField } from "../domain/policy/fields.ts";
import { isPolicyField } from "../domain/policy/values.ts";
import type { PlanItem } from "./plan-types.ts";

/** A field in its three values. Undefined: not stated there. */
interface ThreeWay {
  field: string;
  base: Json | undefined;
  desired: Json;
  live: Json;
  /** The live value that an earlier apply was told to keep. */
  adopted: Json | undefined;
  /** What writing the desired value would do. */
  direction: Direction;
}

/** What one part of the planner contributes to the plan. */
export interface Findings {
  items: PlanItem[];
  warnings: string[];
}

/** The three-way comparison; empty when the live value is what the file wants. */
export function compare({ field, base, desired, live, adopted, direction }: ThreeWay): PlanItem[] {
  if (isSame(desired, live)) return [];
  const wasKept = adopted !== undefined && isSame(adopted, live);
  const unchangedFile = base !== undefined && isSame(base, desired);
  const unchangedLive = base === undefined || isSame(base, live) || wasKept;
  const kind = unchangedLive ? (wasKept && unchangedFile ? "adopted" : "change") : unchangedFile ? "drift" : "conflict";
  return [{ field, kind, base: base ?? null, desired, live, direction }];
}

/** The policy field of an item; undefined for other items. */
export function policyFieldOf({ field }: PlanItem): PolicyField | undefined {
  const name = field.replace(/^policy\./, "");
  return name !== field && isPolicyField(name) ? name : undefined;
}

/** Whether an item gives a market a key, and is nothing that was changed live or in a value. */
export function isNaming({ kind, problem }: Pick<PlanItem, "kind" | "problem">): boolean {
  return (kind === "move" || kind === "import") && problem === undefined;
}

/** The key of the market that an item creates; undefined for other items, and for a market that cannot be created. */
export function createdMarket({ field, live, problem }: PlanItem): string | undefined {
  const key = field.replace(/^markets\./, "");
  return key !== field && live === null && problem === undefined ? key : undefined;
}
