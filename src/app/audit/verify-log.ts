import type { Api } from "../../contract/operations.ts";
import { type AuditKey, auditKey } from "../../domain/audit/seal.ts";
import type { KnownAnchor } from "../../domain/audit/set-back.ts";
import { counted } from "../../domain/text.ts";
import { readLog } from "../../queries/evidence.ts";
import { raiseVerifiedPoint, readVerifiedPoint } from "../../services/anchors/verified-point.ts";
import { verifyChain } from "../../services/audit/audit-verifier.ts";
import type { TenantServices } from "../../services/tenant/tenant.ts";
import { auditSecretsOf, readOperatorTenant } from "../tenant/operator-tenant.ts";
import type { Session } from "../tenant/session.ts";
import { readAnchors } from "./anchors-in-file.ts";
import { knownToOperator } from "./known-to-operator.ts";
import { type ChainReport, chainReport, type VerifyOptions, verifyFile, verifyOverApi } from "./walk-log.ts";

export type Verify = (api: Api, options: VerifyOptions) => Promise<ChainReport>;

/** What a verification of a log works with. */
export interface Verification extends Pick<VerifyOptions, "from" | "anchors"> {
  verify: Verify;
  /** Told of a chain that holds. */
  keep?: ((report: ChainReport) => Promise<void>) | undefined;
}

interface Terms {
  /** A file of anchors or receipts that the chain must still hold. */
  anchor?: string | undefined;
  /** Told of lines in it that count for nothing. */
  note: (message: string) => void;
}

/**
 * How the log of an open tenant is verified, held against what the operator's directory knows of it.
 * @param incremental begins where this directory's last verification ended
 */
export async function verificationOf(
  { tenant, services }: Session,
  { anchor, incremental, note }: Terms & { incremental: boolean },
): Promise<Verification> {
  const { id, directory } = tenant;
  const keys = services?.auditKeys ?? auditSecretsOf(tenant).map(auditKey);
  const { anchors } = await knownToOperator(tenant, keys);
  return {
    verify: chainVerifier(services, keys),
    from: incremental ? await readVerifiedPoint(directory, id) : undefined,
    anchors: [...anchors, ...(await statedAnchors(id, keys, { anchor, note }))],
    keep: ({ head, count }) => raiseVerifiedPoint(directory, id, { seq: BigInt(count), hash: head }),
  };
}

/** How an export of a tenant's log is verified: with its audit keys, and nothing else of the tenant. */
export async function verificationOfFile(named: string | undefined, file: string, terms: Terms): Promise<Verification> {
  const tenant = readOperatorTenant(named);
  const keys = auditSecretsOf(tenant).map(auditKey);
  const anchors = await statedAnchors(tenant.id, keys, terms);
  return { verify: (_, options) => verifyFile(file, keys, options), anchors };
}

/**
 * Straight from the database, or page by page over HTTP; both recompute every link.
 * @param keys those that have sealed entries, which the services know themselves
 */
export function chainVerifier(
  services: Pick<TenantServices, "checks" | "auditKeys"> | undefined,
  keys: readonly AuditKey[],
): Verify {
  return async (api, options) => {
    if (!services) return verifyOverApi(api, keys, options);
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

async function statedAnchors(
  tenant: string,
  keys: readonly AuditKey[],
  { anchor, note }: Terms,
): Promise<KnownAnchor[]> {
  if (anchor === undefined) return [];
  const { anchors, ignored } = await readAnchors(anchor, tenant, keys);
  if (ignored > 0)
    note(`${anchor}: ignored ${counted(ignored, "line")} that no audit key of ours signed, or that was cut short`);
  return anchors;
}
