import { Fault } from "../domain/fault.ts";
import type { RevokeUser, TraderResults } from "./commands.ts";
import type { Draft } from "./draft.ts";
import { ensureTrader } from "./traders.ts";

/** How far ahead of the database an operator's clock may be. To keep a user out for longer, there are restrictions. */
const MAX_AHEAD_MS = 5 * 60_000;

/**
 * Ends the sessions that a user began before an instant. It never moves backwards: an earlier instant than the one that
 * stands changes nothing, and is answered with what stands. A user who has yet to arrive may have tokens already.
 * @throws Fault BAD_REQUEST for an instant of the future
 */
export function revokeUser(draft: Draft, { traderId, before }: RevokeUser, now: number): TraderResults["revokeUser"] {
  const wanted = before ?? now;
  if (wanted > now + MAX_AHEAD_MS) throw new Fault("BAD_REQUEST", "revokeBefore: must not be in the future");
  const standing = draft.get("revocation", traderId)?.before ?? null;
  if (standing !== null && standing >= wanted) return { before: standing, moved: false };
  ensureTrader(draft, traderId, now);
  draft.put("revocation", traderId, { before: wanted });
  draft.record("session.revoked", { userId: traderId, revokeBefore: new Date(wanted).toISOString() });
  return { before: wanted, moved: true };
}
