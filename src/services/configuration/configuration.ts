import type { Input, Result } from "../../contract/operations.ts";
import { TREASURY } from "../../domain/accounts.ts";
import { canonicalJson, type Json } from "../../domain/audit/audit-link.ts";
import { Fault } from "../../domain/fault.ts";
import { statusAt } from "../../domain/market/market.ts";
import { termsOf } from "../../domain/market/terms.ts";
import { DEFAULT_POLICY } from "../../domain/policy/policy.ts";
import { isInForce, isLive } from "../../engine/access/keys.ts";
import type { Command } from "../../engine/commands.ts";
import { type Account, type ApiKey, SINGLE, type Tenant } from "../../engine/rows.ts";
import { loadRows } from "../../ledger/load.ts";
import { followMarketSearch, knowsTextSearch } from "../../ledger/market-search.ts";
import { type FreezeInForce, listApiKeys, readFreeze } from "../../ledger/standing.ts";
import { readClock } from "../../postgres/database-time.ts";
import {
  type ConfigurationEntry,
  type FileMarket,
  listFileMarkets,
  listLiveChanges,
  listUnsettledMarkets,
  sumAtRisk,
} from "../../queries/configuration.ts";
import { type ServiceContext, submit } from "../context.ts";
import type { Caller, Handlers } from "../invoke.ts";
import { keyInHand, keyView } from "../keys.ts";
import { getApply, listApplies, plainJson } from "./applies.ts";
import { approvePlan, inputSha256 } from "./plan-approvals.ts";
import { checkOracleAddress, freezeView } from "./policy.ts";
import { previewPolicy } from "./policy-impact.ts";

/** How many recent changes are searched for the actor who set a live value. */
const MAX_CHANGES = 1000;

/** Configuration as code: the state that a plan compares with, and the apply that carries out the plan. */
export function configurationHandlers(context: ServiceContext) {
  return {
    getConfig: () => readConfiguration(context),
    listUnsettledMarkets: (input) => unsettledMarkets(context, input),
    listApplies: (input) => listApplies(context, input),
    getApply: ({ seq }) => getApply(context, seq),
    previewPolicy: (input) => previewPolicy(context, input),
    applyConfig: (input, caller) => applyConfig(context, input, caller),
    approvePlan: (input, caller) => approvePlan(context, input, caller),
  } satisfies Handlers;
}

export async function readConfiguration({ tenantId, pool, isSealed }: ServiceContext): Promise<Result<"getConfig">> {
  const [[loaded], keys, markets, changes, [treasury], atRiskMicro, freeze, now] = await pool.snapshot((sql) =>
    Promise.all([
      loadRows(sql, [{ table: "tenant", key: SINGLE }]),
      listApiKeys(sql, isSealed),
      listFileMarkets(sql),
      listLiveChanges(sql, MAX_CHANGES),
      loadRows(sql, [{ table: "account", key: TREASURY }]),
      sumAtRisk(sql),
      readFreeze(sql, isSealed),
      readClock(sql),
    ]),
  );
  const tenant = (loaded?.row ?? undefined) as Tenant | undefined;
  const treasuryMicro = (treasury?.row as Account | null | undefined)?.balanceMicro ?? 0n;
  return configurationOf(tenantId, { tenant, keys, markets, changes, treasuryMicro, atRiskMicro, freeze, now });
}

/** The rows of a tenant's configuration. */
export interface ConfigurationRows {
  /** Undefined if the tenant was never applied. */
  tenant: Tenant | undefined;
  keys: readonly ApiKey[];
  markets: readonly FileMarket[];
  /** Newest first. */
  changes: readonly ConfigurationEntry[];
  treasuryMicro: bigint;
  /** The house's liquidity in unsettled markets. */
  atRiskMicro: bigint;
  freeze: FreezeInForce | null;
  /** By the database's clock. */
  now: number;
}

/** The live configuration, made from a tenant's rows. */
export function configurationOf(tenantId: string, rows: ConfigurationRows): Result<"getConfig"> {
  const { tenant, keys, markets, changes, treasuryMicro, atRiskMicro, freeze, now } = rows;
  return {
    tenant: tenantId,
    version: tenant?.version ?? 0,
    policy: tenant?.policy ?? DEFAULT_POLICY,
    overrides: (tenant?.overrides ?? []).map(({ field, value, until }) => ({ field, value: plainJson(value), until })),
    kycRequired: tenant?.kycRequired ?? true,
    liquidityUsd: tenant?.liquidityMicro ?? 0n,
    capitalUsd: tenant?.capitalMicro ?? 0n,
    treasuryUsd: treasuryMicro,
    atRiskUsd: atRiskMicro,
    keys: keys.filter((key) => isInForce(key, now)).map(keyView),
    endedKeys: keys.filter((key) => !isLive(key, now)).map(keyView),
    markets: markets.flatMap(({ key, formerKeys, ...market }) =>
      key === null ? [] : [{ key, ...marketTerms(market, now), formerKeys }],
    ),
    document: tenant?.document ? JSON.parse(tenant.document) : null,
    changes: changes.map(({ hash: _, ...change }) => ({ ...change, payload: plainJson(change.payload) })),
    freeze: freezeView(freeze),
    now,
  };
}

/** Every field that a file states of a market, and its status. */
function marketTerms({ market, status, proposalId }: Omit<FileMarket, "key" | "formerKeys">, now: number) {
  return {
    id: market.id,
    question: market.question,
    category: market.category,
    kind: market.kind,
    p0: market.p0Ppm / 1e6,
    closeAt: market.closeAt,
    resolutionRef: market.resolutionRef,
    meta: JSON.parse(market.meta),
    liquidityUsd: market.fundMicro,
    status: statusAt({ status, closeAt: market.closeAt }, now),
    proposalId,
  };
}

async function unsettledMarkets(
  { pool, cursors }: ServiceContext,
  input: Input<"listUnsettledMarkets">,
): Promise<Result<"listUnsettledMarkets">> {
  const list = cursors.list("listUnsettledMarkets", input);
  const [after] = list.reached(["string"]) ?? [];
  const [rows, now] = await pool.snapshot((sql) =>
    Promise.all([listUnsettledMarkets(sql, { after, limit: input.limit + 1 }), readClock(sql)]),
  );
  const { page, nextCursor } = list.page(rows, input.limit, ({ market }) => [market.id]);
  return { items: page.map(({ key, ...market }) => ({ key, ...marketTerms(market, now) })), nextCursor };
}

/**
 * Carries out a plan in one commit, and then updates the text search of markets. After an error nothing was written.
 * @throws Fault FROZEN; REFUSED for a stale plan or another tenant's plan; SCOPE_REQUIRED for work outside the key's
 * scopes; KEY_IN_USE if it would end the caller's own key; BAD_REQUEST for a forbidden oracle address; CONFIG_INVALID
 * for an unknown text search configuration
 */
async function applyConfig(context: ServiceContext, input: Input<"applyConfig">, caller: Caller) {
  const { tenantId, oracle, newId } = context;
  if (input.tenant !== tenantId)
    throw new Fault("REFUSED", `This server's tenant is ${tenantId}, not ${input.tenant}; nothing was written`);
  if (input.breakFreeze && (caller.reason ?? "").trim() === "")
    throw new Fault("BAD_REQUEST", "breakFreeze: needs a reason");
  checkOracleAddress(input.policy.resolution_url, oracle.network);
  await requireSearch(context, input);
  const takenKey = await findTakenKey(context, input);
  const result = await submit(
    context,
    "applyConfig",
    {
      ...applyCommandOf(input, () => newId("mkt")),
      ...keyInHand(caller),
      ...{ takenKey, by: caller.actor, inputSha256: inputSha256(input) },
    },
    caller,
    ({ changed }, seq) => ({ changed, seq: changed && seq !== undefined ? Number(seq) : null }),
  );
  // The change is committed. If updating the search fails, the next process that opens the tenant updates it.
  await context.pool.write(followMarketSearch).catch(() => undefined);
  return result;
}

/** A document without a search configuration means the default. */
async function requireSearch({ pool }: ServiceContext, { document }: Input<"applyConfig">): Promise<void> {
  const { search } = document.markets;
  if (search === undefined || (typeof search === "string" && (await pool.read((sql) => knowsTextSearch(sql, search)))))
    return;
  throw new Fault("CONFIG_INVALID", `The database has no text search configuration ${JSON.stringify(search)}`);
}

/**
 * A file's market is created once. If another process creates it after this check, the plan's version becomes stale.
 */
async function findTakenKey({ pool }: ServiceContext, { markets }: Input<"applyConfig">): Promise<string | undefined> {
  if (markets.length === 0) return undefined;
  const taken = new Set((await pool.snapshot(listFileMarkets)).flatMap(({ key, formerKeys }) => [key, ...formerKeys]));
  return markets.find((market) => taken.has(market.key))?.key;
}

/** The engine's command for the changes of a plan. */
export function applyCommandOf(input: Input<"applyConfig">, newId: () => string): Command<"applyConfig"> {
  const { tenant: _, feeds, document, liquidityUsd, capitalUsd, keys, revoke, markets, ...rest } = input;
  const hashes = new Map(Object.entries(feeds));
  return {
    type: "applyConfig",
    ifVersion: rest.ifVersion,
    policy: rest.policy,
    kycRequired: rest.kycRequired,
    liquidityMicro: liquidityUsd,
    capitalMicro: capitalUsd,
    keys: keys.map(({ sha256, ...key }) => ({ ...key, hash: sha256 })),
    revoke: revoke.map(({ name, fingerprint }) => ({ name, hash: fingerprint.slice("fp:".length) })),
    markets: markets.map(({ key, p0, meta, liquidityUsd: own, resolution = null, ...market }) => {
      const outcome = termsOf({ ...market, meta }, hashes);
      return {
        ...market,
        id: newId(),
        fileKey: key,
        p0Ppm: Math.round(p0 * 1e6),
        meta: canonicalJson(meta as Json),
        liquidityMicro: own ?? liquidityUsd,
        resolution,
        terms: outcome.kind === "terms" ? outcome.terms : null,
      };
    }),
    names: rest.names,
    marketStates: rest.marketStates,
    document: canonicalJson(document),
    documentSha256: rest.documentSha256,
    gitCommit: rest.gitCommit ?? undefined,
    rollbackTo: rest.rollbackTo ?? undefined,
    breakFreeze: rest.breakFreeze,
    adopted: rest.adopted.length > 0 ? rest.adopted : undefined,
  };
}
