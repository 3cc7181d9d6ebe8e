import type { ConsoleEnd } from "../../domain/audit/audit-shapes.ts";
import { Fault } from "../../domain/fault.ts";
import { type CommandKind, KEYRING, need } from "../command.ts";
import { type ConsoleSession, SINGLE } from "../rows.ts";
import { isInForce } from "./keys.ts";

interface OpenConsole {
  /** SHA-256 of the new session's token, hex. */
  sha256: string;
  keyHash: string;
  /** The client's address, as the rate limit counts it. */
  address: string;
  absoluteMs: number;
}

/**
 * Signs an operator in to the console.
 * @throws Fault KEY_INVALID for a key that ended meanwhile
 */
export const openConsole: CommandKind<OpenConsole, ConsoleSession> = {
  needs: ({ sha256 }) => [KEYRING, need("consoleSession", sha256)],
  decide(draft, { sha256, keyHash, address, absoluteMs }, now) {
    const key = draft.get("keyring", SINGLE)?.find(({ hash }) => hash === keyHash);
    if (!key || !isInForce(key, now)) throw new Fault("KEY_INVALID", "A valid admin key is required");
    const row = { sha256, keyHash, keyName: key.name, createdAt: now, endsAt: now + absoluteMs, endedAt: null };
    draft.put("consoleSession", sha256, row);
    draft.record("console.opened", { address });
    return row;
  },
};

/** Ends a session of the console, once: the first cause is on record. */
export const endConsole: CommandKind<{ sha256: string; cause: ConsoleEnd }, undefined> = {
  needs: ({ sha256 }) => [need("consoleSession", sha256)],
  decide(draft, { sha256, cause }, now) {
    const session = draft.get("consoleSession", sha256);
    if (!session || session.endedAt !== null) return;
    draft.put("consoleSession", sha256, { ...session, endedAt: now });
    draft.record("console.ended", { cause });
  },
};
