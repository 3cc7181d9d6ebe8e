import { dirname } from "node:path";
import { Lexer } from "yaml";
import { readConfigFile } from "../bounded-file.ts";
import { type Finding, formatPath, type Path, unlessUnsound } from "../config-error.ts";
import { type Environment, loadEnvironment } from "../environment.ts";
import type { TenantConfig } from "../tenant-config.ts";
import { loadTenantFile } from "../tenant-file.ts";
import { openWorkspace, tenantPath } from "../workspace.ts";
import { kindOf, secretPlaces } from "./secret-places.ts";
import { valueAtHand } from "./secrets.ts";

/** The value of a secret, and the place in a tenant file that refers to it. Never shown. */
export interface PlacedValue {
  tenant: string;
  path: Path;
  value: string;
  /** The place for people, such as `keys.admin[0].secret (tenants/acme/tenant.yaml:7:12)`. */
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

/** Text that may be the name of a variable. */
const NAMES = /[A-Z_][A-Z0-9_]*/g;
/** Signs that a text may have other secrets than the variables that it names: in files, in bases, behind escapes. */
const OPAQUE = /\bfile\b|\bextends\b|\\/;

/**
 * The secrets of a directory's tenants that are known without running a program, by value. At the first question, the
 * files are read only for the names of variables. A file is parsed only if one of its variables has the value, or if it
 * may have secrets outside variables. So a command on one tenant is hardly slower beside hundreds of others.
 */
export class DirectorySecrets {
  readonly #root: string;
  readonly #environment: Environment;
  #texts: Texts | undefined;
  readonly #values = new Map<string, readonly PlacedValue[]>();

  /** @param root the operator's directory; its variables are the default */
  constructor(root: string, environment: Environment = loadEnvironment(root)) {
    this.#root = root;
    this.#environment = environment;
  }

  /** The places where other tenants have the value. */
  elsewhere(value: string, tenant: string): readonly PlacedValue[] {
    this.#texts ??= this.#read();
    const { variables, tenantsNaming, opaque } = this.#texts;
    const naming = (variables.get(value) ?? []).flatMap((name) => tenantsNaming.get(name) ?? []);
    const others = new Set([...naming, ...opaque].filter((each) => each !== tenant));
    return [...others].toSorted().flatMap((each) => this.#valuesOf(each).filter((placed) => placed.value === value));
  }

  #read(): Texts {
    const variables = new Map<string, string[]>();
    for (const [name, value] of Object.entries(this.#environment)) if (value) listed(variables, value).push(name);
    const tenantsNaming = new Map<string, string[]>();
    const opaque: string[] = [];
    for (const tenant of openWorkspace(this.#root).tenants) {
      const text = withoutComments(unlessUnsound(() => readConfigFile(tenantPath(this.#root, tenant))) ?? "");
      if (OPAQUE.test(text)) opaque.push(tenant);
      else for (const name of new Set(text.match(NAMES))) listed(tenantsNaming, name).push(tenant);
    }
    return { variables, tenantsNaming, opaque };
  }

  #valuesOf(tenant: string): readonly PlacedValue[] {
    const known = this.#values.get(tenant);
    if (known) return known;
    const config = unlessUnsound(() => loadTenantFile(tenantPath(this.#root, tenant)));
    const values = config ? valuesAtHand(config, this.#environment) : [];
    this.#values.set(tenant, values);
    return values;
  }
}

interface Texts {
  /** The names of variables by their values. */
  variables: ReadonlyMap<string, readonly string[]>;
  /** Tenants by the names in their files. */
  tenantsNaming: ReadonlyMap<string, readonly string[]>;
  /** Tenants whose files must be parsed to find their secrets. */
  opaque: readonly string[];
}

/** The words of a YAML text, found by the first step of parsing, in a sixth of the time. */
function withoutComments(text: string): string {
  return [...new Lexer().lex(text)].filter((token) => !token.startsWith("#")).join("");
}

function listed(lists: Map<string, string[]>, key: string): string[] {
  const list = lists.get(key) ?? [];
  lists.set(key, list);
  return list;
}

/** The secrets of the other tenants in a tenant file's directory. */
export function secretsAround({ source }: TenantConfig, environment: Environment): DirectorySecrets {
  return new DirectorySecrets(dirname(dirname(source.directory)), environment);
}

/**
 * The problems of a tenant's secret values: malformed for their place, or used in another place too. A value with two
 * uses is as exposed as the more exposed one: an audit key that is also a public key would be served to every visitor.
 *
 * @param directory the values of the other tenants
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
        : [
            {
              path,
              message: `has the same value as ${other.place}: every secret needs a value of its own`,
              code: "CONFLICT" as const,
            },
          ]),
    ];
  });
}

/** Whether two places belong to the same group, such as the secrets of one list or of all inbound webhooks. */
function mayShareValue(one: PlacedValue, other: PlacedValue): boolean {
  const [group, otherGroup] = [kindOf(one.path).group, kindOf(other.path).group];
  if (group === undefined || group.name !== otherGroup?.name) return false;
  return group.acrossTenants === true || one.tenant === other.tenant;
}
