import { CAPITAL, FEES, TREASURY } from "../../domain/accounts.ts";
import { canonicalJson, type Json } from "../../domain/audit/audit-link.ts";
import { usdFromMicro } from "../../domain/money.ts";
import { instantText } from "../../domain/time/timestamp.ts";
import { objectionKey } from "../../engine/approvals/decisions.ts";
import { positionKey, SINGLE, type Table, type Tables } from "../../engine/rows.ts";
import { newTrader } from "../../engine/traders.ts";
import type { TableCodec } from "../../ledger/codec.ts";
import { readTenant, settingsOf } from "../../ledger/standing.ts";
import { TABLES } from "../../ledger/tables.ts";
import type { ReadSql } from "../../postgres/connect.ts";
import type { LoggedRows } from "../../replay/logged-rows.ts";
import { type CheckName, type Comparison, isCount } from "./checks.ts";

type Value = bigint | number | string | boolean | null | undefined | readonly unknown[] | object;

/** How a field of a row is compared and shown. */
interface Field {
  /** The field's check. */
  check: CheckName;
  /** Its name for people, if that differs from the field's. */
  name?: string;
  /** `usd`: micro-dollars or micro-shares, whose difference is an amount; any other difference counts as one dollar. */
  as: "usd" | "time" | "ppm" | "plain";
}

const usd = (check: CheckName, name?: string): Field => ({ check, as: "usd", ...(name ? { name } : {}) });
const time = (check: CheckName, name?: string): Field => ({ check, as: "time", ...(name ? { name } : {}) });
const ppm = (check: CheckName, name?: string): Field => ({ check, as: "ppm", ...(name ? { name } : {}) });
const plain = (check: CheckName, name?: string): Field => ({ check, as: "plain", ...(name ? { name } : {}) });

interface ComparedTable<Row> {
  /** The table's name in differences. */
  what: string;
  /** The check for a missing or surplus row. */
  check: CheckName;
  keyOf: (row: Row) => string;
  /** The row's name for people. */
  idOf: (row: Row) => string;
  /** Replaces a missing row whose absence means something; without it the row's fields are null. */
  blank?: (other: Row) => Row;
  /** Leaves out fields that follow from others, or are sums of the database. */
  fields: { [Name in keyof Row & string]?: Field };
}

/** The tables whose rows follow from the log alone, with all fields that must agree. */
const COMPARED: { [T in keyof typeof TABLES & Table]?: ComparedTable<Tables[T]> } = {
  account: {
    ...{ what: "account", check: "accounts", keyOf: ({ id }) => id, idOf: ({ id }) => id },
    fields: { balanceMicro: usd("accounts", "balanceUsd") },
  },
  position: {
    ...{ what: "position", check: "positions" },
    keyOf: ({ traderId, marketId, side }) => positionKey(traderId, marketId, side),
    idOf: ({ traderId, marketId, side }) => `${traderId} ${marketId} ${side}`,
    fields: { sharesMicro: usd("positions", "shares"), costMicro: usd("positions", "costUsd") },
  },
  market: {
    ...{ what: "market", check: "markets", keyOf: ({ id }) => id, idOf: ({ id }) => id },
    fields: {
      ...{ question: plain("markets"), category: plain("markets"), kind: plain("markets"), meta: plain("markets") },
      ...{ p0Ppm: ppm("markets", "p0"), fundMicro: usd("markets", "liquidityUsd"), closeAt: time("markets") },
      ...{ resolutionRef: plain("markets"), createdAt: time("markets"), fileKey: plain("markets", "key") },
      ...{
        terms: plain("markets"),
        houseYesMicro: usd("markets", "houseYes"),
        houseNoMicro: usd("markets", "houseNo"),
        resolution: plain("markets"),
      },
    },
  },
  marketState: {
    ...{ what: "market", check: "markets", keyOf: ({ marketId }) => marketId, idOf: ({ marketId }) => marketId },
    fields: {
      ...{ yesMicro: usd("pools", "poolYes"), noMicro: usd("pools", "poolNo"), volumeMicro: usd("volume", "volume") },
      ...{ status: plain("settlements"), outcome: plain("settlements"), settledAt: time("settlements") },
      ...{ closingRecorded: plain("markets"), yesPricePpm: ppm("markets", "lastPrice") },
    },
  },
  clarification: {
    ...{ what: "clarification", check: "markets", keyOf: ({ id }) => id, idOf: ({ id }) => id },
    fields: {
      ...{ marketId: plain("markets"), position: plain("markets"), text: plain("markets"), at: time("markets") },
    },
  },
  marketEnd: {
    ...{
      what: "market_end",
      check: "settlements",
      keyOf: ({ marketId }) => marketId,
      idOf: ({ marketId }) => marketId,
    },
    fields: {
      ...{ payouts: plain("settlements"), paidMicro: usd("escrow", "paidUsd"), reason: plain("settlements") },
      ...{ feesMicro: usd("escrow", "feesUsd"), treasuryMicro: usd("escrow", "treasuryUsd") },
      corrections: plain("settlements"),
    },
  },
  proposal: {
    ...{ what: "proposal", check: "decisions", keyOf: ({ id }) => id, idOf: ({ id }) => id },
    fields: {
      ...{ kind: plain("decisions"), status: plain("decisions"), subject: plain("decisions") },
      ...{ marketId: plain("decisions"), outcome: plain("decisions"), reason: plain("decisions") },
      ...{ evidence: plain("decisions"), request: plain("decisions"), result: plain("decisions") },
      ...{ proposedBy: plain("decisions"), proposedAt: time("decisions"), finalAt: time("decisions") },
      ...{ approvalsNeeded: plain("decisions"), approvals: plain("decisions"), objections: plain("decisions") },
      ...{ decidedBy: plain("decisions"), decidedAt: time("decisions") },
    },
  },
  objection: {
    ...{ what: "objection", check: "decisions" },
    keyOf: ({ proposalId, traderId }) => objectionKey(proposalId, traderId),
    idOf: ({ proposalId, traderId }) => `${proposalId} ${traderId}`,
    fields: { reason: plain("decisions"), at: time("decisions") },
  },
  planApproval: {
    ...{ what: "plan_approval", check: "decisions" },
    keyOf: ({ sha256, actor }) => `${sha256}\n${actor}`,
    idOf: ({ sha256, actor }) => `${sha256} ${actor}`,
    fields: { at: time("decisions") },
  },
  watch: {
    ...{ what: "oracle_watch", check: "markets", keyOf: ({ marketId }) => marketId, idOf: ({ marketId }) => marketId },
    fields: { instantAt: time("markets"), parsed: plain("markets"), settled: plain("markets"), hold: plain("markets") },
  },
  trader: {
    ...{ what: "trader", check: "users", keyOf: ({ id }) => id, idOf: ({ id }) => id },
    blank: ({ id, createdAt }) => newTrader(id, createdAt),
    fields: {
      ...{ kyc: plain("kyc"), kycAt: time("kyc"), jurisdiction: plain("kyc"), restricted: plain("restrictions") },
      ...{ suitabilityScore: plain("suitability"), suitabilityAt: time("suitability"), createdAt: time("users") },
    },
  },
  assessment: {
    ...{ what: "assessment", check: "suitability", keyOf: ({ id }) => id, idOf: ({ id }) => id },
    fields: {
      ...{ traderId: plain("suitability", "userId"), answers: plain("suitability"), score: plain("suitability") },
      submittedAt: time("suitability"),
    },
  },
  apiKey: {
    ...{ what: "api_key", check: "keys", keyOf: ({ hash }) => hash, idOf: ({ name }) => name },
    fields: {
      ...{ name: plain("keys"), type: plain("keys"), scopes: plain("keys"), from: plain("keys") },
      ...{ createdAt: time("keys"), expiresAt: time("keys"), leaked: plain("keys") },
    },
  },
  withdrawal: {
    ...{ what: "withdrawal", check: "decisions", keyOf: ({ id }) => id, idOf: ({ id }) => id },
    fields: {
      ...{ amountMicro: usd("withdrawals", "amountUsd"), traderId: plain("decisions", "userId") },
      ...{ status: plain("decisions"), createdAt: time("decisions"), decidedAt: time("decisions") },
    },
  },
};

/** Rows per read: comparing them delays a server by a few milliseconds. */
const PAGE = 1000;

/** Compares every present row with the log. */
export async function compareRows(sql: ReadSql, rows: LoggedRows, into: Comparison): Promise<void> {
  for (const table of Object.keys(COMPARED) as (keyof typeof COMPARED)[]) await compareTable(sql, rows, table, into);
  await compareTenant(sql, rows, into);
}

/**
 * Compares the rights of users and keys, and the configuration.
 * @param rows from the entries about these alone; a user without an entry has no standing
 */
export async function compareStanding(sql: ReadSql, rows: LoggedRows, into: Comparison): Promise<void> {
  await compareTable(sql, rows, "trader", into);
  await compareTable(sql, rows, "apiKey", into);
  await compareTenant(sql, rows, into);
}

async function compareTable<T extends keyof typeof COMPARED>(
  sql: ReadSql,
  rows: LoggedRows,
  table: T,
  into: Comparison,
): Promise<void> {
  const compared = COMPARED[table] as unknown as ComparedTable<Record<string, Value>>;
  const codec = TABLES[table] as unknown as TableCodec<Record<string, Value>>;
  const compare = comparing(compared, into);
  const seen = new Set<string>();
  const pages = sql`select ${sql.unsafe(codec.selected())} from ${sql.unsafe(codec.name)}`;
  for await (const page of pages.cursor(PAGE))
    for (const stored of page) {
      const held = codec.decode(stored);
      const key = compared.keyOf(held);
      seen.add(key);
      compare(rows.get(table, key) as unknown as Record<string, Value> | undefined, held);
    }
  for (const [key, row] of rows.of(table))
    if (!seen.has(key)) compare(row as unknown as Record<string, Value>, undefined);
}

type Compare = (logged: Record<string, Value> | undefined, held: Record<string, Value> | undefined) => void;

function comparing(
  { what, check: ofRow, idOf, blank, fields }: ComparedTable<Record<string, Value>>,
  into: Comparison,
): Compare {
  const list = (Object.entries(fields) as [string, Field][]).map(([field, each]) => ({
    ...{ ...each, field, name: each.name ?? field, isSummed: each.as === "usd" && !isCount(each.check) },
  }));
  return (logged, held) => {
    const row = held ?? logged;
    if (!row) return;
    const [stated, there] = [logged ?? blank?.(row), held ?? blank?.(row)];
    let isMissed = logged !== undefined && held !== undefined;
    for (const { field, check, name, as, isSummed } of list) {
      const [inLog, inTable] = [stated?.[field], there?.[field]];
      if (isSummed) into.sum(check, asMicro(inTable), asMicro(inLog));
      if (isEqual(inLog, inTable)) continue;
      isMissed ||= !blank;
      const micro = as === "usd" ? { log: asMicro(inLog), table: asMicro(inTable) } : undefined;
      const shown = { log: show(inLog, as), table: show(inTable, as) };
      const id = idOf(row);
      into.differ({ check, what, id, field: fieldName(what, id, name), ...shown, micro });
    }
    if (!isMissed) {
      const [inLog, inTable] = [logged ? "a row" : null, held ? "a row" : null];
      into.differ({ check: ofRow, what, id: idOf(row), field: "row", log: inLog, table: inTable });
    }
  };
}

/** The house's accounts are named after what they hold. */
function fieldName(what: string, id: string, name: string): string {
  if (what !== "account") return name;
  return id === TREASURY ? "treasuryUsd" : id === FEES ? "feesUsd" : name;
}

const asMicro = (value: Value): bigint => (typeof value === "bigint" ? value : 0n);

function isEqual(a: Value, b: Value): boolean {
  if (a === b) return true;
  const [one, other] = [a ?? null, b ?? null];
  // A lone surrogate is legal in JSON but not in PostgreSQL's text, which has U+FFFD instead.
  if (typeof one === "string" && typeof other === "string") return one.toWellFormed() === other;
  if (typeof one !== "object" || typeof other !== "object") return false;
  return canonicalJson(one as Json) === canonicalJson(other as Json);
}

function show(value: Value, as: Field["as"]): string | number | null {
  if (value === undefined || value === null) return null;
  if (typeof value === "bigint") return usdFromMicro(value);
  if (as === "ppm") return Number(value) / 1e6;
  if (as === "time") return instantText(Number(value));
  return typeof value === "string" ? value : canonicalJson(value as Json);
}

/** Compares the tenant's row field by field. */
async function compareTenant(sql: ReadSql, rows: LoggedRows, into: Comparison): Promise<void> {
  const held = settingsOf(await readTenant(sql));
  const logged = settingsOf(rows.get("tenant", SINGLE));
  for (const field of new Set([...logged.keys(), ...held.keys()])) {
    const [log, table] = [logged.get(field) ?? null, held.get(field) ?? null];
    const check = field.startsWith("policy.") ? "policy" : "configuration";
    if (log !== table) into.differ({ check, what: "tenant", id: field, field, log, table });
  }
}

/**
 * Compares the sums of transfers by pair of accounts.
 * @param capitalTo the last transfer of capital that counts, by the number of the first entry of its apply
 */
export async function compareTransfers(
  sql: ReadSql,
  rows: LoggedRows,
  { to, capitalTo, into }: { to: bigint; capitalTo: bigint; into: Comparison },
): Promise<void> {
  const compare = (debit: string, credit: string, log: bigint, table: bigint) => {
    into.sum("transfers", table, log);
    if (log === table) return;
    const [id, shown] = [`${debit} to ${credit}`, { log: usdFromMicro(log), table: usdFromMicro(table) }];
    into.differ({ check: "transfers", what: "transfer", id, field: "amountUsd", ...shown, micro: { log, table } });
  };
  const pages = () =>
    sql`
      select debit, credit, sum(amount_micro)::text as amount_micro
        from transfer
       where seq <= ${String(to)}::bigint or (seq <= ${String(capitalTo)}::bigint and debit = ${CAPITAL})
       group by debit, credit`.cursor(PAGE);
  let missing = [...rows.moved.values()].reduce((sum, { size }) => sum + size, 0);
  for await (const page of pages())
    for (const { debit, credit, amount_micro } of page) {
      const log = rows.moved.get(debit)?.get(credit);
      if (log !== undefined) missing -= 1;
      compare(debit, credit, log ?? 0n, BigInt(amount_micro));
    }
  if (missing === 0) return;
  // Read again for their names: there are as many pairs as positions, and most ledgers agree.
  const seen = new Set<string>();
  for await (const page of pages()) for (const { debit, credit } of page) seen.add(`${debit}\n${credit}`);
  for (const [debit, credits] of rows.moved)
    for (const [credit, amountMicro] of credits)
      if (!seen.has(`${debit}\n${credit}`)) compare(debit, credit, amountMicro, 0n);
}
