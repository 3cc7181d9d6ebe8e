import { readFileSync } from "node:fs";
import { stringify } from "yaml";
import { invariant } from "../../domain/fault.ts";

const TEMPLATES = new URL("../../../templates/deploy/", import.meta.url);

/** A place alone on its line, with its indent, or a place within a line. */
const PLACE = /^( *)\{\{(\w+)\}\}\n|\{\{(\w+)\}\}/gm;

/**
 * The text of a file below `templates/deploy`, with its places `{{name}}` filled. A place alone on its line takes any
 * number of lines with the same indent; without any, the line is removed.
 */
export function fillTemplate(path: string, values: Readonly<Record<string, string | number>>): string {
  return readFileSync(new URL(path, TEMPLATES), "utf8").replace(
    PLACE,
    (_, indent: string | undefined, alone: string | undefined, within: string | undefined) => {
      const name = alone ?? within ?? "";
      const value = values[name];
      invariant(value !== undefined, `${path} has a place ${name} without a value`);
      const text = String(value);
      if (alone === undefined) return text;
      return text === "" ? "" : `${text.replaceAll(/^(?=.)/gm, indent ?? "")}\n`;
    },
  );
}

/**
 * A value as YAML, without the final line break. Written for YAML 1.1, which kubectl, Compose and Patroni read. Its
 * booleans include words such as `on` and `no`, which may be the name of a tenant.
 */
export function yaml(value: unknown): string {
  return stringify(value, { version: "1.1", lineWidth: 0, aliasDuplicateObjects: false }).trimEnd();
}

/** The items of a list or the entries of a mapping, for a place alone on its line. */
export function yamlLines(value: readonly unknown[] | Readonly<Record<string, unknown>>): string {
  return Object.keys(value).length === 0 ? "" : yaml(value);
}
