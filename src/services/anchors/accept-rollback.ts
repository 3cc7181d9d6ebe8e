import { signAnchor } from "../../domain/audit/anchor.ts";
import type { ChainPoint } from "../../domain/audit/audit-link.ts";
import type { AuditKey } from "../../domain/audit/seal.ts";
import type { SetBack } from "../../domain/audit/set-back.ts";
import { Fault, invariant } from "../../domain/fault.ts";
import type { Sequencer } from "../../ledger/sequencer/sequencer.ts";
import type { Reader } from "../../postgres/pool.ts";
import { verifySpan } from "../audit/audit-verifier.ts";
import { appendToDirectory } from "./anchor-file.ts";
import { writeVerifiedPoint } from "./known-anchors.ts";

/** Who accepts the loss of entries, why, and with which means. */
export interface Acceptance {
  /** The sequencer of services that were opened without anchors; with anchors it would refuse the command. */
  sequencer: Sequencer;
  auditKey: AuditKey;
  /** Reads the log; `keys` are the keys that sealed it. */
  reader: Reader;
  keys: readonly AuditKey[];
  /** The log's end when the caller verified the whole log. */
  verified: ChainPoint;
  tenant: string;
  /** The operator's directory, whose anchors and verified point continue from here. */
  directory: string;
  actor: string;
  reason: string;
}

/** The accepted rollback, as printed. */
export interface AcceptedRollback {
  anchor: { seq: number; hash: string };
  head: { seq: number; hash: string };
  lost: number;
  /** The audit entry that records the rollback. */
  seq: number;
}

/**
 * Records that a log continues from before a known anchor, and resets the directory's anchors to it. The caller has
 * verified the whole chain and holds what {@link findSetBack} found. Running servers find the entry and continue.
 */
export async function acceptRollback(setBack: SetBack, acceptance: Acceptance): Promise<AcceptedRollback> {
  const { sequencer, auditKey, reader, keys, verified, tenant, directory, actor, reason } = acceptance;
  const { anchor, head, lost } = setBack;
  const [anchorAt, headAt] = [anchor, head].map(({ seq, hash }) => ({ seq: Number(seq), hash })) as [
    AcceptedRollback["anchor"],
    AcceptedRollback["head"],
  ];
  const { entry } = await sequencer.submit({
    command: { type: "acceptRollback", anchor: anchorAt, head: headAt, lost: Number(lost) },
    actor,
    reason,
  });
  invariant(entry, "an accepted rollback has an audit entry");
  // The anchor also covers entries written since the caller's verification.
  const { broken } = await verifySpan(reader, keys, { from: verified, head: entry });
  if (broken) throw new Fault("INTEGRITY", `The chain fails verification (${broken.kind}): ${broken.problem}`);
  await writeVerifiedPoint(directory, tenant, entry);
  await appendToDirectory(directory, signAnchor(tenant, entry, auditKey), keys);
  return { anchor: anchorAt, head: headAt, lost: Number(lost), seq: Number(entry.seq) };
}
