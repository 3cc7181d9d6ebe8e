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
  type Entry,
  type LogText,
  type VerifyOptions,
  verifyFile,
  verifyOverApi,
} from "./walk-log.ts";

export type Verify = (api: Api, options: VerifyOptions) => Promise<ChainReport>;

/** How a log is verified. */
export interface Verification extends Pick<VerifyOptions, "from" | "anchors"> {
  verify: Verify;
  /** Stores how far the chain was verified. */
  keep?: ((report: ChainReport) => Promise<void>) | undefined;
}

interface Terms {
  /** A file of anchors or receipts that the chain must still hold. */
  anchor?: string | undefined;
  /** Receives the number of lines that were ignored. */
  note: (message: string) => void;
}

/**
 * The terms for verifying the log of an open tenant: it must also hold the anchors of the operator's directory.
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
      if (!(await isConfirmed({ seq: count, hash: head }, session)))
        throw new Fault("DATABASE_UNAVAILABLE", `the database does not confirm entry ${count}`);
      await raiseVerifiedPoint(directory, id, { seq: BigInt(count), hash: head });
    },
  };
}

/** Longer than a server takes to see an entry that another process wrote. */
const CONFIRMED_WITHIN_MS = 3000;
const CONFIRMED_AGAIN_MS = 500;

/**
 * Whether an entry would survive the loss of the database's server. Remembering an entry that only the primary has
 * would make the next primary's log look set back. A server anchors an entry only once it would survive.
 */
export async function isConfirmed(
  { seq, hash }: Pick<Entry, "seq" | "hash">,
  { services, api }: TenantSession,
): Promise<boolean> {
  if (services)
    return confirmLog(services.background, { seq: BigInt(seq), hash }).then(
      () => true,
      () => false,
    );
  for (const deadline = performance.now() + CONFIRMED_WITHIN_MS; ; await delay(CONFIRMED_AGAIN_MS)) {
    const { anchor } = await api().getAuditStatus({});
    if ((anchor?.seq ?? 0) >= seq) return true;
    if (performance.now() > deadline) return false;
  }
}

/** The terms for verifying an export, which needs only the tenant's audit keys. */
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
 * Verifies from the database or over HTTP; both recompute every link.
 * @param keys all keys that have sealed entries; used over HTTP, since the services have their own
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
