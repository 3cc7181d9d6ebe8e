import { compare, type Findings } from "./plan-compare.ts";
import { keyText } from "./plan-document.ts";
import type { ConfigDocument, Desired, DesiredKey, LiveConfig, LiveKey } from "./plan-types.ts";

/**
 * API keys by name. One that was created live and stands in no document is not managed and not touched; one that left
 * the file is revoked, unless it was changed live since.
 */
export function planKeys({ keys }: Desired, base: Partial<ConfigDocument>, live: LiveConfig): Findings {
  const findings: Findings = { items: [], warnings: [] };
  if (!keys) return findings;
  const { keyring = {}, adopted = {} } = base;
  for (const key of keys) {
    // A key that has expired by the file's own word is neither missing nor wanted.
    if (key.expiresAt !== null && key.expiresAt <= live.now) continue;
    const desired = keyText(key);
    const current = liveText(live, key.name, [desired, keyring[key.name]]);
    findings.items.push(
      ...compare({
        field: `keys.${key.name}`,
        // A name that was taken live is somebody's: never replaced as if it were the file's own.
        base: keyring[key.name] ?? null,
        desired,
        live: current,
        adopted: adopted[`keys.${key.name}`],
        direction: revives(key, live, keyring[key.name], current) ? "loosens" : "neutral",
      }),
    );
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
 * Whether a value that was ended, or that somebody live gave an end, would work again: that lets in whoever holds it.
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

/** Of a name's keys in force the first that is one of `wanted`, else the newest: a rotation may leave two for a time. */
export function liveText(live: LiveConfig, name: string, wanted: readonly (string | undefined)[]): string | null {
  const texts = live.keys
    .filter((key) => key.name === name)
    .toSorted((a, b) => b.createdAt - a.createdAt)
    .map(keyText);
  const fitting = wanted.find((text) => text !== undefined && texts.includes(text));
  return fitting ?? texts[0] ?? null;
}
