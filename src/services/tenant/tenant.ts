import { type AuditKey, auditKey, sealCheck } from "../../domain/audit/seal.ts";
import { Fault } from "../../domain/fault.ts";
import { logConfirmer } from "../../ledger/confirm-log.ts";
import type { Journal } from "../../ledger/journal.ts";
import { followMarketSearch } from "../../ledger/market-search.ts";
import { GRANTS, WRITTEN_COLUMNS } from "../../ledger/schema.ts";
import type { SequencerOptions } from "../../ledger/sequencer/options.ts";
import { Sequencer } from "../../ledger/sequencer/sequencer.ts";
import { recordSecurityEvents } from "../../ledger/unchained/security-log.ts";
import { type Connection, connect, type Sql } from "../../postgres/connect.ts";
import {
  answersWithin,
  isDenied,
  isMissingDatabase,
  isMissingTable,
  placeOf,
  unusable,
} from "../../postgres/database.ts";
import { SchemaMissing } from "../../postgres/empty-database.ts";
import { requirePostgres } from "../../postgres/engine.ts";
import type { TenantLender } from "../../postgres/lending.ts";
import { isBehind, mayRead, requireCurrentSchema, SchemaBehind, serverRoleAvailable } from "../../postgres/migrate.ts";
import type { Pool } from "../../postgres/pool.ts";
import { Evidence, guardJournal } from "../anchors/evidence.ts";
import type { AnchorSources } from "../anchors/known-anchors.ts";
import { AuditTail } from "../audit/audit-tail.ts";
import type { ChainMemory } from "../audit/chain-check.ts";
import { RecordWatch } from "../audit/record-watch.ts";
import type { ServiceContext } from "../context.ts";
import { Cursors } from "../cursor.ts";
import type { AllHandlers } from "../invoke.ts";
import type { Neighbours } from "../markets/passing/following.ts";
import { Leading } from "../markets/passing/leading.ts";
import { passTrades } from "../markets/passing/passing.ts";
import { decideTrade } from "../markets/trading.ts";
import { type OracleSetup, oracleSetup } from "../oracle/feeds.ts";
import { RefusalLog } from "../security/refusal-log.ts";
import { SecurityLog } from "../security/security-log.ts";
import { VIEW_BYTES, Views } from "../views/views.ts";
import { type DatabaseTerms, type Division, openConnections } from "./connections.ts";
import { DurabilityWatch } from "./durability-watch.ts";
import { allHandlers } from "./handlers.ts";
import { newId } from "./identifiers.ts";
import { journalWithStandbys, poolWithStandbys, withoutVainWrites } from "./standby-guards.ts";

export interface TenantOptions extends Pick<SequencerOptions, "onError" | "onCommit"> {
  tenantId: string;
  connection: Connection;
  auditSecret: string;
  /** Secrets of the keys that sealed earlier entries; they only verify. */
  previousAuditSecrets?: readonly string[];
  /** Up to this many entries, `GET /v1/audit/status` verifies the whole chain in the request. */
  wholeAuditUpTo?: bigint;
  /** Up to this many entries, `POST /v1/reconcile` compares the whole ledger in the request. */
  wholeLedgerUpTo?: bigint;
  /** The tenant's feeds; the built-in feeds by default. */
  oracle?: OracleSetup | undefined;
  /** Standbys without which changes are refused; none by default. */
  requiredStandbys?: number;
  /** The most connections that these services may open at a time (at least 4), or the number for each purpose. */
  connections?: number | Division | undefined;
  /** Lends connections instead, if one process serves many tenants. */
  lender?: TenantLender | undefined;
  /** Bytes of answers kept in memory for repeated reads; 0 for a process that reads little and ends soon. */
  viewBytes?: number;
  /**
   * Where anchors of the log are stored. Without it, only entries that this process has seen are known. If the log was
   * set back behind the anchors, every change is refused; `false` is for the command that accepts the loss.
   */
  anchors?: Pick<AnchorSources, "directory" | "files"> | false | undefined;
  /** This process's knowledge of the chain from the last time that the tenant was open. */
  chainMemory?: ChainMemory | undefined;
  /** For a server that passes trades to another of its directory, or decides theirs. */
  neighbours?: Neighbours | undefined;
  /** For an unfinished restore that has filled the database. */
  restoring?: boolean;
  /** For a server: called with a notice if it begins on a newer, compatible schema. Without it a newer schema is refused. */
  onNewerSchema?: (notice: string) => void;
}

/** A tenant's services on its database, for the server and for calls within the process. */
export interface TenantServices extends ServiceContext {
  handlers: AllHandlers;
  /** For work that no request waits for, so that reads never wait behind it. Connects on first use. */
  background: Pool;
  /** The current key and the keys that sealed earlier entries. */
  auditKeys: readonly AuditKey[];
  /** Decides the trades of other servers; undefined without `neighbours`. */
  leading: Leading | undefined;
  /** Follows the commits of all processes. */
  tail: AuditTail;
  /** The requests that this process's server refused. */
  refusals: RefusalLog;
  /** Knows which failures an acknowledged change survives. */
  durability: DurabilityWatch;
  /** The number of open connections to the database. */
  countConnections(): number;
  /** Resolves within two seconds, whatever the state of the database. */
  isDatabaseUp(): Promise<boolean>;
  close(): Promise<void>;
}

const READ_TIMEOUT_MS = 10_000;
const HEALTH_TIMEOUT_MS = 1_500;

/**
 * Opens the services of a tenant whose schema is current.
 * @throws Fault REFUSED if the schema is older or newer than this binary, unless a server may begin on a newer schema
 */
export async function openTenant(options: TenantOptions): Promise<TenantServices> {
  const { tenantId, connection, oracle = oracleSetup(), onError, onCommit } = options;
  const { lender, neighbours } = options;
  const terms = await (lender ? lender.once(() => checkDatabase(options)) : checkDatabase(options));
  const key = auditKey(options.auditSecret);
  const auditKeys = [key, ...(options.previousAuditSecrets ?? []).map(auditKey)];
  const isSealed = sealCheck(auditKeys);
  const connections = openConnections(connection, { ...terms, isSealed }, options);
  const { journal: unguarded, checks } = connections;
  const sources = options.anchors ? { ...options.anchors, tenant: tenantId, keys: auditKeys } : undefined;
  const evidence = new Evidence({ reader: connections.pool, keys: auditKeys, sources });
  const durability = new DurabilityWatch({
    reader: connections.background,
    placeOf: (address) => placeOf(connection, address),
    required: options.requiredStandbys ?? 0,
  });
  const promises = (options.requiredStandbys ?? 0) > 0;
  const withStandbys = promises ? journalWithStandbys(unguarded, () => durability.refusal) : unguarded;
  const kept = (each: Pool) => (promises ? poolWithStandbys(each, () => durability.refusal) : each);
  const pool = kept(connections.pool);
  const { publicReads } = connections;
  const background = withoutVainWrites(kept(connections.background), () => durability.waitsInVain());
  const guarded = options.anchors === false ? withStandbys : guardJournal(withStandbys, evidence);
  const journal: Journal = {
    ...guarded,
    // Only a process that shares the tenant with another needs a turn.
    takeTurn: (known) => {
      passing.meet();
      return guarded.takeTurn(known);
    },
  };
  const confirm = logConfirmer(background);
  const tail = new AuditTail(pool, isSealed, onError, {
    acknowledged: () => evidence.acknowledged?.seq ?? 0n,
    confirm,
  });
  const wholeUpTo = options.wholeAuditUpTo;
  const recordWatch = new RecordWatch({
    chain: { reader: checks, keys: auditKeys, evidence, confirm, wholeUpTo, memory: options.chainMemory },
    ledger: { checks, pool, keys: auditKeys, comparedEachTime: options.wholeLedgerUpTo },
  });
  const views = new Views({ reader: pool, maxBytes: options.viewBytes ?? VIEW_BYTES });
  const sequencer = new Sequencer({
    journal,
    auditKey: key,
    auditKeys,
    ...(onError ? { onError } : {}),
    refusal: () => durability.refusal,
    onSend: (batch) => views.sent(batch),
    onCommit: (commit) => {
      views.committed(commit.head);
      evidence.acknowledge(commit.head);
      recordWatch.chain.verifiedHead.sealed(commit.before, commit.head);
      tail.wake();
      onCommit?.(commit);
    },
  });
  const passing = passTrades({
    following: neighbours && {
      ...neighbours,
      ...{ tenant: tenantId, key },
      onSealed: (seal) => {
        evidence.acknowledgeSeen(seal);
        tail.wake();
      },
    },
    decide: (request) => decideTrade(context, request),
    ...{ journal: guarded, reader: pool },
  });
  if (sources) await evidence.look();
  await durability.start();
  const refusals = new RefusalLog();
  const isDatabaseUp = () => answersWithin(pool, HEALTH_TIMEOUT_MS);
  const cursors = new Cursors(auditKeys);
  const security = new SecurityLog({ write: (rows) => background.note((sql) => recordSecurityEvents(sql, rows)) });
  const context: ServiceContext = {
    tenantId,
    sequencer,
    passing,
    pool,
    publicReads,
    views,
    checks,
    evidence,
    recordWatch,
    oracle,
    sweeps: {},
    serving: {},
    cursors,
    security,
    auditKey: key,
    isSealed,
    newId: freshId,
  };
  return {
    ...context,
    handlers: allHandlers(context, { refusals, isDatabaseUp, durability }),
    background,
    auditKeys,
    leading: neighbours && new Leading({ key, version: neighbours.version, decide: decideTrade.bind(null, context) }),
    tail,
    refusals,
    durability,
    countConnections: connections.count,
    isDatabaseUp,
    close: async () => {
      tail.close();
      durability.stop();
      // A comparison on a hanging connection ends with its pool, not at its own deadline of minutes.
      await Promise.all([recordWatch.stop(), checks.end({ timeout: 5 })]);
      passing.close();
      await sequencer.close();
      await security.stop();
      await Promise.all([journal.close(), ...[pool, publicReads, background].map((each) => each.end({ timeout: 5 }))]);
    },
  };
}

/**
 * The services of a command, after checking that one of its keys sealed the end of the log. Under another log's keys no statement
 * of the log would count: answers would show keys revoked, users unverified and freezes lifted. Closes them otherwise.
 * @throws Fault CONFIG_INVALID naming both keys
 */
export async function ofOurLog(services: TenantServices): Promise<TenantServices> {
  try {
    await services.evidence.requireOurLog();
    return services;
  } catch (error) {
    await services.close();
    throw error;
  }
}

/** Identifiers sort by the process's own clock; no decision depends on it. */
function freshId(prefix: string): string {
  return newId(prefix, performance.timeOrigin + performance.now());
}

/** The Fault for a failed check of a database; if access is denied, it says whether the schema has an older version. */
async function refusalOf(tenantId: string, sql: Sql, error: unknown): Promise<Fault> {
  const isOlder = isDenied(error) && (await isBehind(sql, GRANTS).catch(() => false));
  return isOlder ? new SchemaBehind() : unready(tenantId, error);
}

/** Refuses a schema of another version, and returns how to connect to the database. */
async function checkDatabase({
  tenantId,
  connection,
  restoring,
  onNewerSchema,
}: Pick<TenantOptions, "tenantId" | "connection" | "restoring" | "onNewerSchema">): Promise<DatabaseTerms> {
  const sql = connect(connection, { name: "check", max: 1, statementTimeoutMs: READ_TIMEOUT_MS });
  try {
    await requirePostgres(sql);
    const newer = onNewerSchema && { writes: WRITTEN_COLUMNS, onBegin: onNewerSchema };
    await requireCurrentSchema(sql, { restoring, newer });
    if (!(await mayRead(sql, GRANTS))) throw new NotGranted(tenantId);
    // An apply may have ended before it updated the search; the tenant works without it.
    await followMarketSearch(sql).catch(() => undefined);
    return { restricted: await serverRoleAvailable(sql, GRANTS) };
  } catch (error) {
    throw await refusalOf(tenantId, sql, error);
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/** Thrown if no apply has granted the server's login all of its rights. */
export class NotGranted extends Fault {
  constructor(tenant: string, options?: ErrorOptions) {
    const message = `The server's login has no rights in the database of ${tenant} yet: run pmctl apply ${tenant}, which grants them`;
    super("REFUSED", message, options);
    this.name = "NotGranted";
  }
}

/** The Fault for a failed check before a tenant is opened, with a message for the operator. */
export function unready(tenant: string, error: unknown): Fault {
  if (isMissingDatabase(error))
    return new Fault("REFUSED", `${tenant} has no database yet: run pmctl apply ${tenant}`, { cause: error });
  if (error instanceof SchemaMissing || isMissingTable(error))
    return new Fault("REFUSED", `The database of ${tenant} lacks tables: run pmctl apply ${tenant}`, { cause: error });
  if (isDenied(error)) return new NotGranted(tenant, { cause: error });
  return unusable(error);
}
