import type { Api } from "../../contract/operations.ts";
import { type AuditType, isOfType } from "../../domain/audit/audit-payloads.ts";
import { otherKeyFault } from "../../domain/audit/chain-walk.ts";
import type { AuditKey } from "../../domain/audit/seal.ts";
import { sentenceOf } from "../../domain/audit/sentence.ts";
import { type Entry, requireSealed } from "../audit/walk-log.ts";
import { END_TYPES, payoutsAt, type StoryLine } from "./payouts.ts";

type Filter = Omit<Parameters<Api["listAudit"]>[0], "limit" | "cursor">;

/** The life of a market or a user, from the audit log. */
export interface Story {
  tenant: string;
  subject: { kind: "market" | "user"; id: string; key: string | null };
  /** In the order of `seq`; a payout has the `seq` of its settlement. */
  lines: StoryLine[];
  /** Whether the chain held when the story was read. */
  verified: boolean;
  /** Hash of the latest entry at that time. */
  head: string;
}

const PAGE = 200;

/**
 * @param keys check the seals of all entries, for a story that is signed
 * @throws Fault MARKET_NOT_FOUND, INTEGRITY for an altered entry, CONFIG_INVALID when another log's keys were used
 */
export async function tellMarket(tenant: string, id: string, api: Api, keys?: readonly AuditKey[]): Promise<Story> {
  const market = await api.getMarket({ id });
  const entries = await entriesOf(api, { marketId: id });
  const created = entries.find((entry) => isOfType(entry, "market.created"));
  const applied = created?.payload.key !== undefined ? await applyOf(api, created) : undefined;
  const trades = entries.filter((entry) => isOfType(entry, "trade.executed"));
  const { question } = created?.payload ?? market;
  const keyed = entries.filter(({ type }) => KEYED.includes(type));
  const lines = [
    ...(applied ? [lineOf(applied, undefined)] : []),
    ...entries.flatMap((entry) => [lineOf(entry, question), ...payoutsAt(entry, trades, question)]),
  ];
  if (keys) await requireSealed(api, [...(applied ? [applied] : []), ...entries], keys);
  const key = keyed.flatMap(({ payload }) => (typeof payload.key === "string" ? [payload.key] : [])).at(-1) ?? null;
  return told(tenant, { kind: "market", id, key }, lines, api);
}

/** The types of entries that state a market's key. */
const KEYED: readonly string[] = ["market.created", "market.imported", "market.moved"] satisfies AuditType[];

/**
 * @param keys as in {@link tellMarket}
 * @throws Fault NOT_FOUND; otherwise as {@link tellMarket}
 */
export async function tellUser(tenant: string, id: string, api: Api, keys?: readonly AuditKey[]): Promise<Story> {
  await api.getUser({ id });
  const questions = new Map<string, string>();
  const entries = await entriesOf(api, { userId: id }, questions);
  const trades = entries.filter((entry) => isOfType(entry, "trade.executed"));
  const traded = new Set(trades.map(({ payload }) => payload.marketId));
  const ends = trades.length === 0 ? [] : await Promise.all(END_TYPES.map((type) => entriesOf(api, { type })));
  const settled = ends.flat().filter(({ payload }) => traded.has(String(payload.marketId)));
  if (keys) {
    const created = await Promise.all(
      [...questions.keys()].map((marketId) => entriesOf(api, { marketId, type: "market.created" })),
    );
    for (const entry of created.flat())
      if (isOfType(entry, "market.created")) questions.set(entry.payload.marketId, entry.payload.question);
    await requireSealed(api, [...entries, ...settled, ...created.flat()], keys);
  }
  const questionOf = ({ payload }: Entry) => questions.get(String(payload.marketId));
  const lines = [
    ...entries.map((entry) => lineOf(entry, questionOf(entry))),
    ...settled.flatMap((entry) => payoutsAt(entry, trades, questionOf(entry))),
  ];
  return told(tenant, { kind: "user", id, key: null }, lines, api);
}

async function told(tenant: string, subject: Story["subject"], lines: StoryLine[], api: Api): Promise<Story> {
  const { verified, head, problem } = await api.getAuditStatus({});
  if (problem?.sealedWith !== undefined) throw otherKeyFault(problem.text);
  return { tenant, subject, lines: lines.toSorted((a, b) => a.seq - b.seq), verified, head };
}

/** All entries of a filter, oldest first. */
async function entriesOf(api: Api, filter: Filter, questions = new Map<string, string>()): Promise<Entry[]> {
  const entries: Entry[] = [];
  let cursor: string | undefined;
  do {
    const page = await api.listAudit({ after: 0, ...filter, limit: PAGE, cursor });
    entries.push(...page.entries);
    for (const [id, question] of Object.entries(page.questions ?? {})) questions.set(id, question);
    cursor = page.cursor ?? undefined;
  } while (cursor !== undefined);
  return entries;
}

/** The apply that created a market: both entries belong to one commit, and have its time. */
async function applyOf(api: Api, { seq, ts }: Entry): Promise<Entry | undefined> {
  const until = new Date(Date.parse(ts) + 1).toISOString();
  const applies = await entriesOf(api, { type: "config.applied", since: ts, until });
  return applies.toSorted((a, b) => Math.abs(a.seq - seq) - Math.abs(b.seq - seq))[0];
}

function lineOf(entry: Entry, question: string | undefined): StoryLine {
  const { ts, seq, hash, type, actor } = entry;
  return { ts, seq, hash, kind: type, actor, sentence: sentenceOf(entry, question), amountUsd: amountOf(entry) };
}

function amountOf(entry: Entry): number | null {
  if (isOfType(entry, "market.settled", "market.corrected")) return Number(entry.payload.paid);
  if (isOfType(entry, "market.voided")) return Number(entry.payload.refunded);
  if (isOfType(entry, "market.created")) return Number(entry.payload.liquidity);
  const { amount } = entry.payload;
  return typeof amount === "string" ? Number(amount) : null;
}
