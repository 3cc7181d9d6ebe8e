import { type AuditKey, auditKey, sealCheck } from "../../domain/audit/seal.ts";
import { Fault } from "../../domain/fault.ts";
import { logConfirmer } from "../../ledger/confirm-log.ts";
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
import { type OracleSetup, oracleSetup } from "../feeds.ts";
import type { AllHandlers } from "../invoke.ts";
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
  /** Entries up to which `GET /v1/audit/status` verifies the whole chain in the request. */
  wholeAuditUpTo?: bigint;
  /** Entries up to which `POST /v1/reconcile` compares the whole ledger in the request. */
  wholeLedgerUpTo?: bigint;
  /** The tenant's feeds; the built-in ones unless given. */
  oracle?: OracleSetup | undefined;
  /** Standbys without which changes are refused; none unless given. */
  requiredStandbys?: number;
  /** The most connections to the database that these services have at a time, from 4 on, or those for each use. */
  connections?: number | Division | undefined;
  /** Lends the connections in their place, where one process serves many tenants. */
  lender?: TenantLender | undefined;
  /** Bytes of answers kept in memory for repeated reads; 0 for a process that asks little and ends soon. */
  viewBytes?: number;
  /**
   * Where anchors of the log are kept; without it only entries that this process has seen are known. If the log was set
   * back behind them, every change is refused; `false` is for the command that accepts this.
   */
  anchors?: Pick<AnchorSources, "directory" | "files"> | false | undefined;
  /** What this process knows of the chain since the tenant was open before. */
  chainMemory?: ChainMemory | undefined;
  /** For the restore that has filled the database, and has not come to its end. */
  restoring?: boolean;
  /** For a server: called with a notice where it begins on a newer schema that takes what it writes. Without it none is taken. */
  onNewerSchema?: (notice: string) => void;
}

/** A tenant's services on its database, for the server and for calls within the process. */
export interface TenantServices extends ServiceContext {
  handlers: AllHandlers;
  /** For work that no request waits for, so that reads never wait behind it. Connects on first use. */
  background: Pool;
  /** The current key and those that sealed earlier entries. */
  auditKeys: readonly AuditKey[];
  /** Compares the log with its known entries. */
  evidence: Evidence;
  /** Follows the commits of all processes. */
  tail: AuditTail;
  /** The requests that this process's server refused. */
  refusals: RefusalLog;
  /** What an acknowledged change survives. */
  durability: DurabilityWatch;
  /** How many connections to the database are open. */
  countConnections(): number;
  /** Resolves within two seconds, whatever the state of the database. */
  isDatabaseUp(): Promise<boolean>;
  close(): Promise<void>;
}

const READ_TIMEOUT_MS = 10_000;
const HEALTH_TIMEOUT_MS = 1_500;

/**
 * Opens the services of a tenant whose schema is current.
 * @throws Fault REFUSED when the schema is older or newer than this binary, but for a server that may begin on a newer one.
 */
export async function openTenant(options: TenantOptions): Promise<TenantServices> {
  const { tenantId, connection, oracle = oracleSetup(), onError, onCommit } = options;
  const { lender } = options;
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
  const journal = options.anchors === false ? withStandbys : guardJournal(withStandbys, evidence);
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
  if (sources) await evidence.look();
  await durability.start();
  const refusals = new RefusalLog();
  const isDatabaseUp = () => answersWithin(pool, HEALTH_TIMEOUT_MS);
  const cursors = new Cursors(auditKeys);
  const security = new SecurityLog({ write: (rows) => background.note((sql) => recordSecurityEvents(sql, rows)) });
  const context: ServiceContext = {
    tenantId,
    sequencer,
    pool,
    publicReads,
    views,
    checks,
    recordWatch,
    oracle,
    sweeps: {},
    cursors,
    security,
    auditKey: key,
    isSealed,
    newId: freshId,
  };
  return {
    ...context,
    handlers: allHandlers(context, { refusals, isDatabaseUp }),
    background,
    auditKeys,
    evidence,
    tail,
    refusals,
    durability,
    countConnections: connections.count,
    isDatabaseUp,
    close: async () => {
      tail.close();
      durability.stop();
      // A comparison whose connection hangs ends with its pool, not with its own deadline of minutes.
      await Promise.all([recordWatch.stop(), checks.end({ timeout: 5 })]);
      await sequencer.close();
      await security.stop();
      await Promise.all([journal.close(), ...[pool, publicReads, background].map((each) => each.end({ timeout: 5 }))]);
    },
  };
}

/**
 * The services of a command, once the end of the log is one of its keys': under another log's keys nothing counts that the
 * log states, so that answers would show keys revoked, users unverified and freezes lifted. Closes them otherwise.
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

/** Identifiers sort by the process's own clock; no decision rests on it. */
function freshId(prefix: string): string {
  return newId(prefix, performance.timeOrigin + performance.now());
}

/**
 * The Fault for a failed check of a database; when access is denied, it says if the schema is of an older version.
 */
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
    // An apply may have been cut off before the search followed; the tenant works without it.
    await followMarketSearch(sql).catch(() => undefined);
    return { restricted: await serverRoleAvailable(sql, GRANTS) };
  } catch (error) {
    throw await refusalOf(tenantId, sql, error);
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/** No apply has granted the server's login all of its rights. */
export class NotGranted extends Fault {
  constructor(tenant: string, options?: ErrorOptions) {
    const message = `The server's login has no rights in the database of ${tenant} yet: run pmctl apply ${tenant}, which grants them`;
    super("REFUSED", message, options);
    this.name = "NotGranted";
  }
}

/** The Fault for a failed check before a tenant is opened, in words for the operator. */
export function unready(tenant: string, error: unknown): Fault {
  if (isMissingDatabase(error))
    return new Fault("REFUSED", `${tenant} has no database yet: run pmctl apply ${tenant}`, { cause: error });
  if (error instanceof SchemaMissing || isMissingTable(error))
    return new Fault("REFUSED", `The database of ${tenant} lacks tables: run pmctl apply ${tenant}`, { cause: error });
  if (isDenied(error)) return new NotGranted(tenant, { cause: error });
  return unusable(error);
}
