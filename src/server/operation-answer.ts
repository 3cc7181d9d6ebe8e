import { z } from "zod";
import { csvOf } from "../contract/csv.ts";
import { isPublicRead, type Operation } from "../contract/operation.ts";
import type { OperationId } from "../contract/operations.ts";
import type { Seal } from "../domain/audit/audit-link.ts";
import { Wire } from "../services/answers.ts";
import type { Invocation } from "../services/invoke.ts";
import { answersWith, tagOf, unlessKnown } from "./conditional.ts";
import type { Exchange } from "./exchange.ts";
import { VERIFIED_HEADERS } from "./openapi/openapi-parts.ts";
import { type Answer, type Header, REVALIDATED, wired } from "./responses.ts";

/** An operation's answer over HTTP: JSON, with the metadata in headers. */
export function wireAnswer(
  exchange: Exchange,
  operation: Operation,
  { wire, replayed, tag, seal, verifiedAt }: Invocation<OperationId>,
): Answer {
  if (operation.paged || isPublicRead(operation)) {
    const { answer, tag } = sharedAnswer(exchange, operation, wire);
    return tag === undefined ? answer : unlessKnown(exchange, answer, tag);
  }
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

interface SharedAnswer {
  /** The link to the next page repeats it. */
  target: string;
  answer: Answer;
  /** The entity tag, of public reads. */
  tag: string | undefined;
}

const sharedAnswers = new WeakMap<Wire<unknown>, SharedAnswer>();

/** Requests that share a result and a target share its answer too. */
function sharedAnswer(exchange: Exchange, operation: Operation, wire: Wire<unknown>): SharedAnswer {
  const target = exchange.req.url ?? "";
  const made = sharedAnswers.get(wire);
  if (made?.target === target) return made;
  const whole = operation.paged ? pageAnswer(exchange, wire) : wired(wire);
  const tag = isPublicRead(operation) ? tagOf(String(whole.body)) : undefined;
  const answer = tag === undefined ? whole : { ...answersWith(whole, [["etag", tag]]), cacheControl: REVALIDATED };
  const shared = { target, answer, tag };
  sharedAnswers.set(wire, shared);
  return shared;
}

/** The items are the body. */
function pageAnswer(exchange: Exchange, wire: Wire<unknown>): Answer {
  const { items, nextCursor } = wire.value as { items: unknown; nextCursor: string | null };
  return wired(Wire.ofValue(items), nextCursor === null ? undefined : nextPage(exchange, nextCursor));
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
