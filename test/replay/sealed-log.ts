import { auditLines, canonicalJson } from "../../src/domain/audit/audit-link.ts";
import type { SealedLines } from "../../src/domain/audit/chain-walk.ts";
import type { World } from "../engine/world.ts";

/** Entries from a place on, as the chain holds them. */
export function sealed(log: readonly World["log"][number][], from = 0): SealedLines[] {
  return log.slice(from).map(({ type, payload, at, actor }, index) => ({
    lines: auditLines({
      ...{ seq: BigInt(from + index + 1), keyId: "key", actor, type },
      ...{ payloadText: canonicalJson(payload), ts: new Date(at).toISOString() },
    }),
    hash: String(from + index),
  }));
}
