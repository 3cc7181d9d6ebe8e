import { formatPath, type Path } from "../config/config-error.ts";
import { destinationsOf, type StatedSections } from "../config/secrets/secret-destinations.ts";
import { kindOf, referencesIn, type SecretPlace } from "../config/secrets/secret-places.ts";
import { describeReference } from "../config/secrets/secrets.ts";
import type { ConfigDocument } from "../contract/resources/config-document.ts";
import { canonicalJson, type Json } from "../domain/audit/audit-link.ts";
import type { Findings } from "./plan-compare.ts";
import type { Desired, LiveConfig } from "./plan-types.ts";

/**
 * References to secrets that the last applied document does not have at their place, or that go to another host: a
 * reviewer of the plan sees what the file wants to read and where it sends it. Such a reference loosens, except for a
 * tenant that was never applied, and for a secret that only moves between its place and the list of previous secrets
 * beside it, because then it has no new reader.
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

/** Groups of places whose secrets are replaced one by one: the current one, and the previous ones beside it. */
const ROTATING: readonly (string | undefined)[] = ["audit", "anchors", "outbound", "jwt", "resolution"];

interface Use {
  /** Equal for equal uses. It holds a program's arguments, so it is never shown. */
  id: string;
  /** Equal for a secret that only becomes the current or a previous one at its place. */
  slotId: string;
  field: string;
  place: string;
}

function usesOf(document: Partial<ConfigDocument>): Use[] {
  // Markets, adopted values and policies hold free data, which may look like a reference.
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

/** A path with the names of list entries instead of their indexes: reordering a list changes no place. */
function namedSteps(document: object, path: Path): string[] {
  let value: unknown = document;
  return path.flatMap((step) => {
    value = (value as Record<string | number, unknown>)[step];
    if (typeof step === "string") return [step];
    const name = (value as { name?: unknown }).name;
    return typeof name === "string" ? [name] : [];
  });
}
