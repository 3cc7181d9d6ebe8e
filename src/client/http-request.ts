import type { OperationId } from "../contract/operations.ts";
import { wireFacts } from "../contract/wire-facts.ts";
import { Fault } from "../domain/fault.ts";

/** A request in the form of `fetch`. */
export interface WireRequest {
  method: "GET" | "POST" | "PUT" | "DELETE";
  /** Path and query, relative to the server's address. */
  target: string;
  body: string | undefined;
}

/** `GET /v1/markets/trending` would answer `GET /v1/markets/:id` with "trending" as its id. */
const fixedRoutes = new Set(
  Object.values(wireFacts)
    .map(({ method, path }) => `${method} ${path}`)
    .filter((route) => !route.includes(":")),
);

/**
 * Puts an operation's input into path, query and body.
 *
 * @throws Fault BAD_REQUEST when a path parameter is missing; NOT_FOUND or MARKET_NOT_FOUND when the path would lead to
 * another operation
 */
export function wireRequest(id: OperationId, input: Readonly<Record<string, unknown>>): WireRequest {
  const { method, path, takes, inQuery } = wireFacts[id];
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name = ""]) => name);
  const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => pathSegment(path, name, input[name]));
  if (names.length > 0 && fixedRoutes.has(`${method} ${filled}`)) throw unroutable(path);

  const rest = Object.entries(input).filter(([name, value]) => !names.includes(name) && value !== undefined);
  if (method === "GET" || inQuery) {
    const query = new URLSearchParams(rest.map(([name, value]): [string, string] => [name, String(value)])).toString();
    return { method, target: query === "" ? filled : `${filled}?${query}`, body: undefined };
  }
  // An operation without further input sends no body.
  const takesBody = takes.some((name) => !names.includes(name));
  return { method, target: filled, body: takesBody ? JSON.stringify(Object.fromEntries(rest)) : undefined };
}

function pathSegment(path: string, name: string, value: unknown): string {
  const text = value === undefined ? "" : String(value);
  if (text === "") throw new Fault("BAD_REQUEST", `${name}: is required`);
  // URLs drop these two segments however they are encoded, so the request would go to another path.
  if (text === "." || text === "..") throw unroutable(path);
  return encodeURIComponent(text);
}

/** The server's error for an unknown identifier. */
function unroutable(path: string): Fault {
  return path.startsWith("/v1/markets/")
    ? new Fault("MARKET_NOT_FOUND", "Market not found")
    : new Fault("NOT_FOUND", "Not found");
}
