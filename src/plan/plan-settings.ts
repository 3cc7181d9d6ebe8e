import { isMapping } from "../config/yaml/mapping.ts";
import type { ConfigDocument } from "../contract/resources/config-document.ts";
import { isSame, type Json } from "../domain/audit/audit-link.ts";

/** Sections and fields with a live counterpart: the plan has items for them. */
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
]);

/** A setting that no server has to be started for: the database holds to it from the apply on. */
export const SEARCH = "markets.search";

/** The paths at which two documents differ, other than where the plan has items; lists count as one value. */
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
