import { readFileSync, realpathSync, statSync } from "node:fs";
import { parseDocument } from "yaml";
import type { Path } from "../../config/config-error.ts";
import type { Tenant } from "../../config/tenant-file.ts";
import type { PlacedMarket } from "../../config/tenant-files/market-files.ts";
import { setInYaml } from "../../config/yaml/yaml-edit.ts";
import type { Json } from "../../domain/audit/audit-link.ts";
import { isNaming } from "../../plan/plan-compare.ts";
import type { PlanItem } from "../../plan/plan-types.ts";
import { writeWhole } from "../../state/state-directory.ts";
import type { Io } from "../command.ts";

/** One value of a file, and the live value that replaces it. */
export interface FileEdit {
  file: string;
  path: Path;
  value: Json;
}

/** The place in a file for an item's live value; undefined where a file cannot hold it, such as the value of a key. */
export function editFor(item: PlanItem, { config, markets }: Tenant): FileEdit | undefined {
  const { field, live, problem } = item;
  if (isNaming(item) || problem !== undefined || live === null || field.startsWith("keys.")) return undefined;
  const market = markets.find(({ key }) => field === `markets.${key}`);
  if (market) return { file: market.source.file, path: [...placeOf(market), "state"], value: live };
  return { file: config.source.file, path: field.split("."), value: live };
}

/** A market's place in its file, which contains one market or a list. */
function placeOf({ key, source }: PlacedMarket): Path {
  const content: unknown = parseDocument(readFileSync(source.file, "utf8"), { version: "1.2" }).toJS();
  if (!Array.isArray(content)) return [];
  return [content.findIndex((entry: { key?: unknown }) => entry.key === key)];
}

/** The text of a file after those edits that belong to it. */
export function editedText(file: string, edits: readonly FileEdit[]): string {
  return edits
    .filter((edit) => edit.file === file)
    .reduce((text, { path, value }) => setInYaml(text, path, value), readFileSync(file, "utf8"));
}

/** Carries out `--write` of `drift` and `pull`: writes each file whole or not at all, and names the files. */
export function writeEdits(edits: readonly FileEdit[], { output }: Pick<Io, "output">): void {
  for (const file of new Set(edits.map((edit) => edit.file))) {
    const text = editedText(file, edits);
    // Follows a link, so that the file behind it is replaced and the link stays.
    const target = realpathSync(file);
    writeWhole(target, text, { mode: statSync(target).mode });
    output.note(`${file} was written`);
  }
}
