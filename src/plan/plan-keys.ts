import type { ConfigDocument } from "../contract/resources/config-document.ts";
import { coversRanges } from "../domain/access/networks.ts";
import { coversScopes } from "../domain/access/scopes.ts";
import type { Direction } from "../domain/policy/fields.ts";
import { compare, type Findings } from "./plan-compare.ts";
import { keyText } from "./plan-document.ts";
import type { Desired, DesiredKey, LiveConfig, LiveKey } from "./plan-types.ts";

/**
 * API keys by name. A key that was created live and stands in no document is left alone; one that left the file is
 * revoked, unless it was changed live since.
 */
export function planKeys({ keys }: Desired, base: Partial<ConfigDocument>, live: LiveConfig): Findings {
  const findings: Findings = { items: [], warnings: [] };
  if (!keys) return findings;
  const { keyring = {}, adopted = {} } = base;
  const lacking = keys.filter(({ hash }) => hash === undefined).map(({ name }) => `keys.${name}`);
  if (lacking.length > 0)
    findings.warnings.push(`values that are not at hand here are taken to be the live ones: ${lacking.join(", ")}`);
  for (const key of keys) {
    // A key whose expiry in the file has passed needs no live counterpart.
    if (key.expiresAt !== null && key.expiresAt <= live.now) continue;
    const desired = keyText(key);
    const current = liveText(live, key.name, [desired, keyring[key.name]]);
    const items = compare({
      field: `keys.${key.name}`,
      // Null and not undefined: to replace a key that was created live under the name is drift, not a change.
      base: keyring[key.name] ?? null,
      desired,
      live: current,
      adopted: adopted[`keys.${key.name}`],
      direction: revives(key, live, keyring[key.name], current) ? "loosens" : reachOf(key, live),
    });
    const isLeaked = live.endedKeys.some(({ leaked, fingerprint }) => leaked && fingerprint === key.fingerprint);
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
 * Whether the file's key would make a value work again that was revoked, or work longer than it does live.
 * @param base what was applied under the name
 * @param current what is in force under it
 */
function revives(key: DesiredKey, live: LiveConfig, base: string | undefined, current: string | null): boolean {
  if (current === null && base !== undefined) return true;
  const isIt = ({ fingerprint }: LiveKey) => fingerprint === key.fingerprint;
  if (live.endedKeys.some(isIt)) return true;
  const endOf = ({ expiresAt }: Pick<LiveKey, "expiresAt">) => expiresAt ?? Number.POSITIVE_INFINITY;
  return current !== base && live.keys.some((each) => isIt(each) && endOf(each) < endOf(key));
}

/**
 * Whether a key may do more than before, from more places, or less. What counts is the value, which may go by another
 * name from now on; a new value of a name is compared with the one that it replaces.
 */
function reachOf(key: DesiredKey, live: LiveConfig): Direction {
  const before = live.keys.find(({ fingerprint }) => fingerprint === key.fingerprint) ?? newestFirst(live, key.name)[0];
  if (!before) return "neutral";
  if (!reaches(before, key)) return "loosens";
  return reaches(key, before) ? "neutral" : "tightens";
}

/** Whether one key may do all that another may, from all its places. */
function reaches(a: Pick<LiveKey, "scopes" | "from">, b: Pick<LiveKey, "scopes" | "from">): boolean {
  return coversScopes(a.scopes, b.scopes) && coversRanges(a.from, b.from);
}

/**
 * The fingerprint to assume for a key whose value is not available: that of the live key of its name, and of several
 * the one that was applied.
 */
export function assumedFingerprint(name: string, live: LiveConfig): string {
  const applied = live.document?.keyring?.[name];
  const inForce = newestFirst(live, name).map(({ fingerprint }) => fingerprint);
  return inForce.find((fingerprint) => applied?.includes(fingerprint)) ?? inForce[0] ?? "fp:unknown";
}

function newestFirst(live: LiveConfig, name: string): LiveKey[] {
  return live.keys.filter((key) => key.name === name).toSorted((a, b) => b.createdAt - a.createdAt);
}

/** A name's live key as text. While a rotation leaves two in force, the first one of `wanted` counts, else the newest. */
export function liveText(live: LiveConfig, name: string, wanted: readonly (string | undefined)[]): string | null {
  const texts = newestFirst(live, name).map(keyText);
  const fitting = wanted.find((text) => text !== undefined && texts.includes(text));
  return fitting ?? texts[0] ?? null;
}
