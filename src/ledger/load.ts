import type { IsSealed } from "../domain/audit/seal.ts";
import type { MarketKind, Side, StoredStatus } from "../domain/market/market.ts";
import { storedPolicy } from "../domain/policy/policy.ts";
import {
  type Account,
  type ApiKey,
  answerKey,
  type Book,
  type Market,
  type Need,
  type PastRecord,
  type Receipt,
  receiptKey,
  SINGLE,
  type StoredAnswer,
  type Table,
  type Tables,
  type Tenant,
  type TenantRecord,
  walletOf,
} from "../engine/rows.ts";
import { textArray } from "../postgres/arrays.ts";
import type { ReadSql } from "../postgres/connect.ts";
import { loadInboundDeliveries } from "./inbound-deliveries.ts";
import { loadWithdrawals } from "./load-funding.ts";
import { loadPayments } from "./load-payments.ts";
import { loadPortfolios, loadPositions } from "./load-positions.ts";
import { listApiKeys, loadPastRecord, loadTraders } from "./load-standing.ts";
import { loadTenantRecord } from "./tenant-record.ts";
import { loadRevocations } from "./unchained/revocations.ts";
import { loadWatches } from "./watches.ts";

/** A row as loaded, or the knowledge that there is none. */
export interface Loaded {
  table: Table;
  key: string;
  row: Tables[Table] | null;
}

/**
 * Reads the rows that commands need, one query per table. No snapshot is needed: a commit is accepted only while the
 * head stands where the caller believes it to be, so nothing can have changed in between.
 * @param isSealed whether an entry counts; only keys and users are told by entries
 */
export async function loadRows(sql: ReadSql, needs: Need[], isSealed: IsSealed = unchecked): Promise<Loaded[]> {
  const keysByTable = new Map<Table, Set<string>>();
  for (const { table, key } of needs) {
    const keys = keysByTable.get(table);
    if (keys) keys.add(key);
    else keysByTable.set(table, new Set([key]));
  }
  const parts = await Promise.all(
    [...keysByTable].map(async ([table, keySet]): Promise<Loaded[]> => {
      const keys = [...keySet];
      if (table === "holders") return loadHolders(sql, keys);
      if (table === "portfolio") return loadPortfolios(sql, keys);
      const rows = await LOADERS[table](sql, keys, isSealed);
      return keys.map((key) => ({ table, key, row: rows.get(key) ?? null }));
    }),
  );
  return parts.flat();
}

/** Whoever relies on entries must be able to check them. */
function unchecked(): never {
  throw new Error("What these rows say is told by entries, and there are no audit keys to check them with");
}

type Loader<T extends Table> = (sql: ReadSql, keys: string[], isSealed: IsSealed) => Promise<Map<string, Tables[T]>>;

const LOADERS: { [T in Exclude<Table, "holders" | "portfolio">]: Loader<T> } = {
  tenant: loadTenant,
  account: loadAccounts,
  market: loadMarkets,
  book: loadBooks,
  watch: loadWatches,
  trader: loadTraders,
  revocation: loadRevocations,
  keyring: loadKeyring,
  receipt: loadReceipts,
  payment: loadPayments,
  storedAnswer: loadStoredAnswers,
  withdrawal: loadWithdrawals,
  inboundDelivery: loadInboundDeliveries,
  assessment: neverLoaded,
  position: neverLoaded,
  apiKey: neverLoaded,
  pastRecord: loadPast,
  tenantRecord: loadRecordOfTenant,
};

/** Positions come with portfolios or as holders, keys as the keyring, assessments not at all. */
function neverLoaded(): never {
  throw new Error("This table is not read by key");
}

/** Rows by the key that they were asked for by. */
export function byKey<Row>(rows: readonly Row[], keyOf: (row: Row) => string): Map<string, Row> {
  return new Map(rows.map((row) => [keyOf(row), row]));
}

async function loadTenant(sql: ReadSql): Promise<Map<string, Tenant>> {
  const rows = await sql`
    select policy, overrides, policy_updated_at, kyc_required, liquidity_micro, capital_micro, document, version
      from tenant`;
  return byKey(
    rows.map((row) => ({
      policy: storedPolicy(JSON.parse(row.policy)),
      overrides: JSON.parse(row.overrides),
      policyUpdatedAt: Number(row.policy_updated_at),
      kycRequired: row.kyc_required,
      liquidityMicro: BigInt(row.liquidity_micro),
      capitalMicro: BigInt(row.capital_micro),
      document: row.document,
      version: Number(row.version),
    })),
    () => SINGLE,
  );
}

async function loadAccounts(sql: ReadSql, ids: string[]): Promise<Map<string, Account>> {
  const rows = await sql`select id, balance_micro, version from account where id = any(${textArray(ids)}::text[])`;
  return byKey(
    rows.map((row) => ({
      id: row.id as string,
      balanceMicro: BigInt(row.balance_micro),
      version: Number(row.version),
    })),
    ({ id }) => id,
  );
}

async function loadMarkets(sql: ReadSql, ids: string[]): Promise<Map<string, Market>> {
  const rows = await sql`
    select id, question, category, kind, p0_ppm, fund_micro, close_at, resolution_ref, meta, created_at,
           file_key, house_yes_micro, house_no_micro, terms
      from market
     where id = any(${textArray(ids)}::text[])`;
  return byKey(
    rows.map((row) => ({
      id: row.id as string,
      question: row.question as string,
      category: row.category as string,
      kind: row.kind as MarketKind,
      p0Ppm: row.p0_ppm as number,
      fundMicro: BigInt(row.fund_micro),
      closeAt: Number(row.close_at),
      resolutionRef: row.resolution_ref as string,
      meta: row.meta as string,
      createdAt: Number(row.created_at),
      fileKey: row.file_key as string | null,
      houseYesMicro: BigInt(row.house_yes_micro),
      houseNoMicro: BigInt(row.house_no_micro),
      terms: row.terms as string | null,
    })),
    ({ id }) => id,
  );
}

async function loadBooks(sql: ReadSql, ids: string[]): Promise<Map<string, Book>> {
  const rows = await sql`
    select market_id, status, yes_micro, no_micro, volume_micro, outcome, settled_at, closing_recorded, version
      from book
     where market_id = any(${textArray(ids)}::text[])`;
  return byKey(
    rows.map((row) => ({
      marketId: row.market_id as string,
      status: row.status as StoredStatus,
      yesMicro: BigInt(row.yes_micro),
      noMicro: BigInt(row.no_micro),
      volumeMicro: BigInt(row.volume_micro),
      outcome: row.outcome as Side | null,
      settledAt: row.settled_at === null ? null : Number(row.settled_at),
      closingRecorded: row.closing_recorded as boolean,
      version: Number(row.version),
    })),
    ({ marketId }) => marketId,
  );
}

/** The positions of a market and the wallets of their holders, which a settlement pays. */
async function loadHolders(sql: ReadSql, marketIds: string[]): Promise<Loaded[]> {
  const positions = await loadPositions(sql, marketIds);
  const wallets = [...new Set(positions.map(({ traderId }) => walletOf(traderId)))];
  const accounts = await loadAccounts(sql, wallets);
  return [
    ...marketIds.map(
      (key): Loaded => ({ table: "holders", key, row: positions.filter(({ marketId }) => marketId === key) }),
    ),
    ...wallets.map((key): Loaded => ({ table: "account", key, row: accounts.get(key) ?? null })),
  ];
}

async function loadKeyring(sql: ReadSql, _: string[], isSealed: IsSealed): Promise<Map<string, readonly ApiKey[]>> {
  return new Map([[SINGLE, await listApiKeys(sql, isSealed)]]);
}

async function loadPast(sql: ReadSql, _: string[], isSealed: IsSealed): Promise<Map<string, PastRecord>> {
  return new Map([[SINGLE, await loadPastRecord(sql, isSealed)]]);
}

async function loadRecordOfTenant(sql: ReadSql, _: string[], isSealed: IsSealed): Promise<Map<string, TenantRecord>> {
  return new Map([[SINGLE, await loadTenantRecord(sql, isSealed)]]);
}

async function loadReceipts(sql: ReadSql, keys: string[]): Promise<Map<string, Receipt>> {
  const [providers, references] = columns(keys);
  const rows = await sql`
    select provider, reference, amount_micro, user_id
      from receipt
     where (provider, reference) in (select * from unnest(${providers}::text[], ${references}::text[]))`;
  return byKey(
    rows.map((row) => ({
      provider: row.provider as string,
      reference: row.reference as string,
      amountMicro: BigInt(row.amount_micro),
      userId: row.user_id as string,
    })),
    ({ provider, reference }) => receiptKey(provider, reference),
  );
}

async function loadStoredAnswers(sql: ReadSql, keys: string[]): Promise<Map<string, StoredAnswer>> {
  const [callers, names] = columns(keys);
  const rows = await sql`
    select caller, key, request_hash, status, body, created_at
      from stored_answer
     where (caller, key) in (select * from unnest(${callers}::text[], ${names}::text[]))`;
  return byKey(
    rows.map((row) => ({
      caller: row.caller as string,
      key: row.key as string,
      requestHash: row.request_hash as string,
      status: row.status as number,
      body: row.body as string,
      createdAt: Number(row.created_at),
    })),
    ({ caller, key }) => answerKey(caller, key),
  );
}

/** Two-part keys ("a\nb") as two array literals. The first part never holds a newline. */
export function columns(keys: string[]): [string, string] {
  const parts = keys.map((key) => [key.slice(0, key.indexOf("\n")), key.slice(key.indexOf("\n") + 1)] as const);
  return [textArray(parts.map(([first]) => first)), textArray(parts.map(([, second]) => second))];
}
