import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { nearest } from "../domain/nearest.ts";
import { displayPath, readConfigFile } from "./bounded-file.ts";
import { ConfigError, fileProblem } from "./config-error.ts";
import { decodeFile, guideTo, keepDecoded } from "./schema/files.ts";
import type { OperatorFile, SecretGrants } from "./schema/operator-schema.ts";
import { OPERATOR_FILE } from "./selection/names.ts";
import { openWorkspace, tenantPath } from "./workspace.ts";
import { keepValue, readYaml, type Yaml } from "./yaml/read-yaml.ts";

/** What a tenant's file may refer to beyond its own folder and variables, and where its secrets may be sent. */
export interface SecretBounds {
  /** Whether a tenant with this id exists, in the directory or in the operator's file. */
  isTenant(id: string): boolean;
  /** Names of variables; a final `*` matches any rest. */
  env: readonly string[];
  /** Absolute folders. */
  roots: readonly string[];
  /** The hosts that a secret may be sent to, by `env NAME`, `file PATH` or `sops PATH`. */
  destinations: readonly (readonly [secret: string, hosts: readonly string[]])[];
}

/**
 * The operator's grants to a tenant; empty without a `pmctl.yaml` beside `tenants/`.
 *
 * @param tenantDirectory the tenant's folder, absolute
 * @throws ConfigError with every problem of `pmctl.yaml`
 */
export function secretBounds(tenantDirectory: string, tenant: string): SecretBounds {
  const directory = dirname(dirname(tenantDirectory));
  const stated = readOperatorFile(directory)?.grants;
  const tenants = stated?.tenants ?? {};
  const grants: SecretGrants[] = [
    ...(stated ? [stated.secrets] : []),
    ...(Object.hasOwn(tenants, tenant) ? [tenants[tenant] as SecretGrants] : []),
  ];
  return {
    isTenant: (id) => id === tenant || Object.hasOwn(tenants, id) || existsSync(tenantPath(directory, id)),
    env: grants.flatMap(({ env }) => env),
    roots: grants.flatMap(({ files }) => files.map((root) => resolve(directory, root))),
    destinations: grants.flatMap(({ destinations }) => Object.entries(destinations)),
  };
}

/** The operator's settings for programs in tenant files; empty without `pmctl.yaml`. */
export function operatorPrograms(directory: string): OperatorFile["programs"] {
  return readOperatorFile(directory)?.grants.programs ?? { env: [] };
}

/**
 * Warnings about grants in `pmctl.yaml` to tenants that the directory lacks. The name may be misspelt or the tenant
 * removed, so this is not an error.
 */
export function strayGrants(directory: string): string[] {
  const found = readOperatorFile(directory);
  if (!found) return [];
  const known = openWorkspace(directory).tenants;
  const strays = Object.keys(found.grants.tenants).filter((tenant) => !known.includes(tenant));
  return strays.map((tenant) => {
    const { line, column } = found.yaml.positionOf(["tenants", tenant], true);
    const meant = nearest(tenant, known);
    const hint = meant === undefined ? "" : `; did you mean "${meant}"?`;
    return `${found.yaml.file}:${line}:${column} tenants.${tenant}: there is no such tenant here${hint}`;
  });
}

interface Granted {
  grants: OperatorFile;
  yaml: Yaml;
}

/** The last file parsed: a command on hundreds of tenants reads their grants from one long file. */
let parsed: { text: string; file: string; granted: Granted } | undefined;

/** Undefined without a file. @throws ConfigError with every problem at its place */
function readOperatorFile(directory: string): Granted | undefined {
  const path = join(directory, OPERATOR_FILE);
  if (!existsSync(path)) return undefined;
  const [text, file] = [readConfigFile(path), displayPath(path)];
  if (parsed?.text !== text || parsed.file !== file) parsed = { text, file, granted: parseOperatorFile(text, file) };
  return parsed.granted;
}

function parseOperatorFile(text: string, file: string): Granted {
  const guide = guideTo("operator");
  const yaml = readYaml(text, file, guide);
  if (yaml.syntaxProblems.length > 0) throw new ConfigError(yaml.syntaxProblems);
  if (yaml.value === null) throw new ConfigError([fileProblem(yaml.file, "is empty: it needs at least version: 1")]);
  const { data, findings } = decodeFile("operator", yaml);
  if (findings) throw new ConfigError(yaml.problems(findings));
  keepValue(yaml);
  keepDecoded("operator", yaml.sha256, data);
  return { grants: data, yaml };
}
