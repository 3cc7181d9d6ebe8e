import { Fault } from "../domain/fault.ts";
import { type AuditKey, auditKey } from "../engine/seal.ts";
import { Sequencer, type SequencerOptions } from "../sequencer/sequencer.ts";
import { type Connection, type ConnectOptions, connect, type Sql } from "../store/connect.ts";
import { answersWithin, isMissingDatabase, unusable } from "../store/database.ts";
import { openJournal } from "../store/journal.ts";
import { requireCurrentSchema, serverRoleAvailable } from "../store/migrate.ts";
import { commitsAreSynchronous } from "../store/queries/server.ts";
import { readPool } from "../store/read-pool.ts";
import { AuditTail } from "./audit-tail.ts";
import { AuditWatch } from "./audit-watch.ts";
import { configurationHandlers } from "./configuration.ts";
import type { ServiceContext } from "./context.ts";
import { deliveryHandlers } from "./deliveries.ts";
import { explainHandlers } from "./explain.ts";
import { type OracleSetup, oracleSetup } from "./feeds.ts";
import { newId } from "./id.ts";
import { inboundHandlers } from "./inbound.ts";
import type { Handlers } from "./invoke.ts";
import { keyHandlers } from "./keys.ts";
import { marketViewHandlers } from "./market-views.ts";
import { marketHandlers } from "./markets.ts";
import { oracleHandlers } from "./oracle.ts";
import { orderHandlers } from "./orders.ts";
import { policyHandlers } from "./policy.ts";
import { portfolioHandlers } from "./portfolio.ts";
import { recordHandlers } from "./record.ts";
import { RefusalLog } from "./refusal-log.ts";
import { reportHandlers } from "./reports.ts";
import { tradingHandlers } from "./trading.ts";
import { userHandlers } from "./users.ts";
import { walletHandlers } from "./wallets.ts";

export interface TenantOptions extends Pick<SequencerOptions, "onError" | "onCommit"> {
  tenantId: string;
  connection: Connection;
  auditSecret: string;
  /** Of keys that sealed earlier entries: they verify, and seal nothing new. */
  previousAuditSecrets?: readonly string[];
  /** Entries up to which `GET /v1/audit/status` verifies the whole chain in the request. */
  wholeAuditUpTo?: bigint;
  /** The tenant's feeds; the built-in ones unless given. */
  oracle?: OracleSetup | undefined;
  /** How many reads may run at once. */
  readers?: number;
}

/** A tenant's services on its database: what both doors call. */
export interface TenantServices {
  tenantId: string;
  handlers: Handlers;
  sequencer: Sequencer;
  read: Sql;
  checks: Sql;
  /** For work that nobody waits for, so that it never stands in front of reads. Connects when it is used. */
  background: Sql;
  auditKey: AuditKey;
  /** The current key and those that sealed earlier entries. */
  auditKeys: readonly AuditKey[];
  /** Knows whether the audit chain holds; whoever serves lets it walk in the background. */
  auditWatch: AuditWatch;
  /** Fresh identifiers, ordered by time. */
  newId(prefix: string): string;
  oracle: OracleSetup;
  /** Follows what is committed, by whichever process. */
  tail: AuditTail;
  /** What the server of this process refused. */
  refusals: RefusalLog;
  /** Within two seconds, whatever state the database is in. */
  isDatabaseUp(): Promise<boolean>;
  close(): Promise<void>;
}

const READ_TIMEOUT_MS = 10_000;
const CHECK_TIMEOUT_MS = 10 * 60_000;
/** What a read may take beyond the server's own timeout, waiting for a connection included. */
const GRACE_MS = 5_000;
const HEALTH_TIMEOUT_MS = 1_500;

/**
 * Opens the services of a tenant whose schema is current.
 * @throws Fault REFUSED when the schema is older or newer than this binary.
 */
export async function openTenant(options: TenantOptions): Promise<TenantServices> {
  const { tenantId, connection, auditSecret, previousAuditSecrets = [], readers = 8, onError, onCommit } = options;
  const { oracle = oracleSetup() } = options;
  const { restricted, synchronous } = await checkDatabase(tenantId, connection);
  const key = auditKey(auditSecret);
  const auditKeys = [key, ...previousAuditSecrets.map(auditKey)];
  const journal = openJournal(connection, { restricted, synchronous });
  const pool = (own: ConnectOptions & { statementTimeoutMs: number }) =>
    readPool(() => connect(connection, { ...own, restricted }), own.statementTimeoutMs + GRACE_MS);
  const read = pool({ name: "reader", max: readers, statementTimeoutMs: READ_TIMEOUT_MS });
  const checks = pool({ name: "checks", max: 1, statementTimeoutMs: CHECK_TIMEOUT_MS, analytical: true });
  const background = pool({ name: "background", max: 2, statementTimeoutMs: READ_TIMEOUT_MS });
  const tail = new AuditTail(read, onError);
  const auditWatch = new AuditWatch({ sql: checks, keys: auditKeys, wholeUpTo: options.wholeAuditUpTo });
  const sequencer = new Sequencer({
    journal,
    auditKey: key,
    ...(onError ? { onError } : {}),
    onCommit: (size) => {
      tail.wake();
      onCommit?.(size);
    },
  });
  const refusals = new RefusalLog();
  const startedAt = performance.now();
  const isDatabaseUp = () => answersWithin(read, HEALTH_TIMEOUT_MS);
  const context: ServiceContext = {
    tenantId,
    sequencer,
    read,
    checks,
    auditWatch,
    oracle,
    newId: (prefix) => newId(prefix, Math.floor(wallClockMs())),
  };
  return {
    tenantId,
    handlers: {
      ...marketHandlers(context),
      ...marketViewHandlers(context),
      ...tradingHandlers(context),
      ...orderHandlers(context),
      ...walletHandlers(context),
      ...userHandlers(context),
      ...portfolioHandlers(context),
      ...recordHandlers(context),
      ...policyHandlers(context),
      ...inboundHandlers(context),
      ...reportHandlers(context),
      ...explainHandlers(context, refusals),
      ...keyHandlers(context),
      ...deliveryHandlers(context),
      ...oracleHandlers(context),
      ...configurationHandlers(context),
      getHealth: async () => {
        const db = await isDatabaseUp();
        return { ok: db, service: "pmctl", db, uptimeSec: Math.floor((performance.now() - startedAt) / 1000) };
      },
    },
    sequencer,
    read,
    checks,
    background,
    auditKey: key,
    auditKeys,
    auditWatch,
    newId: context.newId,
    oracle,
    tail,
    refusals,
    isDatabaseUp,
    close: async () => {
      tail.close();
      await auditWatch.stop();
      await sequencer.close();
      await Promise.all([journal.close(), ...[read, checks, background].map((sql) => sql.end({ timeout: 5 }))]);
    },
  };
}

/** Identifiers sort by the process's own clock; nothing is decided by it. */
function wallClockMs(): number {
  return performance.timeOrigin + performance.now();
}

/**
 * Refuses a schema of another version, and tells whether the restricted role may be taken, and whether commits must ask
 * for the disk themselves. Stricter settings, such as waiting for a replica, stay.
 */
async function checkDatabase(
  tenantId: string,
  connection: Connection,
): Promise<{ restricted: boolean; synchronous: boolean }> {
  const sql = connect(connection, { name: "check", max: 1, statementTimeoutMs: READ_TIMEOUT_MS });
  try {
    await requireCurrentSchema(sql);
    return { restricted: await serverRoleAvailable(sql), synchronous: !(await commitsAreSynchronous(sql)) };
  } catch (error) {
    if (error instanceof Fault) throw error;
    if (isMissingDatabase(error))
      throw new Fault("REFUSED", `${tenantId} has no database yet: run pmctl apply ${tenantId}`, { cause: error });
    throw unusable(error);
  } finally {
    await sql.end({ timeout: 5 });
  }
}
