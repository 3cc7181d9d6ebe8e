import { z } from "zod";
import type { Operation } from "../contract/operation.ts";
import type { Input, OperationId } from "../contract/operations.ts";
import { Fault } from "../domain/fault.ts";
import { NOT_KEPT, pathOfNumberText } from "../domain/json/exact-json.ts";
import { BoundedCache } from "./access/bounded-cache.ts";
import { hasNoBody, parseJsonObject, readBody, requireJson } from "./body.ts";
import type { Exchange } from "./exchange.ts";

const BODY_LIMIT_BYTES = 64 * 1024;

/** Where the fields of an operation's input come from. */
export interface InputPlan {
  /** Names of `:name` segments. */
  path: readonly string[];
  rest: "query" | "body" | "nothing";
  /** Whether the body may be missing, because each of its fields has a default. */
  bodyIsOptional: boolean;
  bodyLimitBytes: number;
  /** Whether the operation changes something, so that its body and `Content-Type` must be JSON. */
  isChange: boolean;
}

/** Derives from an operation's row where the fields of its requests are. */
export function planInput({ method, path, input, inQuery, bodyLimitBytes = BODY_LIMIT_BYTES }: Operation): InputPlan {
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name = ""]) => name);
  const isChange = method !== "GET";
  if (!isChange || inQuery) return { path: inPath, rest: "query", bodyIsOptional: true, bodyLimitBytes, isChange };
  // A loose schema accepts fields that it does not name.
  const hasOthers =
    input.def.catchall instanceof z.ZodUnknown || Object.keys(input.shape).some((name) => !inPath.includes(name));
  // A PUT replaces a resource, so it needs a body.
  const bodyIsOptional =
    method !== "PUT" &&
    Object.entries(input.shape).every(([name, schema]) => inPath.includes(name) || schema.safeParse(undefined).success);
  return { path: inPath, rest: hasOthers ? "body" : "nothing", bodyIsOptional, bodyLimitBytes, isChange };
}

/**
 * Combines path, query and body into one flat object. The path wins, so that a body cannot redirect a request to another market.
 * @throws Fault BAD_REQUEST
 */
export async function assembleInput(exchange: Exchange, plan: InputPlan): Promise<Record<string, unknown>> {
  let input: Record<string, unknown> = {};
  const mayBeEmpty = plan.rest !== "body" || plan.bodyIsOptional;
  if (plan.isChange && !(mayBeEmpty && hasNoBody(exchange.req) && exchange.header("content-type") === undefined)) {
    // Also checked if the operation reads no body: a form on a hostile page must not change anything.
    requireJson(exchange.header("content-type"));
    if (!(mayBeEmpty && hasNoBody(exchange.req))) {
      const body = parseJsonObject(await readBody(exchange.req, plan.bodyLimitBytes));
      const lost = pathOfNumberText(body);
      if (lost !== undefined) throw new Fault("BAD_REQUEST", `${lost}: ${NOT_KEPT}`);
      if (plan.rest === "body") input = body;
    }
  }
  if (plan.rest === "query" && exchange.search !== "") input = parseQuery(exchange.search);
  for (const name of plan.path) input[name] = decodeSegment(exchange.params[name] ?? "");
  return input;
}

/** The number of targets that a route remembers, and their longest length. */
const REMEMBERED_TARGETS = 500;
const LONGEST_REMEMBERED = 1024;

/**
 * The decoded inputs of a route's recent reads, by request target. A read has no body, so the target alone decides its
 * input. Parsing and validating it again would cost as much as answering from memory.
 */
export class RememberedInputs<Id extends OperationId> {
  readonly #byTarget = new BoundedCache<Input<Id>>(REMEMBERED_TARGETS);

  get({ req }: Exchange): Input<Id> | undefined {
    return this.#byTarget.get(req.url ?? "");
  }

  /** @param input a valid input, which is frozen because later requests share it */
  set({ req: { url = "" } }: Exchange, input: Input<Id>): void {
    if (url.length > LONGEST_REMEMBERED) return;
    Object.freeze(input);
    this.#byTarget.set(url, input);
  }
}

/** A repeated parameter is refused, because readers disagree about which value counts. */
function parseQuery(search: string): Record<string, unknown> {
  const query: Record<string, unknown> = {};
  for (const [name, value] of new URLSearchParams(search)) {
    if (Object.hasOwn(query, name)) throw new Fault("BAD_REQUEST", "A query parameter is given twice");
    query[name] = value;
  }
  return query;
}

function decodeSegment(segment: string): string {
  if (!segment.includes("%")) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new Fault("BAD_REQUEST", "The path is not valid");
  }
}
