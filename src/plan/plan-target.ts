import type { ConfigDocument } from "../contract/resources/config-document.ts";
import type { Json } from "../domain/audit/audit-link.ts";
import { fieldsOfDocument } from "../domain/audit/document-changes.ts";
import { Fault } from "../domain/fault.ts";
import { isMapping } from "../domain/json/json.ts";
import type { Desired, LiveConfig } from "./plan-types.ts";

/** Where the parts of a document stand whose fields go by another name in plans. */
const PLACES = [
  ["keyring", "keys."],
  ["declared", "markets."],
] as const;

/** Whether a field is one of the targets, or lies below one. */
export function isTargeted(field: string, targets: readonly string[]): boolean {
  return targets.some((target) => field === target || field.startsWith(`${target}.`));
}

/**
 * What is wanted of some fields only: all others stay as they were last applied, in the document too, so that a later plan
 * still shows them.
 * @param named such as `policy`, `policy.feeBps` or `markets.rain`
 * @throws Fault USAGE for a tenant that was never applied, NOT_FOUND for a target that neither document has
 */
export function onlyTargets(desired: Desired, { document: applied }: LiveConfig, named: readonly string[]): Desired {
  if (applied === undefined)
    throw new Fault("USAGE", "--target chooses among what was applied: the first apply is of the whole files");
  const base = applied as ConfigDocument;
  // A market that gets another key leaves its place under the old one.
  const left = Object.entries(desired.moved ?? {}).filter(([key]) => isTargeted(`markets.${key}`, named));
  const targets = [
    ...named,
    ...left.flatMap(([, key]) => (Object.hasOwn(base.declared, key) ? [`markets.${key}`] : [])),
  ];
  const known = [...fieldsOfDocument(base), ...fieldsOfDocument(desired.document)];
  const unknown = targets.filter((target) => !known.some((field) => isTargeted(field, [target])));
  if (unknown.length > 0) throw new Fault("NOT_FOUND", `Nothing in the files is called ${unknown.join(", ")}`);
  const document = merged(base, desired.document, "", targets) as ConfigDocument;
  const adopted = Object.fromEntries(Object.entries(base.adopted).filter(([field]) => !isTargeted(field, targets)));
  return { ...desired, document: { ...document, adopted }, targets };
}

/** The applied value of a part, with what is targeted as it is wanted. */
function merged(
  applied: Json | undefined,
  wanted: Json | undefined,
  field: string,
  targets: readonly string[],
): Json | undefined {
  if (field !== "" && isTargeted(field, targets)) return wanted;
  if (!isMapping(applied) && !isMapping(wanted)) return applied;
  const [before, after] = [isMapping(applied) ? applied : {}, isMapping(wanted) ? wanted : {}];
  const parts = [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((name) => {
    const value = merged(before[name], after[name], childField(field, name), targets);
    return value === undefined ? [] : [[name, value] as const];
  });
  // A section of which nothing is targeted, and which was not applied, stays away.
  return parts.length === 0 && applied === undefined ? undefined : Object.fromEntries(parts);
}

function childField(field: string, name: string): string {
  const place = PLACES.find(([section]) => section === field);
  if (place) return `${place[1]}${name}`;
  return field === "" ? name : `${field}.${name}`;
}
