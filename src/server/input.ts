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
  /** Whether a request may come without a body: each of its fields has a default. */
  bodyIsOptional: boolean;
  bodyLimitBytes: number;
  /** Whether it changes something: then its body and `Content-Type` must be JSON. */
  isChange: boolean;
}

/** Derives from a row of the contract where the fields of its requests are. */
export function planInput({ method, path, input, inQuery, bodyLimitBytes = BODY_LIMIT_BYTES }: Operation): InputPlan {
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name = ""]) => name);
  const isChange = method !== "GET";
  if (!isChange || inQuery) return { path: inPath, rest: "query", bodyIsOptional: true, bodyLimitBytes, isChange };
  // A loose schema takes fields that it does not name.
  const hasOthers =
    input.def.catchall instanceof z.ZodUnknown || Object.keys(input.shape).some((name) => !inPath.includes(name));
  // A PUT replaces what is there, so it needs a body.
  const bodyIsOptional =
    method !== "PUT" &&
    Object.entries(input.shape).every(([name, schema]) => inPath.includes(name) || schema.safeParse(undefined).success);
  return { path: inPath, rest: hasOthers ? "body" : "nothing", bodyIsOptional, bodyLimitBytes, isChange };
}

/**
 * One flat object from path, query and body; the path wins, so that a body cannot redirect a request to another market.
 * @throws Fault BAD_REQUEST
 */
export async function assembleInput(exchange: Exchange, plan: InputPlan): Promise<Record<string, unknown>> {
  let input: Record<string, unknown> = {};
  const mayBeEmpty = plan.rest !== "body" || plan.bodyIsOptional;
  if (plan.isChange && !(mayBeEmpty && hasNoBody(exchange.req) && exchange.header("content-type") === undefined)) {
    // Also where nothing is read from the body: what a form on a hostile page can send must change nothing.
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

/** Targets that one route remembers, and how long they may be. */
const REMEMBERED_TARGETS = 500;
const LONGEST_REMEMBERED = 1024;

/**
 * The decoded inputs of a route's recent reads, by their request target. A read has no body, so the target alone decides
 * its input; parsing and validating it again costs as much as answering from memory.
 */
export class RememberedInputs<Id extends OperationId> {
  readonly #byTarget = new BoundedCache<Input<Id>>(REMEMBERED_TARGETS);

  get({ req }: Exchange): Input<Id> | undefined {
    return this.#byTarget.get(req.url ?? "");
  }

  /** @param input valid; it is frozen, because later requests share it */
  set({ req: { url = "" } }: Exchange, input: Input<Id>): void {
    if (url.length > LONGEST_REMEMBERED) return;
    Object.freeze(input);
    this.#byTarget.set(url, input);
  }
}

/** A repeated name is refused, because readers disagree about which value counts. */
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
