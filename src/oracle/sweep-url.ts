import { isUtf8 } from "node:buffer";
import pMap from "p-map";
import { z } from "zod";
import { parseDecimal } from "../domain/decimal.ts";
import { NumberText, parseExactJson, repeatsKey } from "../domain/json/exact-json.ts";
import { decodeTerms } from "../domain/market/terms.ts";
import { parseTimestamp } from "../domain/time/timestamp.ts";
import { OutgoingFailure } from "../outgoing/guarded-fetch.ts";
import { signMessage } from "../outgoing/sign.ts";
import { type ClosedRow, listClosedMarkets } from "../queries/oracle.ts";
import { emptyReport, holdMarket, isolate, type OracleContext, type SweepReport, settleMarket } from "./context.ts";

const TIMEOUT_MS = 5000;
const LIMIT_BYTES = 65_536;
/** The most markets of one sweep; the next sweep continues from there. */
const PER_SWEEP = 200;
const AT_ONCE = 8;
/** How far the clock of a tenant's oracle may be ahead of ours. */
const AHEAD_MS = 5 * 60_000;

/** A price in an answer, a number or text. It is only recorded, so its digits stay unchanged. */
const PriceText = z
  .custom<string | NumberText>((value) => value instanceof NumberText || typeof value === "string")
  .transform((value) => (value instanceof NumberText ? value.text : value))
  // `getOracleStatus` shows it as a number, and JSON cannot express 1e400.
  .refine((text) => parseDecimal(text) !== undefined);

const Resolution = z.discriminatedUnion("status", [
  z.object({ status: z.literal("pending") }),
  z.object({
    status: z.literal("resolved"),
    outcome: z.enum(["yes", "no"]),
    price: PriceText.nullish(),
    strike: PriceText.nullish(),
    observedAt: z
      .string()
      .max(64)
      .refine((text) => parseTimestamp(text) !== undefined)
      .nullish(),
  }),
]);
type Resolved = Extract<z.output<typeof Resolution>, { status: "resolved" }>;

/** Asks the tenant's own oracle about every market past its closing time, until it states an outcome. */
export async function sweepResolutionUrl(context: OracleContext, url: string, now: number): Promise<SweepReport> {
  const markets = await nextMarkets(context, now);
  const report = { ...emptyReport(), watched: markets.length, asked: markets.length };
  const answers = await pMap(
    markets,
    async (market) => ({
      market,
      answer: await ask(context, url, market, now).catch((error: unknown): ResolutionOrFailure => {
        report.failures.push(error);
        return { failure: "the market could not be asked about" };
      }),
    }),
    { concurrency: AT_ONCE },
  );
  for (const { market, answer } of answers)
    await isolate(report, async () => {
      const marketId = market.id;
      if ("failure" in answer)
        await holdMarket(context, { marketId, reason: "resolution_url failed", detail: answer.failure }, report);
      else if (answer.status === "resolved") {
        const oracle = { resolutionUrl: url, evidence: evidenceOf(url, market, answer) };
        await settleMarket(context, { marketId, outcome: answer.outcome, oracle }, report);
      }
    });
  return report;
}

/** The next markets to ask about, in rotation, so that many waiting markets do not exclude the others. */
async function nextMarkets(context: OracleContext, now: number): Promise<ClosedRow[]> {
  const { memory, services } = context;
  const { pool } = services;
  const after = memory.askedUpTo;
  const page = await pool.read((sql) => listClosedMarkets(sql, { now, after, limit: PER_SWEEP }));
  memory.askedUpTo = page.length < PER_SWEEP ? "" : (page.at(-1)?.id ?? "");
  if (page.length === PER_SWEEP || after === "") return page;
  const rest = await pool.read((sql) => listClosedMarkets(sql, { now, after: "", limit: PER_SWEEP - page.length }));
  const first = new Set(page.map(({ id }) => id));
  return [...page, ...rest.filter(({ id }) => !first.has(id))];
}

type ResolutionOrFailure = z.output<typeof Resolution> | { failure: string };

/** Asks about one market. The answer is untrusted: unless its form is exactly right, the market is held. */
async function ask(context: OracleContext, url: string, market: ClosedRow, now: number): Promise<ResolutionOrFailure> {
  const { http, resolutionSecrets } = context;
  if (resolutionSecrets.length === 0)
    return { failure: "there is no secret to sign with: set oracle.resolutionSecret in the tenant file" };
  const { id, question, resolutionRef, closeAt, meta } = market;
  const body = JSON.stringify({
    marketId: id,
    question,
    resolutionRef,
    closeAt: new Date(closeAt).toISOString(),
    meta: JSON.parse(meta),
  });
  const messageId = `resolve_${id}_${now}`;
  try {
    const answer = await http.request(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        ...signMessage(messageId, body, now, resolutionSecrets),
      },
      body,
      timeoutMs: TIMEOUT_MS,
      limitBytes: LIMIT_BYTES,
    });
    if (answer.status !== 200) return { failure: `resolution_url answered with status ${answer.status}` };
    if (!isUtf8(answer.body)) return { failure: "resolution_url gave an answer that is not UTF-8" };
    return readAnswer(answer.body.toString("utf8"), now);
  } catch (error) {
    if (error instanceof SyntaxError) return { failure: "resolution_url gave an answer that is not JSON" };
    // The reason must not tell the operator who sets the address what is in our network.
    if (error instanceof OutgoingFailure) return { failure: "resolution_url gave no complete answer" };
    throw error;
  }
}

/** @throws SyntaxError for what is not JSON */
function readAnswer(text: string, now: number): ResolutionOrFailure {
  const parsed = Resolution.safeParse(parseExactJson(text));
  if (!parsed.success) return { failure: "resolution_url gave an answer of another form" };
  if (repeatsKey(text)) return { failure: "resolution_url gave an answer with a repeated key" };
  const { data } = parsed;
  const observedAt = data.status === "resolved" && data.observedAt ? parseTimestamp(data.observedAt) : undefined;
  if (observedAt !== undefined && observedAt > now + AHEAD_MS)
    return { failure: "resolution_url gave an answer that was observed in the future" };
  return data;
}

/** The evidence of an outcome from the tenant's oracle. */
function evidenceOf(url: string, { resolutionRef, terms }: ClosedRow, { price, strike, observedAt }: Resolved) {
  const parsed = terms === null ? undefined : decodeTerms(terms);
  return {
    ref: parsed?.feed,
    resolutionRef,
    price: price ?? undefined,
    strike: strike ?? parsed?.strike,
    observedAt: observedAt ?? undefined,
    // Only the host: a path may contain secrets of the tenant.
    oracle: new URL(url).host,
  };
}
