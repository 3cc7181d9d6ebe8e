import type { JsonObject } from "../../openapi/openapi-parts.ts";
import { escapeHtml as text } from "../html.ts";
import { prose, table } from "./html.ts";

const FIELD_HEADS = ["Field", "Type", "Meaning"];

/** Types of the OpenAPI document as HTML. */

export function typeArticle(name: string, schema: JsonObject): string {
  return `<article id="type-${text(name)}"><h3>${text(name)}</h3><p class="soft">${prose(schema.description)}</p>${shapeOf(
    schema,
  )}</article>`;
}

/** The fields of an object that has no name of its own, else its type. */
export function shapeOf(schema: JsonObject): string {
  const rows = fieldsOf(schema);
  return rows.length > 0 ? table(FIELD_HEADS, rows) : `<p>${typeOf(schema)}</p>`;
}

/** A line for each field; those of an object within it come after it, as `selection.side` and `tiers[].minScore`. */
function fieldsOf(schema: JsonObject, within = ""): string[][] {
  const required = (schema.required ?? []) as string[];
  return Object.entries((schema.properties ?? {}) as Record<string, JsonObject>).flatMap(([name, part]) => {
    const path = `${within}${name}`;
    const words = `${required.includes(name) ? "" : "optional. "}${prose(part.description)}`;
    const isList = part.type === "array";
    const inner = isList ? ((part.items ?? {}) as JsonObject) : part;
    return [
      [`<code>${text(path)}</code>`, typeOf(part), words],
      ...(inner.$ref === undefined ? fieldsOf(inner, `${path}${isList ? "[]" : ""}.`) : []),
    ];
  });
}

export function typeOf(schema: JsonObject | undefined): string {
  if (!schema) return "";
  if (typeof schema.$ref === "string") {
    const name = text(schema.$ref.replace(/^.*\//, ""));
    return `<a href="#type-${name}">${name}</a>`;
  }
  if (schema.const !== undefined) return `<code>${text(JSON.stringify(schema.const))}</code>`;
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => `<code>${text(value)}</code>`).join(" | ");
  const options = (schema.anyOf ?? schema.oneOf) as JsonObject[] | undefined;
  if (options) return options.map(typeOf).join(" | ");
  if (schema.type === "array") return `array of ${typeOf(schema.items as JsonObject)}`;
  const bounds = ["minimum", "maximum", "minLength", "maxLength"].filter((bound) => schema[bound] !== undefined);
  const limits = bounds.map((bound) => `${bound} ${text(schema[bound])}`).join(", ");
  const types = [schema.type ?? "any"].flat().join(" | ");
  return `${text(types)}${limits ? ` <span class="soft">(${limits})</span>` : ""}`;
}
