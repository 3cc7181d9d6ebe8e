import { isSame, type Json } from "../domain/audit/audit-link.ts";
import type { Direction, PolicyField } from "../domain/policy/fields.ts";
import { isPolicyField } from "../domain/policy/values.ts";
import type { PlanItem } from "./plan-types.ts";

/** A field in its three values. Undefined: not stated there. */
export interface ThreeWay {
  field: string;
  base: Json | undefined;
  desired: Json;
  live: Json;
  /** The live value that a person decided to keep. */
  adopted: Json | undefined;
  /** What writing the desired value would do. */
  direction: Direction;
}

/** What a part of the plan finds. */
export interface Findings {
  items: PlanItem[];
  warnings: string[];
}

/** The one comparison. Nothing to say when the live value is what the file wants. */
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
