import { createHash } from "node:crypto";
import { onDemand } from "../on-demand.ts";
import type { SchemaGuide } from "../schema/schema-guide.ts";
import { keep, recall } from "./known-texts.ts";

type YamlSource = InstanceType<typeof import("./yaml-source.ts").YamlSource>;

/** A YAML text that keeps the position of everything, as {@link YamlSource} describes it. */
export type Yaml = Pick<YamlSource, "file" | "sha256" | "value" | "syntaxProblems" | "positionOf" | "problems">;

const parser = onDemand<typeof import("./yaml-source.ts")>(import.meta.url, "./yaml-source");

/**
 * Parses a text. A text that {@link keepValue} was given by an earlier command is parsed only for a position.
 *
 * @param file the file as problems name it
 */
export function readYaml(text: string, file: string, guide: SchemaGuide): Yaml {
  const parse = () => new (parser().YamlSource)(text, file, guide);
  const sha256 = createHash("sha256").update(text).digest("hex");
  const known = recall("yaml", sha256);
  if (!known) return parse();
  let parsed: YamlSource | undefined;
  const source = () => {
    parsed ??= parse();
    return parsed;
  };
  return {
    ...{ file, sha256, value: known.value, syntaxProblems: [] },
    positionOf: (path, atKey) => source().positionOf(path, atKey),
    problems: (findings) => (findings.length === 0 ? [] : source().problems(findings)),
  };
}

/** Keeps the value of a text for later commands. Call it only for a file without mistakes: others may hold a secret. */
export function keepValue({ sha256, value }: Pick<Yaml, "sha256" | "value">): void {
  keep("yaml", sha256, value);
}
