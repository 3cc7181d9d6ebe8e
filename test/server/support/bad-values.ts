/** As much of JSON Schema as the contract's inputs use. */
export interface Schema {
  type?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  additionalProperties?: Schema | boolean;
  anyOf?: Schema[];
  enum?: unknown[];
  const?: unknown;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
  minLength?: number;
  maxLength?: number;
  maxItems?: number;
  pattern?: string;
  $ref?: string;
  $defs?: Record<string, Schema>;
  id?: string;
}

type Input = Record<string, unknown>;

export interface BadValue {
  name: string;
  /** The dotted path that the refusal must name. */
  field: string;
  input: Input;
}

/**
 * Inputs that are wrong in one field each, from the schema: of another type, null, too long, with a NUL, out of range,
 * missing.
 * @param nullIsAbsent whether `null` is right for a field that may be left out
 * @param texts fields that only ever arrive as text, because they travel in a path or a query
 */
export function badValues(
  schema: Schema,
  right: Input,
  { texts, nullIsAbsent = false }: { texts: "all" | readonly string[]; nullIsAbsent?: boolean },
): BadValue[] {
  const definitions = schema.$defs ?? {};
  const resolve = (part: Schema): Schema =>
    part.$ref === undefined ? part : resolve(definitions[part.$ref.replace(/^.*\//, "")] ?? {});

  function visit(part: Schema, path: readonly string[], required: boolean): BadValue[] {
    const field = path.join(".");
    const asText = texts === "all" || texts.includes(field);
    const set = (what: string, value: unknown): BadValue => ({
      name: `${field} ${what}`,
      field,
      input: withValue(right, path, value),
    });
    const resolved = resolve(part);
    const values = wrongValues(resolved, asText, nullIsAbsent && !required).map(([what, value]) => set(what, value));
    // A path's segment is always there.
    if (required && !asText) values.push(set("missing", undefined));
    const inner = Object.entries(resolved.properties ?? {}).flatMap(([name, each]) =>
      visit(each, [...path, name], resolved.required?.includes(name) ?? false),
    );
    return [...values, ...inner];
  }

  const { properties = {}, required = [] } = resolve(schema);
  return Object.entries(properties).flatMap(([name, part]) => visit(part, [name], required.includes(name)));
}

/** A copy with one value changed, and what stands above it created. */
function withValue(input: Input, [first = "", ...rest]: readonly string[], value: unknown): Input {
  const { [first]: present, ...others } = input;
  if (rest.length === 0) return value === undefined ? others : { ...input, [first]: value };
  return { ...input, [first]: withValue((present ?? {}) as Input, rest, value) };
}

function wrongValues(schema: Schema, asText: boolean, nullIsAbsent: boolean): [what: string, value: unknown][] {
  const options = schema.anyOf ?? [schema];
  const types = options.map(({ type, const: only, enum: several }) =>
    only !== undefined ? typeof only : several ? typeof several[0] : (type ?? "any"),
  );
  if (types.includes("any")) return [];
  const takes = (type: string) => types.includes(type);
  const wrong: [string, unknown][] = [];
  if (!asText) {
    if (!takes("null") && !nullIsAbsent) wrong.push(["null", null]);
    if (!takes("boolean")) wrong.push(["a boolean", true]);
    if (!takes("number") && !takes("integer")) wrong.push(["a number", 7]);
    if (!takes("array")) wrong.push(["an array", []]);
    if (!takes("object")) wrong.push(["an object", {}]);
  }
  if (!takes("string")) wrong.push(["text", "seven"]);
  if (takes("integer")) wrong.push(["no whole number", 1.5]);
  if (takes("number") || takes("integer")) wrong.push(["beyond all numbers", 1e300]);
  if (takes("string")) wrong.push(["with a NUL", "a\0b"]);
  // An address cannot even say it.
  if (takes("string") && !asText) wrong.push(["half a character", "a\ud800"]);
  if (takes("string") && !options.some(({ type, minLength = 0 }) => type === "string" && minLength === 0))
    wrong.push(["empty", ""]);
  for (const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, maxLength, maxItems, items, pattern } of options) {
    if (minimum !== undefined) wrong.push(["too small", minimum - 1]);
    if (maximum !== undefined) wrong.push(["too large", maximum + 1]);
    if (exclusiveMinimum !== undefined) wrong.push(["at its lower bound", exclusiveMinimum]);
    if (exclusiveMaximum !== undefined) wrong.push(["at its upper bound", exclusiveMaximum]);
    if (maxLength !== undefined) wrong.push(["too long", "x".repeat(maxLength + 1)]);
    if (pattern !== undefined && !new RegExp(pattern, "u").test("\n?")) wrong.push(["of another form", "\n?"]);
    if (maxItems !== undefined && items) wrong.push(["with too many items", Array(maxItems + 1).fill("US")]);
  }
  return wrong;
}
