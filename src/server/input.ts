import { z } from "zod";
import type { Operation } from "../contract/operation.ts";
import { Fault } from "../domain/fault.ts";
import { hasNoBody, parseJsonObject, readBody, requireJson } from "./body.ts";
import type { Exchange } from "./exchange.ts";

const BODY_LIMIT_BYTES = 64 * 1024;
const NO_BODY: Buffer = Buffer.alloc(0);

/** Where the fields of an operation's input come from. */
export interface InputPlan {
  /** Names of `:name` segments. */
  path: readonly string[];
  rest: "query" | "body" | "nothing";
  /** Whether a request may come without a body: each of its fields has a default. */
  bodyIsOptional: boolean;
  bodyLimitBytes: number;
}

export interface AssembledInput {
  input: Record<string, unknown>;
  rawBody: Buffer;
}

/** Derives from a row of the contract where the fields of its requests are. */
export function planInput({ method, path, input, bodyLimitBytes = BODY_LIMIT_BYTES }: Operation): InputPlan {
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name = ""]) => name);
  if (method === "GET") return { path: inPath, rest: "query", bodyIsOptional: true, bodyLimitBytes };
  // A loose schema takes fields that it does not name.
  const hasOthers =
    input.def.catchall instanceof z.ZodUnknown || Object.keys(input.shape).some((name) => !inPath.includes(name));
  const bodyIsOptional = Object.entries(input.shape).every(
    ([name, schema]) => inPath.includes(name) || schema.safeParse(undefined).success,
  );
  return { path: inPath, rest: hasOthers ? "body" : "nothing", bodyIsOptional, bodyLimitBytes };
}

/**
 * One flat object from path, query and body; the path wins, so that a body cannot redirect a request to another market.
 * @throws Fault BAD_REQUEST
 */
export async function assembleInput(exchange: Exchange, plan: InputPlan): Promise<AssembledInput> {
  let input: Record<string, unknown> = {};
  let rawBody = NO_BODY;
  if (plan.rest === "body" && !(plan.bodyIsOptional && hasNoBody(exchange.req))) {
    requireJson(exchange.header("content-type"));
    rawBody = await readBody(exchange.req, plan.bodyLimitBytes);
    input = parseJsonObject(rawBody);
  } else if (plan.rest === "query" && exchange.search !== "") {
    input = parseQuery(exchange.search);
  }
  for (const name of plan.path) input[name] = decodeSegment(exchange.params[name] ?? "");
  return { input, rawBody };
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
