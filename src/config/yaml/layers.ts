import { createHash } from "node:crypto";
import { dirname, resolve } from "node:path";
import { isMapping } from "../../domain/json/mapping.ts";
import { displayPath, isBelow, isReserved, readConfigFile } from "../bounded-file.ts";
import {
  ConfigError,
  type DiagnosticCode,
  type Finding,
  type Path,
  type Position,
  type Problem,
} from "../config-error.ts";
import type { SchemaGuide } from "../schema/schema-guide.ts";
import { OPERATOR_FILE } from "../selection/names.ts";
import { keepValue, readYaml, type Yaml } from "./read-yaml.ts";

/** The most files in one chain of `extends`. */
const MAX_LAYERS = 20;
/** The most named files: with two names in each file, a few files make millions of paths. */
const MAX_BASES = 50;

/** The state shared by all bases of one tenant file. */
interface Reading {
  guide: SchemaGuide;
  /** The folder that contains `tenants/`, absolute. */
  operator: string;
  /** Folders that may contain bases, the operator's among them, absolute. */
  roots: readonly string[];
  problems: Problem[];
  /** How many names may still be followed; negative once the excess was reported. */
  left: number;
}

/**
 * A tenant file on top of the files that it extends. Mappings are merged key by key, other values are replaced as a
 * whole, and later bases win. Each value remembers the file that states it, so that later errors can point there.
 */
export class LayeredSource {
  /** The tenant's own file, as problems name it. */
  readonly file: string;
  /** The tenant's folder, absolute, to which paths in the file are relative. */
  readonly directory: string;
  /** Further folders that may contain files of secrets and keys, absolute. */
  readonly roots: readonly string[];
  /** The files that it extends, directly and indirectly, absolute, the strongest first. */
  readonly bases: readonly string[];
  /** SHA-256 in hex of all texts that form the value. */
  readonly sha256: string;
  /** The merged data without `extends`; undefined if a file is invalid. */
  readonly value: unknown;
  /** The mistakes found before any schema is applied. */
  readonly syntaxProblems: readonly Problem[];
  /** The tenant's own file first; each wins over the later ones. */
  readonly #layers: readonly Yaml[];

  constructor(text: string, file: string, guide: SchemaGuide, roots: readonly string[]) {
    this.directory = resolve(dirname(file));
    this.roots = roots;
    const operator = dirname(dirname(this.directory));
    const own = readYaml(text, displayPath(file), guide);
    const problems: Problem[] = [];
    const reading = { guide, operator, roots: [operator, this.directory, ...roots], problems, left: MAX_BASES };
    const bases = basesOf(own, [resolve(file)], reading);
    this.bases = bases.map(({ path }) => path);
    this.#layers = [own, ...bases.map(({ layer }) => layer)];
    this.file = own.file;
    this.syntaxProblems = [...this.#layers.flatMap((layer) => layer.syntaxProblems), ...problems];
    const hashes = this.#layers.map(({ sha256 }) => sha256);
    this.sha256 = hashes.length === 1 ? own.sha256 : createHash("sha256").update(hashes.join("\n")).digest("hex");
    if (this.syntaxProblems.length === 0) this.value = mergedValue(this.#layers);
  }

  /** Keeps what the texts mean for later commands. Call it only where nothing is wrong with any of them. */
  keep(): void {
    for (const layer of this.#layers) keepValue(layer);
  }

  /** The file and position of a path's value, or of its nearest existing ancestor. */
  positionOf(path: Path, atKey = false): Position & { file: string } {
    const { layer } = this.#owner(path);
    return { file: layer.file, ...layer.positionOf(path, atKey) };
  }

  /** Whether one of the files states a value for a path; otherwise the default applies. */
  states(path: Path): boolean {
    return this.#owner(path).found;
  }

  /** Findings with their positions and frames, each in its own file. */
  problems(findings: readonly Finding[]): Problem[] {
    return this.#layers.flatMap((layer) =>
      layer.problems(findings.filter(({ path }) => this.#owner(path).layer === layer)),
    );
  }

  /** The file that determines a path's value, or else its nearest stated ancestor. */
  #owner(path: Path): { layer: Yaml; found: boolean } {
    let holders = this.#layers.map((layer) => ({ layer, value: layer.value }));
    for (const step of path) {
      const next: typeof holders = [];
      for (const { layer, value } of holders) {
        if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) continue;
        const child = (value as Record<string | number, unknown>)[step];
        // Only mappings are merged: any other value hides those of later files, and a mapping before it hides it.
        if (next.length === 0 || isMapping(child)) next.push({ layer, value: child });
        if (!isMapping(child)) break;
      }
      if (next.length === 0) return { layer: holders[0]?.layer ?? this.#own, found: false };
      holders = next;
    }
    return { layer: holders[0]?.layer ?? this.#own, found: true };
  }

  get #own(): Yaml {
    return this.#layers[0] as Yaml;
  }
}

/** A file that another file extends. */
interface Base {
  /** Absolute. */
  path: string;
  layer: Yaml;
}

/** The direct and indirect bases of a file, the strongest first. */
function basesOf(source: Yaml, chain: readonly string[], reading: Reading): Base[] {
  const { value } = source;
  if (!isMapping(value) || value.extends === undefined) return [];
  const isList = Array.isArray(value.extends);
  const names: unknown[] = Array.isArray(value.extends) ? value.extends : [value.extends];
  const layers: Base[] = [];
  for (const [index, name] of [...names.entries()].reverse()) {
    const path = isList ? ["extends", index] : ["extends"];
    const report = (message: string, code?: DiagnosticCode) =>
      reading.problems.push(...source.problems([{ path, message, code }]));
    if (reading.left <= 0) {
      if (reading.left === 0) report(`exceeds the ${MAX_BASES} files that a tenant file may extend`);
      reading.left = -1;
      break;
    }
    reading.left -= 1;
    if (typeof name !== "string" || name === "") {
      report("must be a file such as ../base.yaml, or a list of files", "WRONG_TYPE");
      continue;
    }
    const file = resolve(dirname(chain.at(-1) ?? ""), name);
    if (chain.includes(file)) report(`must not lead back to itself: ${[...chain, file].map(displayPath).join(" -> ")}`);
    else if (chain.length >= MAX_LAYERS) report(`is too deep: at most ${MAX_LAYERS} files may extend one another`);
    else layers.push(...readBase(file, [...chain, file], reading, report));
  }
  return layers;
}

function readBase(file: string, chain: readonly string[], reading: Reading, report: (message: string) => void): Base[] {
  const refusal = refusalOf(file, reading);
  if (refusal !== undefined) {
    report(refusal);
    return [];
  }
  let text: string;
  try {
    text = readConfigFile(file);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    report(`${displayPath(file)} ${error.problems[0]?.message ?? "cannot be read"}`);
    return [];
  }
  const base = readYaml(text, displayPath(file), reading.guide);
  if (base.syntaxProblems.length > 0) return [{ path: file, layer: base }];
  if (!isMapping(base.value)) report(`${base.file} must contain a mapping, like a tenant file`);
  // Two tenants with the same name would share a database.
  else if (base.value.tenant !== undefined)
    reading.problems.push(
      ...base.problems([{ path: ["tenant"], message: "must be in the tenant's own file", atKey: true }]),
    );
  return [{ path: file, layer: base }, ...basesOf(base, chain, reading)];
}

/** Checked before the file is read, because problems would reveal its lines and whether it exists. */
function refusalOf(file: string, { operator, roots }: Reading): string | undefined {
  if (!isBelow(file, roots))
    return `leads out of the operator's directory: list its folder in ${OPERATOR_FILE} under secrets.files`;
  return isReserved(file, operator) ? "must be configuration: .pmctl, .git and .env hold secrets" : undefined;
}

function mergedValue(layers: readonly Yaml[]): unknown {
  const merged = layers.map(({ value }) => value).reduceRight((below, above) => merge(below, above));
  if (!isMapping(merged)) return merged;
  const { extends: _, ...value } = merged;
  return value;
}

function merge(below: unknown, above: unknown): unknown {
  if (!isMapping(below) || !isMapping(above)) return above;
  const names = [...new Set([...Object.keys(below), ...Object.keys(above)])];
  // From entries, so that a key like __proto__ stays a key.
  return Object.fromEntries(
    names.map((name) => {
      const value = Object.hasOwn(above, name) ? above[name] : below[name];
      return [name, Object.hasOwn(above, name) && Object.hasOwn(below, name) ? merge(below[name], value) : value];
    }),
  );
}
