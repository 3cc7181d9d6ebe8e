import { formatPath, type Path } from "../config/config-error.ts";
import { destinationsOf, type StatedSections } from "../config/secrets/secret-destinations.ts";
import { kindOf, referencesIn, type SecretPlace } from "../config/secrets/secret-places.ts";
import { describeReference } from "../config/secrets/secrets.ts";
import type { ConfigDocument } from "../contract/resources/config-document.ts";
import { coversRanges } from "../domain/access/networks.ts";
import { coversScopes } from "../domain/access/scopes.ts";
import { canonicalJson, type Json } from "../domain/audit/audit-link.ts";
import type { Direction } from "../domain/policy/fields.ts";
import { compare, type Findings, keyText } from "./plan-compare.ts";
import type { Desired, DesiredKey, LiveConfig, LiveKey } from "./plan-types.ts";

/**
 * Compares API keys by name. Leaves alone a key that was created live and is in no document. Revokes a key that left
 * the file, unless it was changed live since.
 */
export function planKeys({ keys }: Desired, base: Partial<ConfigDocument>, live: LiveConfig): Findings {
  const findings: Findings = { items: [], warnings: [] };
  if (!keys) return findings;
  const { keyring = {}, adopted = {} } = base;
  const lacking = keys.filter(({ hash }) => hash === undefined).map(({ name }) => `keys.${name}`);
  if (lacking.length > 0)
    findings.warnings.push(`values that are missing here count as the live ones: ${lacking.join(", ")}`);
  for (const key of keys) {
    // An expired key of the file needs no live key.
    if (endOf(key) <= Date.parse(live.now)) continue;
    const desired = keyText(key);
    const current = liveText(live, key.name, [desired, keyring[key.name]]);
    const isLeaked = live.endedKeys.some(({ leaked, fingerprint }) => leaked && fingerprint === key.fingerprint);
    const items = compare({
      field: `keys.${key.name}`,
      // Null, not undefined: replacing a key that was created live under this name is drift, not a change.
      base: keyring[key.name] ?? null,
      desired,
      live: current,
      adopted: adopted[`keys.${key.name}`],
      // A leaked value is refused whatever the operator accepts.
      direction: isLeaked ? "neutral" : revives(key, live, keyring[key.name], current) ? "loosens" : reachOf(key, live),
    });
    const problem = `the value of ${key.reference ?? key.name} was ended as leaked; put a new value there`;
    findings.items.push(...items.map((item) => (isLeaked && item.kind !== "adopted" ? { ...item, problem } : item)));
  }
  for (const [name, applied] of Object.entries(keyring)) {
    if (keys.some((key) => key.name === name)) continue;
    const current = liveText(live, name, [applied]);
    if (current === applied)
      findings.items.push({
        field: `keys.${name}`,
        kind: "change",
        base: applied,
        desired: null,
        live: current,
        direction: "tightens",
      });
    else if (current !== null)
      findings.warnings.push(`keys.${name} left the file but was changed live, so it is left alone: pmctl key revoke`);
  }
  return findings;
}

/**
 * Whether the file's key would revive a revoked value, or make a value last longer than it does live.
 * @param base the applied key of that name
 * @param current the live key of that name
 */
function revives(key: DesiredKey, live: LiveConfig, base: string | undefined, current: string | null): boolean {
  if (current === null && base !== undefined) return true;
  const isIt = ({ fingerprint }: LiveKey) => fingerprint === key.fingerprint;
  if (live.endedKeys.some(isIt)) return true;
  return current !== base && live.keys.some((each) => isIt(each) && endOf(each) < endOf(key));
}

function endOf({ expiresAt }: Pick<LiveKey, "expiresAt">): number {
  return expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(expiresAt);
}

/**
 * Whether a key may do more than before, from more places, or less. The value decides, which may get another name; a
 * new value of a name is compared with the one that it replaces.
 */
function reachOf(key: DesiredKey, live: LiveConfig): Direction {
  const before = live.keys.find(({ fingerprint }) => fingerprint === key.fingerprint) ?? newestFirst(live, key.name)[0];
  if (!before) return "neutral";
  if (!reaches(before, key)) return "loosens";
  return reaches(key, before) ? "neutral" : "tightens";
}

type Reach = Pick<DesiredKey, "scopes" | "from">;

/** Whether one key may do everything that another may, from all its places. */
function reaches(a: Reach, b: Reach): boolean {
  return coversScopes(a.scopes, b.scopes) && coversRanges(a.from, b.from);
}

/**
 * The fingerprint to assume for a key whose value is missing: the live one of its name, or the applied one if several
 * are live.
 */
export function assumedFingerprint(name: string, live: LiveConfig): string {
  const applied = live.document?.keyring?.[name];
  const inForce = newestFirst(live, name).map(({ fingerprint }) => fingerprint);
  return inForce.find((fingerprint) => applied?.includes(fingerprint)) ?? inForce[0] ?? "fp:unknown";
}

function newestFirst(live: LiveConfig, name: string): LiveKey[] {
  return live.keys
    .filter((key) => key.name === name)
    .toSorted((a, b) => Date.parse(b.createdAt) - Date.parse(a.createdAt));
}

/** The live key of a name as text. In a rotation two are live: the first one of `wanted` counts, else the newest. */
export function liveText(live: LiveConfig, name: string, wanted: readonly (string | undefined)[]): string | null {
  const texts = newestFirst(live, name).map(keyText);
  const fitting = wanted.find((text) => text !== undefined && texts.includes(text));
  return fitting ?? texts[0] ?? null;
}

/**
 * Compares references to secrets with the last applied document, by place and by receiving host, so that a reviewer
 * sees what the file wants to read and where it sends it. A new reference loosens. Exceptions are a tenant that was
 * never applied, and a secret that only moves between its place and the list of previous secrets there, because it gets
 * no new reader.
 */
export function planSecrets({ document }: Desired, base: Partial<ConfigDocument>, live: LiveConfig): Findings {
  const before = usesOf(base);
  const applied = new Set(before.map(({ id }) => id));
  const slots = new Set(before.map((use) => use.slotId));
  const items = usesOf(document)
    .filter(({ id }) => !applied.has(id))
    .map(({ field, place, slotId }) => ({
      field,
      kind: "change" as const,
      base: null,
      desired: place,
      live: null,
      direction: live.version === 0 || slots.has(slotId) ? ("neutral" as const) : ("loosens" as const),
    }));
  return { items, warnings: [] };
}

/** Groups of places whose secrets are rotated: the current one and its previous ones. */
const ROTATING: readonly (string | undefined)[] = ["audit", "anchors", "outbound", "jwt", "resolution"];

interface Use {
  /** Equal for equal uses. Contains a program's arguments, so it is never shown. */
  id: string;
  /** Equal for a secret that only becomes the current or a previous one at its place. */
  slotId: string;
  field: string;
  place: string;
}

function usesOf(document: Partial<ConfigDocument>): Use[] {
  // Markets, adopted values and policies contain free data, which may look like a reference.
  const { declared: _, adopted: __, keyring: ___, policy: ____, ...sections } = document;
  const hosts = Map.groupBy(destinationsOf(sections as StatedSections), ({ path }) => formatPath(path));
  const uses = referencesIn(sections).map(({ reference, path }): Use => {
    const host = hosts.get(formatPath(path))?.map((sent) => sent.host ?? "a host that no list can name");
    const steps = namedSteps(sections, path);
    const idAt = (place: string) => canonicalJson([reference as Json, place]);
    const place = `${formatPath(steps)}${host === undefined ? "" : ` -> ${host.join(", ")}`}`;
    const rotates = ROTATING.includes(kindOf(path).group?.name);
    const slotId = idAt(rotates ? formatPath(steps.slice(0, -1)) : place);
    return { id: idAt(place), slotId, field: fieldOf(reference), place };
  });
  return [...new Map(uses.map((use) => [use.id, use])).values()];
}

function fieldOf(reference: SecretPlace["reference"]): string {
  return `secrets.${"exec" in reference ? `exec ${reference.exec[0]}` : describeReference(reference)}`;
}

/** A path with the names of list entries in place of their indexes, so that reordering a list changes no place. */
function namedSteps(document: object, path: Path): string[] {
  let value: unknown = document;
  return path.flatMap((step) => {
    value = (value as Record<string | number, unknown>)[step];
    if (typeof step === "string") return [step];
    const name = (value as { name?: unknown }).name;
    return typeof name === "string" ? [name] : [];
  });
}
