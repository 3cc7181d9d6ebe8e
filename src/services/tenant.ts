import { Fault } from "../domain/fault.ts";
import { type AuditKey, auditKey } from "../engine/seal.ts";
import { Sequencer, type SequencerOptions } from "../sequencer/sequencer.ts";
import { type Connection, type ConnectOptions, connect, type Sql } from "../store/connect.ts";
import { answersWithin, isMissingDatabase } from "../store/database.ts";
import { openJournal } from "../store/journal.ts";
import { requireCurrentSchema, serverRoleAvailable } from "../store/migrate.ts";
import { readPool } from "../store/read-pool.ts";
import { AuditTail } from "./audit-tail.ts";
import type { ServiceContext } from "./context.ts";
import { newId } from "./id.ts";
import { inboundHandlers } from "./inbound.ts";
import type { Handlers } from "./invoke.ts";
import { marketViewHandlers } from "./market-views.ts";
import { marketHandlers } from "./markets.ts";
import { orderHandlers } from "./orders.ts";
import { policyHandlers } from "./policy.ts";
import { portfolioHandlers } from "./portfolio.ts";
import { recordHandlers } from "./record.ts";
import { reportHandlers } from "./reports.ts";
import { tradingHandlers } from "./trading.ts";
import { userHandlers } from "./users.ts";
import { walletHandlers } from "./wallets.ts";

export interface TenantOptions extends Pick<SequencerOptions, "onError" | "onCommit"> {
  tenantId: string;
  connection: Connection;
  auditSecret: string;
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
  auditKey: AuditKey;
  /** Follows what is committed, by whichever process. */
  tail: AuditTail;
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
  const { tenantId, connection, auditSecret, readers = 8, onError, onCommit } = options;
  const restricted = await checkDatabase(tenantId, connection);
  const key = auditKey(auditSecret);
  const journal = openJournal(connection, { restricted });
  const pool = (own: ConnectOptions & { statementTimeoutMs: number }) =>
    readPool(() => connect(connection, { ...own, restricted }), own.statementTimeoutMs + GRACE_MS);
  const read = pool({ name: "reader", max: readers, statementTimeoutMs: READ_TIMEOUT_MS });
  const checks = pool({ name: "checks", max: 1, statementTimeoutMs: CHECK_TIMEOUT_MS, analytical: true });
  const tail = new AuditTail(read, onError);
  const sequencer = new Sequencer({
    journal,
    auditKey: key,
    ...(onError ? { onError } : {}),
    onCommit: (size) => {
      tail.wake();
      onCommit?.(size);
    },
  });
  const startedAt = performance.now();
  const isDatabaseUp = () => answersWithin(read, HEALTH_TIMEOUT_MS);
  const context: ServiceContext = {
    tenantId,
    sequencer,
    read,
    checks,
    auditKey: key,
    newId: (prefix) => newId(prefix, Math.floor(wallClock())),
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
      getHealth: async () => {
        const db = await isDatabaseUp();
        return { ok: db, service: "pmctl", db, uptimeSec: Math.floor((performance.now() - startedAt) / 1000) };
      },
    },
    sequencer,
    read,
    checks,
    auditKey: key,
    tail,
    isDatabaseUp,
    close: async () => {
      tail.close();
      await sequencer.close();
      await Promise.all([journal.close(), read.end({ timeout: 5 }), checks.end({ timeout: 5 })]);
    },
  };
}

/** Identifiers sort by the process's own clock; nothing is decided by it. */
function wallClock(): number {
  return performance.timeOrigin + performance.now();
}

/** Refuses a schema of another version, and tells whether the restricted role may be taken. */
async function checkDatabase(tenantId: string, connection: Connection): Promise<boolean> {
  const sql = connect(connection, { name: "check", max: 1, statementTimeoutMs: READ_TIMEOUT_MS });
  try {
    await requireCurrentSchema(sql);
    return await serverRoleAvailable(sql);
  } catch (error) {
    if (error instanceof Fault) throw error;
    if (isMissingDatabase(error))
      throw new Fault("REFUSED", `${tenantId} has no database yet: run pmctl apply ${tenantId}`, { cause: error });
    throw new Fault("DATABASE_UNAVAILABLE", `The database of the tenant cannot be used: ${(error as Error).message}`, {
      cause: error,
    });
  } finally {
    await sql.end({ timeout: 5 });
  }
}
