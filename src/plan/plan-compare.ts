import type { ConfigDocument } from "../contract/resources/config-document.ts";
import { usualScopes } from "../domain/access/scopes.ts";
import { isSame, type Json } from "../domain/audit/audit-link.ts";
import { isMapping } from "../domain/json/mapping.ts";
import type { Direction, PolicyField } from "../domain/policy/fields.ts";
import { isPolicyField } from "../domain/policy/values.ts";
import type { DesiredKey, PlanItem } from "./plan-types.ts";

/** The three values of a field; undefined where a source does not state it. */
interface ThreeWay {
  field: string;
  base: Json | undefined;
  desired: Json;
  live: Json;
  /** The live value that an earlier apply was told to keep. */
  adopted: Json | undefined;
  /** The effect of writing the desired value. */
  direction: Direction;
}

/** The contribution of one part of the planner. */
export interface Findings {
  items: PlanItem[];
  warnings: string[];
}

/** Compares the three values; the result is empty when the live value is the desired one. */
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

/** Whether an item only gives a market a key, and is not a change of a value. */
export function isNaming({ kind, problem }: Pick<PlanItem, "kind" | "problem">): boolean {
  return (kind === "move" || kind === "import") && problem === undefined;
}

/** The key of the market that an item creates; undefined for other items, and for a market that cannot be created. */
export function createdMarket({ field, live, problem }: PlanItem): string | undefined {
  const key = field.replace(/^markets\./, "");
  return key !== field && live === null && problem === undefined ? key : undefined;
}

/** The text of a key in plans and documents; leaves out the usual scopes of its type. */
export function keyText({
  type,
  fingerprint,
  scopes,
  from,
  expiresAt,
}: Pick<DesiredKey, "type" | "fingerprint" | "scopes" | "from" | "expiresAt">): string {
  const isUsual = scopes.join() === usualScopes(type).join();
  const kept = `${isUsual ? "" : ` scopes ${scopes.join(",")}`}${from.length === 0 ? "" : ` from ${from.join(",")}`}`;
  const until = expiresAt === null ? "" : ` until ${expiresAt}`;
  return `${type} ${fingerprint}${kept}${until}`;
}

/** Sections and fields that the plan compares item by item. */
const PLANNED = new Set([
  "policy",
  "keys",
  "keyring",
  "declared",
  "adopted",
  "kyc.required",
  "markets.liquidityUsd",
  "markets.files",
  "treasury.capitalUsd",
  "resolution",
  "approvals",
]);

/** The setting that takes effect with the apply, because the database uses it; others wait for a server's start. */
export const SEARCH = "markets.search";

/** Paths of the other settings that differ between two documents; a list counts as one value. */
export function changedSettings(before: Partial<ConfigDocument>, after: ConfigDocument): string[] {
  return differences(before, after, "");
}

function differences(before: Json | undefined, after: Json | undefined, path: string): string[] {
  if (PLANNED.has(path)) return [];
  if (isMapping(before) && isMapping(after)) {
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
    return names.flatMap((name) => differences(before[name], after[name], path === "" ? name : `${path}.${name}`));
  }
  if (before === after || (before !== undefined && after !== undefined && isSame(before, after))) return [];
  return [path];
}
