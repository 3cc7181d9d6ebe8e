import { otherKeyFault } from "../../domain/audit/chain-walk.ts";
import type { SetBack } from "../../domain/audit/set-back.ts";
import { Fault } from "../../domain/fault.ts";
import { type AcceptedRollback, acceptRollback } from "../../services/anchors/accept-rollback.ts";
import { findSetBack } from "../../services/anchors/set-back.ts";
import { verifyChain } from "../../services/audit/audit-verifier.ts";
import { openTenant } from "../../services/tenant/tenant.ts";
import { operatorActor } from "../tenant/actor.ts";
import { auditSecretsOf, readOperatorTenant } from "../tenant/operator-tenant.ts";
import { openAsServer } from "../tenant/tenant-database.ts";
import { commandOptions } from "../tenant/tenant-services.ts";
import { knownToOperator } from "./anchors-in-file.ts";

/** What was accepted. `anchor` and `seq` are null for a log that was not set back: no entry is written then. */
export interface Accepted {
  anchor: AcceptedRollback["anchor"] | null;
  head: AcceptedRollback["head"];
  lost: number;
  seq: number | null;
}

/**
 * Accepts, straight at the database, that a log was set back: an entry records that the lost entries were given up.
 *
 * @param confirm asks the operator; nothing changes when it throws
 * @throws Fault INTEGRITY when the chain itself does not hold, CONFIG_INVALID for another log's audit key
 */
export async function acceptSetBack(
  { tenant: named, reason }: { tenant?: string | undefined; reason: string },
  confirm: (setBack: SetBack, tenant: string) => Promise<void>,
): Promise<Accepted> {
  const operator = readOperatorTenant(named);
  const { id: tenant, directory } = operator;
  const auditSecrets = auditSecretsOf(operator);
  const { connection } = await openAsServer(operator);
  const terms = { ...commandOptions(operator, connection, auditSecrets), anchors: false } as const;
  const services = await openTenant(terms);
  try {
    const { sequencer, auditKey, auditKeys: keys, checks: reader } = services;
    const { anchors } = await knownToOperator(operator, keys);
    const { broken, head: hash, count } = await verifyChain(reader, keys);
    if (broken?.sealedWith !== undefined) throw otherKeyFault(broken.problem);
    if (broken) throw new Fault("INTEGRITY", `The chain itself does not hold (${broken.kind}): ${broken.problem}`);
    const setBack = await findSetBack(reader, keys, anchors);
    if (!setBack) return { anchor: null, head: { seq: Number(count), hash }, lost: 0, seq: null };
    await confirm(setBack, tenant);
    const verified = { seq: BigInt(count), hash };
    const recording = { tenant, directory, actor: operatorActor(), reason };
    return await acceptRollback(setBack, { sequencer, auditKey, reader, keys, verified, ...recording });
  } finally {
    await services.close();
  }
}
