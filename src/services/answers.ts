import type { z } from "zod";
import { encode, mismatchOf } from "../contract/encode.ts";
import { type OperationId, operations, type Result, type WireResult } from "../contract/operations.ts";
import { parseLossless } from "../domain/json/exact-json.ts";

/** An answer that was sent although it does not fit the contract. */
export interface Mismatch {
  /** The operation's id as in the OpenAPI document. */
  operation: string;
  problem: string;
}

/** Sources run in tests and in development, where a mismatch must be noticed; the build runs in production. */
let isStrict = import.meta.filename.endsWith(".ts");
const listeners = new Set<(mismatch: Mismatch) => void>();

/** Calls the listener for every mismatch in this process; returns a function that removes the listener. */
export function onMismatch(listener: (mismatch: Mismatch) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Sets whether a mismatch throws (the default for sources) or is only reported; returns the previous setting. */
export function holdAnswersStrictly(strict: boolean): boolean {
  const before = isStrict;
  isStrict = strict;
  return before;
}

/** Wire form of a handler's result. In production it never fails, so every completed change is answered. */
export function encodeResult<Id extends OperationId>(id: Id, result: Result<Id>): WireResult<Id> {
  const { output } = operations[id];
  if (!("paged" in operations[id])) return encodeAs(id, output, result) as WireResult<Id>;
  const { items, nextCursor } = result as { items: unknown; nextCursor: string | null };
  return { items: encodeAs(id, output, items), nextCursor } as WireResult<Id>;
}

/** Checks a value in wire form, such as an event, against its schema, and returns the value. */
export function holdAgainst<Wire>(operation: string, schema: z.ZodType, wire: Wire): Wire {
  const problem = mismatchOf(schema, wire);
  if (problem !== undefined) report({ operation, problem });
  return wire;
}

/** Wire form of a value by its schema. @param operation the operation that returns the value */
export function encodeAs(operation: string, schema: z.ZodType, value: unknown): unknown {
  const { wire, mismatch } = encode(schema, value);
  if (mismatch !== undefined) report({ operation, problem: mismatch });
  return wire;
}

function report(mismatch: Mismatch): void {
  for (const listener of listeners) listener(mismatch);
  if (isStrict) throw new Error(`The answer of ${mismatch.operation} does not fit its schema: ${mismatch.problem}`);
}

/**
 * An answer in wire form, created as a value or as text. The other form is derived on first use and kept: requests that
 * share a result share its text too.
 */
export class Wire<Value> {
  #value: Value | undefined;
  #text: string | undefined;
  #byteLength: number | undefined;

  private constructor(value: Value | undefined, text: string | undefined) {
    this.#value = value;
    this.#text = text;
  }

  static ofValue<Value>(value: Value): Wire<Value> {
    return new Wire(value, undefined);
  }

  /** @param text JSON */
  static ofText<Value>(text: string): Wire<Value> {
    return new Wire<Value>(undefined, text);
  }

  get value(): Value {
    this.#value ??= parseLossless(this.#text ?? "null") as Value;
    return this.#value;
  }

  get text(): string {
    this.#text ??= JSON.stringify(this.#value);
    return this.#text;
  }

  /** The length of `text` in UTF-8 bytes. */
  get byteLength(): number {
    this.#byteLength ??= Buffer.byteLength(this.text);
    return this.#byteLength;
  }
}
