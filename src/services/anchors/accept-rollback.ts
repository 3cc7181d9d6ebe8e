import { invariant } from "../../domain/fault.ts";
import { signAnchor } from "../../engine/anchor.ts";
import type { AuditKey } from "../../engine/seal.ts";
import type { SetBack } from "../../engine/set-back.ts";
import type { Sequencer } from "../../sequencer/sequencer.ts";
import { appendToDirectory } from "./anchor-file.ts";
import { writeVerifiedPoint } from "./verified-point.ts";

/** Who gives up what is lost, and why. */
export interface Acceptance {
  /** Of services that were opened without anchors, or they would refuse. */
  sequencer: Sequencer;
  auditKey: AuditKey;
  tenant: string;
  /** The operator's directory: its anchors and its verified point go on from here. */
  directory: string;
  actor: string;
  reason: string;
}

/** What was accepted, as it is printed. */
export interface AcceptedRollback {
  anchor: { seq: number; hash: string };
  head: { seq: number; hash: string };
  lost: number;
  /** The audit entry that puts it on record. */
  seq: number;
}

/**
 * Puts on record that a log goes on behind an anchor, and moves this directory's memory to it. The caller has verified
 * the whole chain and holds what {@link findSetBack} found. Running servers find the entry, and go on.
 */
export async function acceptRollback(setBack: SetBack, acceptance: Acceptance): Promise<AcceptedRollback> {
  const { sequencer, auditKey, tenant, directory, actor, reason } = acceptance;
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
  await writeVerifiedPoint(directory, tenant, entry);
  await appendToDirectory(directory, signAnchor(tenant, entry, auditKey));
  return { anchor: anchorAt, head: headAt, lost: Number(lost), seq: Number(entry.seq) };
}
