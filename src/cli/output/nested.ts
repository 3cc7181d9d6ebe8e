import { NumberText } from "../../domain/json/exact-json.ts";
import { plain } from "./cells.ts";
import type { Field } from "./table.ts";

/** A field of a record; an object or a list has a line for each key or item, indented as in YAML. */
export function nestedField(name: string, value: unknown): Field {
  return isBranch(value) ? [name, "", linesOf(value)] : [name, plain(value)];
}

/** Whether a value has lines of its own. An empty one is a word. */
function isBranch(value: unknown): value is object {
  return typeof value === "object" && value !== null && !(value instanceof NumberText) && Object.keys(value).length > 0;
}

function linesOf(branch: object): string[] {
  const isList = Array.isArray(branch);
  return Object.entries(branch).flatMap(([key, value]) => {
    const lead = isList ? "-" : `${key}:`;
    if (!isBranch(value)) return [`${lead} ${value === null ? "null" : plain(value)}`];
    const inner = linesOf(value).map((line) => `  ${line}`);
    // The first key of an item is beside its dash.
    return isList ? inner.map((line, at) => (at === 0 ? `- ${line.slice(2)}` : line)) : [lead, ...inner];
  });
}
