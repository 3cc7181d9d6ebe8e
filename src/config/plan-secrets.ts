import { canonicalJson, type Json } from "../domain/audit-link.ts";
import { formatPath, type Path } from "./config-error.ts";
import type { Findings } from "./plan-compare.ts";
import type { ConfigDocument, Desired, LiveConfig } from "./plan-types.ts";
import { destinationsOf, type StatedSources } from "./secret-destinations.ts";
import { referencesIn, type SecretPlace } from "./secret-places.ts";
import { describeReference } from "./secrets.ts";

/**
 * A reference to a secret at a place where the last applied document has none, or that sends it to another host: who
 * reviews the plan sees what the file wants to read, and where it wants it to go. It loosens, but for a tenant that has
 * nothing yet.
 */
export function planSecrets({ document }: Desired, base: Partial<ConfigDocument>, live: LiveConfig): Findings {
  const applied = new Set(usesOf(base).map(({ id }) => id));
  const items = usesOf(document)
    .filter(({ id }) => !applied.has(id))
    .map(({ field, place }) => ({
      field,
      kind: "change" as const,
      base: null,
      desired: place,
      live: null,
      direction: live.version === 0 ? ("neutral" as const) : ("loosens" as const),
    }));
  return { items, warnings: [] };
}

interface Use {
  /** Equal for equal uses. A program's arguments are part of it, and shown nowhere. */
  id: string;
  field: string;
  place: string;
}

function usesOf(document: Partial<ConfigDocument>): Use[] {
  // Markets and kept values are people's data, which may look like anything.
  const { declared: _, adopted: __, keyring: ___, policy: ____, ...sections } = document;
  const hosts = new Map(
    destinationsOf(sections as StatedSources).map(({ path, host }) => [
      formatPath(path),
      host ?? "a host that {id} names",
    ]),
  );
  const uses = referencesIn(sections).map(({ reference, path }): Use => {
    const host = hosts.get(formatPath(path));
    const place = `${namedPlace(sections, path)}${host === undefined ? "" : ` -> ${host}`}`;
    return { id: canonicalJson([reference as Json, place]), field: fieldOf(reference), place };
  });
  return [...new Map(uses.map((use) => [use.id, use])).values()];
}

function fieldOf(reference: SecretPlace["reference"]): string {
  return `secrets.${"exec" in reference ? `exec ${reference.exec[0]}` : describeReference(reference)}`;
}

/** Entries of lists by their names, or by none: another order is no other place. */
function namedPlace(document: object, path: Path): string {
  let value: unknown = document;
  const steps = path.flatMap((step): (string | number)[] => {
    value = (value as Record<string | number, unknown>)[step];
    if (typeof step === "string") return [step];
    const name = (value as { name?: unknown }).name;
    return typeof name === "string" ? [name] : [];
  });
  return formatPath(steps);
}
