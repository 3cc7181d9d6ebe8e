import type { z } from "zod";
import { encode, mismatchOf } from "../contract/encode.ts";
import { type OperationId, operations, type Result, type WireResult } from "../contract/operations.ts";

/** Something that went out although it is not what the contract says. */
export interface Mismatch {
  /** The operation's id as in the OpenAPI document. */
  operation: string;
  problem: string;
}

/** Sources run in tests and in development, where a mismatch has to be noticed; what is built runs in production. */
let isStrict = import.meta.filename.endsWith(".ts");
const listeners = new Set<(mismatch: Mismatch) => void>();

/** Tells of every mismatch of this process from now on; returns how to end that. */
export function onMismatch(listener: (mismatch: Mismatch) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Whether a mismatch is an error (the sources' default) or is answered all the same; returns what held before. */
export function holdAnswersStrictly(strict: boolean): boolean {
  const before = isStrict;
  isStrict = strict;
  return before;
}

/** Wire form of a handler's result. In production it never fails: a change that is made is answered. */
export function encodeResult<Id extends OperationId>(id: Id, result: Result<Id>): WireResult<Id> {
  const { output } = operations[id];
  if (!("paged" in operations[id])) return encodeAs(id, output, result) as WireResult<Id>;
  const { items, nextCursor } = result as { items: unknown; nextCursor: string | null };
  return { items: encodeAs(id, output, items), nextCursor } as WireResult<Id>;
}

/** Holds a value that is in wire form already, such as an event, against its schema, and gives it back. */
export function holdAgainst<Wire>(operation: string, schema: z.ZodType, wire: Wire): Wire {
  const problem = mismatchOf(schema, wire);
  if (problem !== undefined) report({ operation, problem });
  return wire;
}

/**
 * Makes what goes out of a stored row.
 * @returns undefined where that fails, because the row holds what no version of this program has written; it is reported
 */
export function madeOf<Value>(operation: string, make: () => Value): Value | undefined {
  try {
    return make();
  } catch (error) {
    report({ operation, problem: error instanceof Error ? error.message : String(error) });
    return undefined;
  }
}

/** Wire form of a value by its schema. @param operation what answers with it */
export function encodeAs(operation: string, schema: z.ZodType, value: unknown): unknown {
  const { wire, mismatch } = encode(schema, value);
  if (mismatch !== undefined) report({ operation, problem: mismatch });
  return wire;
}

function report(mismatch: Mismatch): void {
  for (const listener of listeners) listener(mismatch);
  if (isStrict) throw new Error(`The answer of ${mismatch.operation} is not what its schema says: ${mismatch.problem}`);
}

/**
 * An answer in wire form. It is made once, as a value or as text, and the other is had from it when it is asked for.
 */
export class Wire<Value> {
  #value: Value | undefined;
  #text: string | undefined;

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
    this.#value ??= JSON.parse(this.#text ?? "null") as Value;
    return this.#value;
  }

  get text(): string {
    this.#text ??= JSON.stringify(this.#value);
    return this.#text;
  }
}
