import type { ConfigDocument } from "../contract/resources/config-document.ts";
import { isSame, type Json } from "../domain/audit/audit-link.ts";
import { isMapping } from "../domain/json/json.ts";

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
]);

/** The setting that takes effect with the apply, because the database uses it; others wait for the server's next start. */
export const SEARCH = "markets.search";

/** The paths of the other settings that differ between two documents; a list counts as one value. */
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
