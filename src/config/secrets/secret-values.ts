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

/**
 * The secrets of a directory's tenants that are known without running a program, by value. Each tenant file is read once,
 * when the first value is asked about: what a command on many tenants shares, so that it need not read all files for each.
 */
export class DirectorySecrets {
  readonly #root: string;
  readonly #environment: Environment;
  readonly #except: string | undefined;
  #byValue: ReadonlyMap<string, readonly PlacedValue[]> | undefined;

  /**
   * @param root the operator's directory
   * @param except a tenant whose file need not be read: the only one that is asked about
   */
  constructor(root: string, environment: Environment, except?: string) {
    this.#root = root;
    this.#environment = environment;
    this.#except = except;
  }

  /** Where tenants other than this one have a value. */
  elsewhere(value: string, tenant: string): readonly PlacedValue[] {
    this.#byValue ??= Map.groupBy(
      openWorkspace(this.#root).tenants.flatMap((each) => (each === this.#except ? [] : this.#valuesOf(each))),
      (placed) => placed.value,
    );
    return (this.#byValue.get(value) ?? []).filter((placed) => placed.tenant !== tenant);
  }

  /** A tenant file with problems is skipped: `validate` reports them. */
  #valuesOf(tenant: string): PlacedValue[] {
    try {
      return valuesAtHand(loadTenantFile(tenantPath(this.#root, tenant)), this.#environment);
    } catch (error) {
      if (error instanceof ConfigError) return [];
      throw error;
    }
  }
}

/** The secrets of the other tenants of the directory that a tenant file belongs to. */
export function secretsAround({ tenant, source }: TenantConfig, environment: Environment): DirectorySecrets {
  return new DirectorySecrets(dirname(dirname(source.directory)), environment, tenant);
}

/**
 * What is wrong with the values of a tenant's secrets: one is malformed for its place, or stands in another place too.
 * A value with two uses is as exposed as the more exposed one: an audit key that is also a public key is served to every
 * visitor.
 *
 * @param directory with the values of the other tenants
 */
export function valueFindings(own: readonly PlacedValue[], directory: DirectorySecrets): Finding[] {
  const earlier = new Map<string, PlacedValue[]>();
  return own.flatMap((placed) => {
    const { tenant, path, value } = placed;
    if (value === "") return [];
    const ofTenant = earlier.get(value) ?? [];
    earlier.set(value, [...ofTenant, placed]);
    const problem = kindOf(path).problemOf(value);
    const other = [...directory.elsewhere(value, tenant), ...ofTenant].find((each) => !mayShareValue(each, placed));
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
