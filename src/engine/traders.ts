import { canonicalJson } from "../domain/audit/audit-link.ts";
import { Fault } from "../domain/fault.ts";
import { policyAt } from "../domain/policy/policy.ts";
import { isPassed } from "../domain/policy/suitability.ts";
import { capMinor, type TraderState, traderStateOf } from "../domain/trader.ts";
import { type ArrivedWebhook, needsOfWebhook, once } from "./arrived-webhooks.ts";
import { type CommandKind, need, TENANT } from "./command.ts";
import type { Draft } from "./draft.ts";
import { requireTenant } from "./required.ts";
import type { Trader } from "./rows.ts";

export interface RecordKyc {
  type: "recordKyc";
  traderId: string;
  status: string;
  provider: string;
  verifiedAt: number;
  jurisdiction: string | undefined;
  webhook?: ArrivedWebhook | undefined;
}

export interface SubmitSuitability {
  type: "submitSuitability";
  id: string;
  traderId: string;
  /** Scores of 0 to 4 by question. */
  answers: Record<string, number>;
}

export interface RestrictUser {
  type: "restrictUser";
  traderId: string;
  restricted: boolean;
}

/** Ends the sessions of a user: tokens issued before an instant are refused from now on. */
export interface RevokeUser {
  type: "revokeUser";
  traderId: string;
  /** Now, unless given. */
  before: number | undefined;
}

export interface RevokedSessions {
  before: number;
  /** False where a later instant stood already. */
  moved: boolean;
}

/** Users exist from the first time that a token, a webhook or an operator names them. */
export function newTrader(id: string, now: number): Trader {
  return {
    id,
    kyc: "unverified",
    restricted: false,
    jurisdiction: null,
    kycAt: null,
    suitabilityScore: null,
    suitabilityAt: null,
    createdAt: now,
    version: 0,
  };
}

/** Makes the user exist, as whatever names it first does. */
export function ensureTrader(draft: Draft, id: string, now: number): void {
  if (!draft.get("trader", id)) draft.put("trader", id, newTrader(id, now));
}

/** How far a provider's clock may be ahead of the database's. */
const MAX_VERIFIED_AHEAD_MS = 5 * 60_000;

/**
 * A later result overrides an earlier one by `verifiedAt`, whatever the order of arrival; other statuses are ignored.
 * @throws Fault BAD_REQUEST for one of the future, which would outlast every later result until then
 */
export const recordKyc: CommandKind<RecordKyc, undefined> = {
  needs: ({ traderId, webhook }) => [need("trader", traderId), ...needsOfWebhook(webhook)],
  decide(draft, command, now) {
    if (command.verifiedAt > now + MAX_VERIFIED_AHEAD_MS)
      throw new Fault("BAD_REQUEST", "verifiedAt: must not be in the future");
    return once(draft, command.webhook, now, () => applyKyc(draft, command, now));
  },
};

function applyKyc(draft: Draft, command: RecordKyc, now: number): undefined {
  const { traderId, status, provider, verifiedAt, jurisdiction } = command;
  const trader = draft.get("trader", traderId) ?? newTrader(traderId, now);
  if (status !== "passed" && status !== "failed") return;
  // Older versions took instants of the future: such a one says nothing of when the result was found.
  const isKnown = trader.kycAt !== null && trader.kycAt <= now + MAX_VERIFIED_AHEAD_MS;
  if (isKnown && verifiedAt <= Number(trader.kycAt)) return;
  draft.put("trader", traderId, {
    ...trader,
    kyc: status === "passed" ? "verified" : "rejected",
    kycAt: verifiedAt,
    jurisdiction: jurisdiction ?? trader.jurisdiction,
  });
  draft.record("kyc.updated", {
    userId: traderId,
    status,
    provider,
    verifiedAt: new Date(verifiedAt).toISOString(),
    jurisdiction,
  });
}

/** Every assessment is kept and the last one counts, under the thresholds in force at each trade. */
export const submitSuitability: CommandKind<
  SubmitSuitability,
  { score: number; exposureCapMinor: number; passed: boolean }
> = {
  needs: ({ traderId }) => [TENANT, need("trader", traderId)],
  decide(draft, { id, traderId, answers }, now) {
    const { suitabilityThresholds: thresholds } = policyAt(requireTenant(draft), now);
    const trader = draft.get("trader", traderId) ?? newTrader(traderId, now);
    const score = Object.values(answers).reduce((sum, each) => sum + each, 0);
    const passed = isPassed(score, thresholds);
    draft.put("trader", traderId, { ...trader, suitabilityScore: score, suitabilityAt: now });
    draft.put("assessment", id, { id, traderId, answers: canonicalJson(answers), score, submittedAt: now });
    draft.record("suitability.submitted", {
      userId: traderId,
      assessmentId: id,
      answers,
      score,
      passed,
      submittedAt: new Date(now).toISOString(),
    });
    return { score, exposureCapMinor: capMinor(score, thresholds), passed };
  },
};

/** A restriction stops trading and withdrawing; a release brings back what was beneath it. Either twice changes nothing. */
export const restrictUser: CommandKind<RestrictUser, { state: TraderState }> = {
  needs: ({ traderId }) => [need("trader", traderId)],
  decide(draft, { traderId, restricted }, now) {
    const known = draft.get("trader", traderId);
    // An operator may restrict a user who has yet to arrive; there is nothing to release then.
    if (!known && !restricted) throw new Fault("NOT_FOUND", "User not found");
    const trader = { ...(known ?? newTrader(traderId, now)), restricted };
    const state = traderStateOf(trader);
    if (known?.restricted !== restricted) {
      draft.put("trader", traderId, trader);
      draft.record("user.restricted", { userId: traderId, restricted, state });
    }
    return { state };
  },
};

/** How far ahead of the database an operator's clock may be. To keep a user out for longer, there are restrictions. */
const MAX_AHEAD_MS = 5 * 60_000;

/**
 * Ends the sessions that a user began before an instant. It never moves backwards: an earlier instant than the one that
 * stands changes nothing, and is answered with what stands. A user who has yet to arrive may have tokens already.
 * @throws Fault BAD_REQUEST for an instant of the future
 */
export const revokeUser: CommandKind<RevokeUser, RevokedSessions> = {
  needs: ({ traderId }) => [need("trader", traderId), need("revocation", traderId)],
  decide(draft, { traderId, before }, now) {
    const wanted = before ?? now;
    if (wanted > now + MAX_AHEAD_MS) throw new Fault("BAD_REQUEST", "revokeBefore: must not be in the future");
    const standing = draft.get("revocation", traderId)?.before ?? null;
    if (standing !== null && standing >= wanted) return { before: standing, moved: false };
    ensureTrader(draft, traderId, now);
    draft.put("revocation", traderId, { before: wanted });
    draft.record("session.revoked", { userId: traderId, revokeBefore: new Date(wanted).toISOString() });
    return { before: wanted, moved: true };
  },
};
