import type { Path } from "../config-error.ts";
import type { JsonSchema } from "./json-schema.ts";

/** One form that a value may have. `secret` is the schema's `writeOnly`, even if a wrapper states it. */
interface Alternative {
  schema: JsonSchema;
  secret: boolean;
}

const SCALARS = new Set(["string", "number", "integer", "boolean"]);

/**
 * Answers two questions about a document from its JSON Schema: which keys are possible at a place, and which text an
 * error may show. It shows only text that the schema knows to be public. A literal secret can be anywhere else, such as
 * under a misspelt key, so masking by place or by appearance would miss some.
 */
export class SchemaGuide {
  readonly #makeRoot: () => JsonSchema;

  /** @param makeRoot called only for an error: a valid document needs no schema, which is expensive to create */
  constructor(makeRoot: () => JsonSchema) {
    this.#makeRoot = makeRoot;
  }

  get #root(): JsonSchema {
    return this.#makeRoot();
  }

  /** The names that a mapping at this place may use; empty if any name is allowed, or none. */
  knownKeys(path: Path): string[] {
    return [...new Set(this.#at(path).flatMap(({ schema }) => Object.keys(schema.properties ?? {})))];
  }

  /**
   * Why a mapping with another key cannot contain `key`: that key itself, or its `value`; undefined if both may be
   * present.
   */
  clash(path: Path, key: string, [other, value]: readonly [key: string, value: unknown]): "key" | "value" | undefined {
    const withKey = this.#at(path).filter(({ schema }) => Object.hasOwn(schema.properties ?? {}, key));
    const withBoth = withKey.flatMap(({ schema }) => schema.properties?.[other] ?? []);
    if (withBoth.length === 0) return "key";
    const taken = withBoth.map(({ const: only, enum: several }) => (only === undefined ? several : [only]));
    return taken.some((values) => values === undefined || values.includes(value)) ? undefined : "value";
  }

  /**
   * Whether a scalar at this place may be shown: the schema expects one, and if it may be a secret, the value has a
   * form that is known to be none, such as a well-formed variable name.
   */
  mayShowValue(path: Path, value: unknown): boolean {
    const alternatives = this.#at(path);
    const mayBeSecret = alternatives.some(({ secret }) => secret);
    return alternatives.some(({ schema }) => {
      if (!mayBeSecret) return SCALARS.has(schema.type ?? "");
      if (schema.const !== undefined) return schema.const === value;
      return schema.pattern !== undefined && new RegExp(schema.pattern).test(String(value));
    });
  }

  /** Whether a key may be shown: the schema names it, or it looks like a name in a mapping without secrets. */
  mayShowKey(parent: Path, key: string): boolean {
    const alternatives = this.#at(parent);
    if (alternatives.some(({ schema }) => Object.hasOwn(schema.properties ?? {}, key))) return true;
    return alternatives.length > 0 && !alternatives.some(({ secret }) => secret) && /^[A-Za-z][\w.:-]{0,39}$/.test(key);
  }

  /** Every property name of the schema: the words of invalid YAML that may be shown. */
  vocabulary(): Set<string> {
    const names = new Set<string>();
    const visit = (node: unknown): void => {
      if (typeof node !== "object" || node === null) return;
      for (const [name, child] of Object.entries(node)) {
        if (name === "properties") for (const property of Object.keys(child as object)) names.add(property);
        visit(child);
      }
    };
    visit(this.#root);
    return names;
  }

  #at(path: Path): Alternative[] {
    let here = this.#expand(this.#root, false);
    for (const step of path) here = here.flatMap(({ schema }) => this.#child(schema, step));
    return here;
  }

  #child(schema: JsonSchema, step: string | number): Alternative[] {
    if (typeof step === "number") {
      const item = Array.isArray(schema.items) ? schema.items[step] : schema.items;
      return item ? this.#expand(item, false) : [];
    }
    const known = Object.hasOwn(schema.properties ?? {}, step) ? schema.properties?.[step] : undefined;
    const child = known ?? schema.additionalProperties;
    return typeof child === "object" ? this.#expand(child, false) : [];
  }

  /** Follows references and alternatives to the schemas that describe a value themselves. */
  #expand(schema: JsonSchema, inherited: boolean): Alternative[] {
    const secret = inherited || schema.writeOnly === true;
    if (schema.$ref !== undefined) {
      const target = this.#root.definitions?.[schema.$ref.replace("#/definitions/", "")];
      return target ? this.#expand(target, secret) : [];
    }
    const branches = schema.anyOf ?? schema.oneOf ?? schema.allOf;
    return branches ? branches.flatMap((branch) => this.#expand(branch, secret)) : [{ schema, secret }];
  }
}
