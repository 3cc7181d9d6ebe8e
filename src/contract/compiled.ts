import { z } from "zod";

/** What a compiled encoder returns for a value that does not fit its schema. */
export const UNFIT = Symbol("unfit");

export type Encoder = (value: unknown) => unknown;

const encoders = new WeakMap<z.core.$ZodType, Encoder>();

/**
 * The function that encodes by a schema, generated at first use. zod compiles schemas for decoding only, so it compiles
 * the schema with its codecs reversed.
 * @returns a function that gives zod's wire form, or `UNFIT`; it throws where a codec's own function throws
 */
export function compiledEncoder(schema: z.core.$ZodType): Encoder {
  const known = encoders.get(schema);
  if (known) return known;
  const turned = z.compile(turnAround(schema));
  const encoder: Encoder = (value) => {
    const parsed = turned.safeParse(value);
    return parsed.success ? parsed.data : UNFIT;
  };
  encoders.set(schema, encoder);
  return encoder;
}

const decoders = new WeakMap<z.ZodType, z.ZodType>();

/**
 * A schema that decodes as the given one does, by a function generated at first use. Where that function finds an
 * error, zod itself decodes again and names the error.
 */
export function compiledDecoder(schema: z.ZodType): z.ZodType {
  let decoder = decoders.get(schema);
  if (!decoder) {
    decoder = z.compile(schema);
    decoders.set(schema, decoder);
  }
  return decoder;
}

/** A schema that decodes what the given one encodes. */
function turnAround(schema: z.core.$ZodType): z.ZodType {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case "string":
    case "number":
    case "bigint":
    case "boolean":
    case "enum":
    case "literal":
    case "null":
    case "unknown":
    case "never":
      return schema as z.ZodType;
  }
  // Any other check would see the encoded value once the schema is reversed, and not the decoded one.
  if (def.checks?.length) return encodedByZod(schema);
  switch (def.type) {
    case "optional":
      return z.optional(turnAround(def.innerType));
    case "nullable":
      return z.nullable(turnAround(def.innerType));
    // zod ignores a default when it encodes.
    case "default":
      return turnAround(def.innerType);
    case "union":
      return z.union(def.options.map(turnAround));
    case "array":
      return z.array(turnAround(def.element));
    case "record":
      return z.record(def.keyType as z.core.$ZodRecordKey, turnAround(def.valueType));
    case "object": {
      const fields = Object.entries(def.shape).map(([name, field]) => [name, turnAround(field)]);
      const object = z.object(Object.fromEntries(fields));
      return def.catchall ? object.catchall(turnAround(def.catchall)) : object;
    }
    case "pipe": {
      const { in: wire, out, transform, reverseTransform } = def;
      if (!transform || !reverseTransform) return encodedByZod(schema);
      return z.codec(turnAround(out), turnAround(wire), { decode: reverseTransform, encode: transform });
    }
    default:
      return encodedByZod(schema);
  }
}

/** Lets zod encode a part that cannot be reversed, such as JSON of any depth, whose schema refers to itself. */
function encodedByZod(schema: z.core.$ZodType): z.ZodType {
  return z.unknown().transform((value, context) => {
    const encoded = z.safeEncode(schema, value);
    if (encoded.success) return encoded.data;
    context.addIssue("does not fit");
    return z.NEVER;
  });
}
