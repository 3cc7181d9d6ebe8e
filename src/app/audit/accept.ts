/**
 * What an operator accepts at the database, on record: a log that was set back, or an entry that the recomputation
 * would decide otherwise. Neither can be repaired, so only an acceptance resolves them.
 */
import { type ChainBreak, otherKeyFault } from "../../domain/audit/chain-walk.ts";
import type { SetBack } from "../../domain/audit/set-back.ts";
import { Fault, invariant } from "../../domain/fault.ts";
import { recomputeLedger } from "../../queries/reconcile/reconcile.ts";
import { describeFinding, Recomputation } from "../../replay/recomputation.ts";
import { type AcceptedRollback, acceptRollback } from "../../services/anchors/accept-rollback.ts";
import { findSetBack } from "../../services/anchors/known-anchors.ts";
import { verifyChain } from "../../services/audit/audit-verifier.ts";
import { openTenant, type TenantServices } from "../../services/tenant/tenant.ts";
import { operatorActor } from "../tenant/actor.ts";
import { auditSecretsOf, type OperatorTenant, readOperatorTenant } from "../tenant/operator-tenant.ts";
import { openAsServer } from "../tenant/tenant-database.ts";
import { commandOptions } from "../tenant/tenant-services.ts";
import { knownToOperator } from "./anchors-in-file.ts";

interface Acceptance {
  /** The tenant's name; undefined where the directory has one tenant. */
  tenant?: string | undefined;
  reason: string;
}

/** What was accepted. `anchor` and `seq` are null for a log that was not set back, because no entry is written then. */
export interface AcceptedSetBack {
  anchor: AcceptedRollback["anchor"] | null;
  head: AcceptedRollback["head"];
  lost: number;
  seq: number | null;
}

/**
 * Accepts that a log was set back: an audit entry records that the lost entries are given up.
 *
 * @param confirm asks the operator; nothing changes when it throws
 * @throws Fault INTEGRITY when the chain itself does not hold, CONFIG_INVALID for another log's audit key
 */
export async function acceptSetBack(
  { tenant: named, reason }: Acceptance,
  confirm: (setBack: SetBack, tenant: string) => Promise<void>,
): Promise<AcceptedSetBack> {
  const operator = readOperatorTenant(named);
  const { id: tenant, directory } = operator;
  // With anchors the command would be refused.
  return atDatabase(operator, false, async ({ sequencer, auditKey, auditKeys: keys, checks: reader }) => {
    const { anchors } = await knownToOperator(operator, keys);
    const { broken, head: hash, count } = await verifyChain(reader, keys);
    requireWhole(broken);
    const setBack = await findSetBack(reader, keys, anchors);
    if (!setBack) return { anchor: null, head: { seq: Number(count), hash }, lost: 0, seq: null };
    await confirm(setBack, tenant);
    const verified = { seq: BigInt(count), hash };
    const recording = { tenant, directory, actor: operatorActor(), reason };
    return acceptRollback(setBack, { sequencer, auditKey, reader, keys, verified, ...recording });
  });
}

/** The accepted findings of `entry`, and the entry that records them. */
export interface AcceptedFinding {
  entry: number;
  findings: string[];
  seq: number;
}

/**
 * Accepts what the recomputation of the log finds wrong in an entry, because a payment cannot be undone.
 *
 * @param confirm asks the operator; nothing changes when it throws
 * @throws Fault NOT_FOUND where the entry has no finding; otherwise as {@link acceptSetBack}
 */
export async function acceptFinding(
  { tenant: named, reason, entry: seq }: Acceptance & { entry: number },
  confirm: (findings: readonly string[], tenant: string) => Promise<void>,
): Promise<AcceptedFinding> {
  const operator = readOperatorTenant(named);
  return atDatabase(operator, undefined, async ({ sequencer, auditKeys: keys, checks }) => {
    const recomputation = new Recomputation();
    const { broken } = await checks.snapshot((sql) => recomputeLedger(sql, recomputation, { keys }));
    requireWhole(broken);
    const findings = recomputation.findings.filter((each) => each.seq === BigInt(seq)).map(describeFinding);
    if (findings.length === 0)
      throw new Fault("NOT_FOUND", `The recomputation of the log finds nothing in entry ${seq}`);
    await confirm(findings, operator.id);
    const command = { type: "acceptFinding", seq, findings } as const;
    const { entry } = await sequencer.submit({ command, actor: operatorActor(), reason });
    invariant(entry, "an accepted finding has an audit entry");
    return { entry: seq, findings, seq: Number(entry.seq) };
  });
}

/** @param anchors false to ignore all anchors; undefined for the tenant's own */
async function atDatabase<Result>(
  operator: OperatorTenant,
  anchors: false | undefined,
  work: (services: TenantServices) => Promise<Result>,
): Promise<Result> {
  const auditSecrets = auditSecretsOf(operator);
  const { connection } = await openAsServer(operator);
  const options = commandOptions(operator, connection, auditSecrets);
  const services = await openTenant({ ...options, anchors: anchors ?? options.anchors });
  try {
    return await work(services);
  } finally {
    await services.close();
  }
}

/** @throws Fault INTEGRITY for a chain that does not hold, CONFIG_INVALID for another log's audit key */
function requireWhole(broken: ChainBreak | undefined): void {
  if (broken?.sealedWith !== undefined) throw otherKeyFault(broken.problem);
  if (broken) throw new Fault("INTEGRITY", `The chain itself does not hold (${broken.kind}): ${broken.problem}`);
}
