import { z } from "zod";
import { csvOf } from "../contract/csv.ts";
import type { Operation } from "../contract/operation.ts";
import type { OperationId } from "../contract/operations.ts";
import type { Seal } from "../domain/audit/audit-link.ts";
import { Wire } from "../services/answers.ts";
import type { Invocation } from "../services/invoke.ts";
import type { Exchange } from "./exchange.ts";
import { VERIFIED_HEADERS } from "./openapi/openapi-parts.ts";
import { type Answer, type Header, wired } from "./responses.ts";

/** An operation's answer over HTTP: JSON, with the metadata in headers. */
export function wireAnswer(
  exchange: Exchange,
  operation: Operation,
  { wire, replayed, tag, seal, verifiedAt }: Invocation<OperationId>,
): Answer {
  if (operation.paged) return pageAnswer(exchange, wire);
  const verified = verifiedHeaders(operation, verifiedAt);
  if (seal) {
    const tagged: Header[] = tag === undefined ? [] : [["etag", `"${tag}"`]];
    return wired(wire, [...tagged, ...sealHeaders(seal), ...verified]);
  }
  if (tag !== undefined) return wired(wire, [["etag", `"${tag}"`]]);
  if (verified.length > 0) return wired(wire, verified);
  if (replayed) return { ...wired(wire, [["idempotent-replayed", "true"]]), replayed: true };
  const answer = wired(wire);
  // Only health keeps its usual body with a status that reports a problem.
  const unhealthy = operation.health && (wire.value as { ok: boolean }).ok === false;
  return unhealthy ? { ...answer, status: 503 } : answer;
}

/** The page as a CSV file: one column per field of the item's schema. */
export function csvAnswer(exchange: Exchange, operation: Operation, { wire }: Invocation<OperationId>): Answer {
  const { items, nextCursor } = wire.value as unknown as {
    items: Record<string, unknown>[];
    nextCursor: string | null;
  };
  const element = operation.output instanceof z.ZodArray ? operation.output.element : undefined;
  const columns = element instanceof z.ZodObject ? Object.keys(element.shape) : Object.keys(items[0] ?? {});
  return {
    status: 200,
    body: csvOf(columns, items),
    contentType: "text/csv; charset=utf-8",
    headers: [
      ["content-disposition", `attachment; filename="${operation.path.split("/").at(-1)}.csv"`],
      ...(nextCursor === null ? [] : nextPage(exchange, nextCursor)),
    ],
  };
}

/** The answers made from a page, by request target, because the link to the next page repeats the target. */
const pageAnswers = new WeakMap<Wire<unknown>, { target: string; answer: Answer }>();

/** The items are the body. Requests that share a page and a target share its answer too. */
function pageAnswer(exchange: Exchange, wire: Wire<unknown>): Answer {
  const target = exchange.req.url ?? "";
  const made = pageAnswers.get(wire);
  if (made?.target === target) return made.answer;
  const { items, nextCursor } = wire.value as { items: unknown; nextCursor: string | null };
  const answer = wired(Wire.ofValue(items), nextCursor === null ? undefined : nextPage(exchange, nextCursor));
  pageAnswers.set(wire, { target, answer });
  return answer;
}

function nextPage(exchange: Exchange, cursor: string): Header[] {
  const query = new URLSearchParams(exchange.search);
  query.set("cursor", cursor);
  return [
    ["next-cursor", cursor],
    ["link", `<${exchange.pathname}?${query}>; rel="next"`],
  ];
}

function verifiedHeaders({ verifies }: Operation, verifiedAt: number | undefined): Header[] {
  if (!verifies || verifiedAt === undefined) return [];
  return [[VERIFIED_HEADERS[verifies].toLowerCase(), new Date(verifiedAt).toISOString()]];
}

/** The seal of the last audit entry. A client that keeps it can check later whether the chain still contains the entry. */
function sealHeaders({ seq, hash, ts, keyId }: Seal): Header[] {
  return [
    ["audit-seq", String(seq)],
    ["audit-hash", hash],
    ["audit-time", ts],
    ["audit-key-id", keyId],
  ];
}
