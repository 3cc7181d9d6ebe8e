import type { Input, Result } from "../../contract/operations.ts";
import { MOST_REFS } from "../../contract/resources/ids.ts";
import { Fault } from "../../domain/fault.ts";
import { beginningOf, eventBeginning, requestBeginning, type TimedKind } from "../../domain/market/short-id.ts";
import { usdFromMicro } from "../../domain/money.ts";
import type { ReadSql } from "../../postgres/connect.ts";
import { findEvents } from "../../queries/deliveries.ts";
import { findIds, type IdMatch, MOST_MATCHES } from "../../queries/markets/ids.ts";
import { findTradeRecord } from "../../queries/traders/orders.ts";
import { auditItem } from "../audit/record.ts";
import type { ServiceContext } from "../context.ts";
import type { Handlers } from "../invoke.ts";
import type { RefusalLog } from "../security/refusal-log.ts";
import { fillView } from "./fill-view.ts";

/** The reads of `pmctl why`. */
export function explainHandlers(context: ServiceContext, refusals: RefusalLog) {
  return {
    getRefusal: async ({ requestId }) => {
      const refusal = refusals.find(requestId);
      if (!refusal)
        throw new Fault(
          "NOT_FOUND",
          "This process has no refused request with this id; it keeps the last 10,000 changes and 1,000 user tokens",
        );
      return refusal;
    },
    listRefusals: async (input) => listRefusals(context, refusals, input),
    explainTrade: ({ tradeId }) => explainTrade(context, tradeId),
  } satisfies Handlers;
}

function listRefusals(
  { cursors }: ServiceContext,
  refusals: RefusalLog,
  input: Input<"listRefusals">,
): Result<"listRefusals"> {
  const { code, limit } = input;
  const list = cursors.list("listRefusals", input);
  const [ts = Number.POSITIVE_INFINITY, id] = list.reached(["number", "string"]) ?? [];
  const kept = refusals.newest((each) => code === undefined || each.code === code);
  const place = kept.findIndex(({ requestId }) => requestId === id);
  const rest = place < 0 ? kept.filter((each) => each.ts < ts) : kept.slice(place + 1);
  const { page: items, nextCursor } = list.page(rest, limit, (last) => [last.ts, last.requestId]);
  return { items, nextCursor };
}

async function explainTrade({ pool }: ServiceContext, tradeId: string): Promise<Result<"explainTrade">> {
  const trade = await pool.read((sql) => findTradeRecord(sql, tradeId));
  if (!trade) throw new Fault("NOT_FOUND", "Trade not found");
  return {
    tradeId,
    question: trade.question,
    userId: trade.traderId,
    ...fillView(trade),
    action: trade.action,
    fee: usdFromMicro(trade.feeMicro),
    yesPriceBefore: (trade.previousPricePpm ?? trade.p0Ppm) / 1e6,
    entry: auditItem(trade.entry),
  };
}

/** Finds objects that operators name by part of their ids. */
export function idHandlers(context: ServiceContext, refusals: RefusalLog) {
  return { findIds: (input) => find(context, refusals, input) } satisfies Handlers;
}

async function find(
  { pool }: ServiceContext,
  refusals: RefusalLog,
  { kind, refs }: Input<"findIds">,
): Promise<Result<"findIds">> {
  const wanted = [...new Set(refs.split(",").filter((ref) => ref !== ""))];
  if (wanted.length > MOST_REFS) throw new Fault("BAD_REQUEST", `refs: at most ${MOST_REFS}`);
  if (kind === "request") return wanted.map((ref) => ({ ref, matches: refusedRequests(refusals, ref) }));
  return pool.read((sql) => (kind === "delivery" ? eventsOf(sql, wanted) : timedIds(sql, kind, wanted)));
}

async function timedIds(sql: ReadSql, kind: TimedKind, wanted: readonly string[]): Promise<Result<"findIds">> {
  const refs = wanted.map((ref) => ({ ref, beginning: beginningOf(kind, ref) ?? null }));
  const found = await findIds(sql, kind, refs);
  return [...found].map(([ref, matches]) => ({ ref, matches }));
}

async function eventsOf(sql: ReadSql, wanted: readonly string[]): Promise<Result<"findIds">> {
  const found: Result<"findIds"> = [];
  for (const ref of wanted) {
    const beginning = eventBeginning(ref);
    found.push({ ref, matches: beginning === undefined ? [] : await findEvents(sql, beginning) });
  }
  return found;
}

/** The complete id of one request may be the beginning of another's. */
function refusedRequests(refusals: RefusalLog, ref: string): IdMatch[] {
  const exact = refusals.find(ref);
  const beginning = requestBeginning(ref);
  const found = exact ? [exact] : beginning === undefined ? [] : refusals.beginningWith(beginning, MOST_MATCHES);
  return found.map(({ requestId, operation }) => ({ id: requestId, label: operation }));
}
