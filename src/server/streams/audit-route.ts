import { finished, pipeline, Readable } from "node:stream";
import { constants, createGzip } from "node:zlib";
import { AUDIT_LINES } from "../../contract/constants.ts";
import type { Operation } from "../../contract/operation.ts";
import { operations } from "../../contract/operations.ts";
import { Fault, invariant } from "../../domain/fault.ts";
import type { Reader } from "../../postgres/pool.ts";
import { openLogLines } from "../../services/audit/audit-lines.ts";
import { decodeInput } from "../../services/invoke.ts";
import { authenticate } from "../access/authenticate.ts";
import type { Exchange } from "../exchange.ts";
import { assembleInput, planInput } from "../input.ts";
import { accepts, weightsIn } from "../pages/compress.ts";
import type { Answer, Header } from "../responses.ts";
import { operationRoute, type Route, type RouteServices } from "../routes.ts";

/** The number of log answers at a time. Each takes two pages of memory and turns at the connection for checks. */
const MOST = 4;
const RETRY_AFTER_SEC = 10;

/**
 * The log as JSON lines, for clients that accept them: all entries that the list's filters select at the time of the
 * request, oldest first. `Audit-Last-Seq` names the last entry: an answer that ends earlier is incomplete. Other
 * clients get the list.
 * @param reader of a connection that traders do not wait for
 */
export function auditRoute(services: RouteServices, reader: Reader): Route {
  const { identities, adminHosts, identify } = services;
  const list = operationRoute("listAudit", services);
  invariant(list, "operators list the log");
  const operation: Operation = operations.listAudit;
  const plan = planInput(operation);
  let open = 0;
  return {
    ...list,
    async answer(exchange) {
      if (!prefersLines(exchange.header("accept"))) return list.answer(exchange);
      adminHosts.require(exchange);
      await (identify?.(exchange, operation) ?? authenticate(exchange, operation, identities));
      const input = await assembleInput(exchange, plan);
      const { after = 0, limit: _limit, cursor: _cursor, ...filter } = decodeInput("listAudit", input);
      for (const name of ["cursor", "limit"])
        if (Object.hasOwn(input, name))
          throw new Fault("BAD_REQUEST", `${name}: lines have no pages; after says where they begin`);
      if (open >= MOST)
        throw new Fault("OVERLOADED", "Too many streams: try again later", { retryAfterSec: RETRY_AFTER_SEC });
      // Counted before the first await, until the response ends in any way.
      open += 1;
      finished(exchange.res, () => {
        open -= 1;
      });
      const { last, pages } = await openLogLines(reader, { ...filter, after: BigInt(after) });
      return answerOf(exchange, last, pages);
    },
  };
}

/** Whether the client accepts lines and does not prefer JSON. */
function prefersLines(accepted: string | undefined): boolean {
  const weights = weightsIn(accepted);
  const json = ["application/json", "application/*", "*/*"].find((range) => weights.has(range));
  const weight = weights.get(AUDIT_LINES) ?? 0;
  return weight > 0 && weight >= (weights.get(json ?? "") ?? 0);
}

/**
 * Texts go to the socket unencoded: Node encodes them outside V8's heap. A buffer for each page would cause a third
 * more collections of the whole heap.
 */
function answerOf(exchange: Exchange, last: bigint, pages: AsyncGenerator<string>): Answer {
  const isZipped = accepts(exchange.header("accept-encoding"), "gzip");
  const headers: Header[] = [
    ["audit-last-seq", String(last)],
    ["vary", "Accept, Accept-Encoding"],
    ...(isZipped ? ([["content-encoding", "gzip"]] as const) : []),
  ];
  return {
    status: 200,
    contentType: AUDIT_LINES,
    headers,
    body: exchange.isHead
      ? ""
      : ReadableStream.from<string | Uint8Array<ArrayBuffer>>(isZipped ? zipped(pages) : pages),
  };
}

/** Compresses at the fastest level: lines shrink to a fifth, and a slower level would take processor time from traders. */
function zipped(pages: AsyncIterable<string>): AsyncIterable<Uint8Array<ArrayBuffer>> {
  // The callback receives the error of a client that leaves midway, which would otherwise end the process.
  return pipeline(Readable.from(pages), createGzip({ level: constants.Z_BEST_SPEED }), () => {});
}
