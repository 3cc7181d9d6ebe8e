import { setTimeout as delay } from "node:timers/promises";
import type { Api } from "../../contract/operations.ts";
import { type AuditKey, auditKey } from "../../domain/audit/seal.ts";
import { Fault } from "../../domain/fault.ts";
import { confirmLog } from "../../ledger/confirm-log.ts";
import { readLog } from "../../queries/evidence.ts";
import { raiseVerifiedPoint, readVerifiedPoint } from "../../services/anchors/known-anchors.ts";
import { verifyChain } from "../../services/audit/audit-verifier.ts";
import type { TenantServices } from "../../services/tenant/tenant.ts";
import { auditSecretsOf, readOperatorTenant } from "../tenant/operator-tenant.ts";
import type { TenantSession } from "../tenant/session.ts";
import { knownToOperator, readAnchors } from "./anchors-in-file.ts";
import {
  type ChainReport,
  chainReport,
  type LogText,
  type VerifyOptions,
  verifyFile,
  verifyOverApi,
} from "./walk-log.ts";

export type Verify = (api: Api, options: VerifyOptions) => Promise<ChainReport>;

/** How a log is verified. */
export interface Verification extends Pick<VerifyOptions, "from" | "anchors"> {
  verify: Verify;
  /** Remembers how far the chain was verified. */
  keep?: ((report: ChainReport) => Promise<void>) | undefined;
}

interface Terms {
  /** A file of anchors or receipts that the chain must still hold. */
  anchor?: string | undefined;
  /** Receives the number of lines that were ignored. */
  note: (message: string) => void;
}

/**
 * How the log of an open tenant is verified: also against the anchors that the operator's directory holds.
 * @param incremental begins where this directory's last verification ended
 */
export async function verificationOf(
  session: TenantSession,
  { anchor, incremental, note }: Terms & { incremental: boolean },
): Promise<Verification> {
  const { tenant, services, logText } = session;
  const { id, directory } = tenant;
  const keys = services?.auditKeys ?? auditSecretsOf(tenant).map(auditKey);
  const { anchors } = await knownToOperator(tenant, keys);
  return {
    verify: chainVerifier(services, keys, logText),
    from: incremental ? await readVerifiedPoint(directory, id) : undefined,
    anchors: [...anchors, ...(anchor === undefined ? [] : await readAnchors(anchor, { tenant: id, keys, note }))],
    keep: async ({ head, count }) => {
      if (!(await isConfirmed(count, session)))
        throw new Fault("DATABASE_UNAVAILABLE", `the database does not confirm entry ${count}`);
      await raiseVerifiedPoint(directory, id, { seq: BigInt(count), hash: head });
    },
  };
}

/** Longer than a server takes to remember an entry that another process wrote. */
const CONFIRMED_WITHIN_MS = 3000;
const CONFIRMED_AGAIN_MS = 500;

/**
 * Whether an entry that was read would outlive the database's server. Kept although only the primary has it, it would make the log
 * of the next primary one that was set back. A server states it as an anchor only once it would.
 */
export async function isConfirmed(seq: number, { services, api }: TenantSession): Promise<boolean> {
  if (services)
    return confirmLog(services.background).then(
      () => true,
      () => false,
    );
  for (const deadline = performance.now() + CONFIRMED_WITHIN_MS; ; await delay(CONFIRMED_AGAIN_MS)) {
    const { anchor } = await api().getAuditStatus({});
    if ((anchor?.seq ?? 0) >= seq) return true;
    if (performance.now() > deadline) return false;
  }
}

/** How an export of a tenant's log is verified, for which only its audit keys are needed. */
export async function verificationOfFile(
  named: string | undefined,
  file: string,
  { anchor, note }: Terms,
): Promise<Verification> {
  const tenant = readOperatorTenant(named);
  const keys = auditSecretsOf(tenant).map(auditKey);
  const anchors = anchor === undefined ? [] : await readAnchors(anchor, { tenant: tenant.id, keys, note });
  return { verify: (_, options) => verifyFile(file, keys, options), anchors };
}

/**
 * Straight from the database, or over HTTP; both recompute every link.
 * @param keys every key that has sealed entries; used over HTTP, since the services hold their own
 */
export function chainVerifier(
  services: Pick<TenantServices, "checks" | "auditKeys"> | undefined,
  keys: readonly AuditKey[],
  logText?: LogText,
): Verify {
  return async (api, options) => {
    if (!services) return verifyOverApi(api, keys, { ...options, logText });
    const { from, anchors, onProgress } = options;
    const total = Number((await services.checks.read((sql) => readLog(sql))).last.seq);
    const { head, count, ...walked } = await verifyChain(services.checks, services.auditKeys, {
      from,
      anchors,
      onPage: (seq) => onProgress?.(Number(seq), total),
    });
    return chainReport({ head, count: Number(count) }, walked);
  };
}
