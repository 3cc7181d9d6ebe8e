import { dirname } from "node:path";
import { ConfigError, type Finding, formatPath, type Path } from "../config-error.ts";
import type { Environment } from "../environment.ts";
import type { TenantConfig } from "../tenant-config.ts";
import { loadTenantFile } from "../tenant-file.ts";
import { openWorkspace, tenantPath } from "../workspace.ts";
import { kindOf, secretPlaces } from "./secret-places.ts";
import { valueAtHand } from "./secrets.ts";

/** The value of a secret, and the place of a tenant file that refers to it. Never shown. */
export interface PlacedValue {
  tenant: string;
  path: Path;
  value: string;
  /** The place for people, as `keys.admin[0].secret (tenants/acme/tenant.yaml:7:12)`. */
  place: string;
}

/** A value at its place. */
export function placedValue({ tenant, source }: TenantConfig, path: Path, value: string): PlacedValue {
  const { file, line, column } = source.positionOf(path);
  return { tenant, path, value, place: `${formatPath(path)} (${file}:${line}:${column})` };
}

/** Every secret of a tenant that is known without running a program; missing ones are skipped. */
export function valuesAtHand(config: TenantConfig, environment: Environment): PlacedValue[] {
  const { directory, roots } = config.source;
  return secretPlaces(config).flatMap(({ reference, path }) => {
    const value = valueAtHand(reference, { environment, directory, roots });
    return value === undefined ? [] : [placedValue(config, path, value)];
  });
}

/** The same of the directory's other tenants. A tenant file with problems is skipped: `validate` reports them. */
export function valuesOfOthers({ source: { directory } }: TenantConfig, environment: Environment): PlacedValue[] {
  const root = dirname(dirname(directory));
  return openWorkspace(root).tenants.flatMap((tenant) => {
    const file = tenantPath(root, tenant);
    if (dirname(file) === directory) return [];
    try {
      return valuesAtHand(loadTenantFile(file), environment);
    } catch (error) {
      if (error instanceof ConfigError) return [];
      throw error;
    }
  });
}

/**
 * What is wrong with the values of a tenant's secrets: one is malformed for its place, or stands in another place too.
 * A value with two uses is as exposed as the more exposed one: an audit key that is also a public key is served to every
 * visitor.
 *
 * @param others values of the directory's other tenants
 */
export function valueFindings(own: readonly PlacedValue[], others: readonly PlacedValue[]): Finding[] {
  const earlier = Map.groupBy(others, ({ value }) => value);
  return own.flatMap((placed) => {
    const { path, value } = placed;
    if (value === "") return [];
    const met = earlier.get(value) ?? [];
    earlier.set(value, [...met, placed]);
    const problem = kindOf(path).problemOf(value);
    const other = met.find((each) => !mayShareValue(each, placed));
    return [
      ...(problem === undefined ? [] : [{ path, message: problem }]),
      ...(other === undefined
        ? []
        : [{ path, message: `has the same value as ${other.place}: every secret needs a value of its own` }]),
    ];
  });
}

/** Whether two places belong to one group, such as the secrets of one list or of all inbound webhooks. */
function mayShareValue(one: PlacedValue, other: PlacedValue): boolean {
  const [group, otherGroup] = [kindOf(one.path).group, kindOf(other.path).group];
  if (group === undefined || group.name !== otherGroup?.name) return false;
  return group.acrossTenants === true || one.tenant === other.tenant;
}
