import { join } from "node:path";
import { nearest } from "../../domain/nearest.ts";
import { displayPath, readConfigFile } from "../bounded-file.ts";
import { ConfigError, type Finding, fileProblem } from "../config-error.ts";
import { decode } from "../issues.ts";
import { guideTo } from "../schema/files.ts";
import { type FleetFile, FleetFileSchema } from "../schema/fleet-schema.ts";
import type { Workspace } from "../workspace.ts";
import { YamlSource } from "../yaml/yaml-source.ts";
import { isPattern, namedBy } from "./choose-tenants.ts";
import { FLEET_FILE } from "./names.ts";
import { type Labels, selects } from "./selector.ts";

export type Wave = FleetFile["waves"][number];

/**
 * Reads `fleet.yaml` beside `tenants/`.
 *
 * @throws ConfigError with every problem, each at its place
 */
export function readFleetFile({ directory, tenants }: Workspace): FleetFile {
  const file = join(directory, FLEET_FILE);
  const guide = guideTo("fleet");
  const yaml = new YamlSource(readConfigFile(file), displayPath(file), guide);
  if (yaml.syntaxProblems.length > 0) throw new ConfigError(yaml.syntaxProblems);
  if (yaml.value === null) throw new ConfigError([fileProblem(yaml.file, "is empty: it needs version: 1 and waves")]);
  const { data, findings } = decode(FleetFileSchema, yaml.value, { guide });
  if (findings) throw new ConfigError(yaml.problems(findings));
  const broken = [...wavesSelect(data), ...waveNamesAreUnique(data), ...tenantsExist(data, tenants)];
  if (broken.length > 0) throw new ConfigError(yaml.problems(broken));
  return data;
}

/** The tenants of each wave, in the order of `labels`, and those without a wave. */
export function tenantsByWave(
  waves: readonly Wave[],
  labels: ReadonlyMap<string, Labels>,
): { waves: { wave: Wave; tenants: string[] }[]; unassigned: string[] } {
  const left = new Map(labels);
  const filled = waves.map((wave) => {
    const tenants = [...left].filter(([tenant, own]) => isInWave(wave, tenant, own)).map(([tenant]) => tenant);
    for (const tenant of tenants) left.delete(tenant);
    return { wave, tenants };
  });
  return { waves: filled, unassigned: [...left.keys()] };
}

function isInWave({ select, tenants }: Wave, tenant: string, labels: Labels): boolean {
  const isNamed = tenants === undefined || tenants.some((name) => namedBy(name)(tenant));
  return isNamed && (select === undefined || selects(select.requirements, labels));
}

/**
 * The part of a wave that matches no tenant of the directory: one of its patterns, or its whole selection. A wave whose
 * tenants all belong to earlier waves still matches them.
 */
export function selectsNothing(wave: Wave, labels: ReadonlyMap<string, Labels>): string | undefined {
  const { select, tenants = [] } = wave;
  const idle = tenants.filter((name) => ![...labels.keys()].some(namedBy(name)));
  if (idle.length > 0) return `tenants: ${idle.join(", ")}`;
  if ([...labels].some(([tenant, own]) => isInWave(wave, tenant, own))) return undefined;
  const stated = [
    ...(select ? [`labels: ${select.text}`] : []),
    ...(tenants.length > 0 ? [`tenants: ${tenants.join(", ")}`] : []),
  ];
  return stated.join(" and ");
}

function wavesSelect({ waves }: FleetFile): Finding[] {
  return waves.flatMap(({ select, tenants }, index) =>
    select || tenants ? [] : [{ path: ["waves", index], message: "needs select, tenants or both" }],
  );
}

function waveNamesAreUnique({ waves }: FleetFile): Finding[] {
  const names = waves.map(({ name }) => name);
  return names.flatMap((name, index) =>
    names.indexOf(name) === index
      ? []
      : [{ path: ["waves", index, "name"], message: `must be unique: ${JSON.stringify(name)} is already used above` }],
  );
}

/** A misspelt canary would be changed with the rest of the fleet. */
function tenantsExist(fleet: FleetFile, known: readonly string[]): Finding[] {
  const stated = [
    ...Object.keys(fleet.tenants).map((name) => ({ name, path: ["tenants", name], atKey: true })),
    ...fleet.waves.flatMap(({ tenants = [] }, wave) =>
      tenants.map((name, index) => ({ name, path: ["waves", wave, "tenants", index] })),
    ),
  ];
  return stated
    .filter(({ name }) => !isPattern(name) && !known.includes(name))
    .map(({ name, ...place }) => {
      const meant = nearest(name, known);
      const hint = meant === undefined ? "" : `; did you mean "${meant}"?`;
      return { ...place, message: `there is no such tenant here${hint}` };
    });
}
