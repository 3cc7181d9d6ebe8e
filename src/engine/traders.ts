import { canonicalJson } from "../domain/audit/audit-link.ts";
import { Fault } from "../domain/fault.ts";
import { kycVerdict } from "../domain/policy/kyc-verdict.ts";
import { policyAt } from "../domain/policy/policy.ts";
import { isPassed } from "../domain/policy/suitability.ts";
import { MINUTE_MS } from "../domain/time/units.ts";
import { capMinor, KYC_STATE_OF, type KycStatus, type TraderState, traderStateOf } from "../domain/trader.ts";
import { type CommandKind, need, requireTenant, TENANT } from "./command.ts";
import type { Draft } from "./draft.ts";
import type { Trader } from "./rows.ts";
import { type ArrivedWebhook, needsOfWebhook, once } from "./webhooks/arrived.ts";

interface RecordKyc {
  traderId: string;
  status: string;
  provider: string;
  verifiedAt: number;
  jurisdiction: string | undefined;
  webhook?: ArrivedWebhook | undefined;
}

/** A user exists from the first time that a token, a webhook or an operator names the user. */
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

/** Creates the user's row if it does not exist. */
export function ensureTrader(draft: Draft, id: string, now: number): void {
  if (!draft.get("trader", id)) draft.put("trader", id, newTrader(id, now));
}

/** How far the clock of a provider or an operator may be ahead of the database's clock. */
export const MAX_AHEAD_MS = 5 * MINUTE_MS;

/**
 * Applies the result of an identity check. The result with the latest `verifiedAt` counts, in any order of arrival. But
 * a failure also counts if the provider's clock, running ahead, may have dated the earlier pass after it. A status that
 * is neither is recorded, and blocks trading if the policy says so.
 * @throws Fault BAD_REQUEST for a `verifiedAt` in the future, which would override every real result until then
 */
export const recordKyc: CommandKind<RecordKyc, undefined> = {
  needs: ({ traderId, webhook }) => [TENANT, need("trader", traderId), ...needsOfWebhook(webhook)],
  decide(draft, command, now) {
    if (command.verifiedAt > now + MAX_AHEAD_MS)
      throw new Fault("BAD_REQUEST", "verifiedAt: must not be in the future");
    return once(draft, command.webhook, now, () => applyKyc(draft, command, now));
  },
};

function applyKyc(
  draft: Draft,
  { traderId, status, provider, verifiedAt, jurisdiction }: RecordKyc,
  now: number,
): undefined {
  const trader = draft.get("trader", traderId) ?? newTrader(traderId, now);
  const verdict = kycVerdict(status);
  const kycAt = trader.kycAt ?? Number.NEGATIVE_INFINITY;
  const isNewer = verifiedAt > kycAt;
  // The provider's clock may have run ahead when it dated the recorded result.
  const isWithinSkew = verifiedAt < kycAt && verifiedAt >= kycAt - MAX_AHEAD_MS;
  const contradicts = isWithinSkew && verdict === "failed" && trader.kyc === "verified";
  const isTooLate = isWithinSkew && verdict === "passed" && trader.kyc === "rejected";
  const update = (next: KycStatus, at: number, place: string | undefined, more: { datedAt?: string } = {}) => {
    const kyc = KYC_STATE_OF[next];
    draft.put("trader", traderId, { ...trader, kyc, kycAt: at, jurisdiction: place ?? trader.jurisdiction });
    const entry = { userId: traderId, status: next, provider, verifiedAt: isoOf(at), jurisdiction: place, ...more };
    draft.record("kyc.updated", entry);
  };
  if (verdict === undefined || isTooLate) {
    draft.record("kyc.unrecognised", { userId: traderId, status, provider, verifiedAt: isoOf(verifiedAt) });
    const { kycReview } = policyAt(requireTenant(draft), now);
    // A rejection stays, because it blocks more than a review does.
    if (kycReview && isNewer && trader.kyc !== "rejected") update("review", verifiedAt, undefined);
    else ensureTrader(draft, traderId, now);
  } else if (contradicts) update("failed", kycAt, jurisdiction, { datedAt: isoOf(verifiedAt) });
  else if (isNewer) update(verdict, verifiedAt, jurisdiction);
}

const isoOf = (instant: number) => new Date(instant).toISOString();

/**
 * Stores an assessment. The last one counts, under the thresholds in force at each trade. `answers` are scores of 0 to
 * 4 by question.
 */
export const submitSuitability: CommandKind<
  { id: string; traderId: string; answers: Record<string, number> },
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

interface RestrictUser {
  traderId: string;
  restricted: boolean;
  /** Whether the caller gave a reason. */
  isExplained?: boolean | undefined;
}

/** Stops a user from trading and withdrawing, or lifts that. A repeat changes nothing, but its reason is recorded. */
export const restrictUser: CommandKind<RestrictUser, { state: TraderState }> = {
  needs: ({ traderId }) => [need("trader", traderId)],
  decide(draft, { traderId, restricted, isExplained }, now) {
    const known = draft.get("trader", traderId);
    // An operator may restrict an unknown user, who then has nothing to lift.
    if (!known && !restricted) throw new Fault("NOT_FOUND", "User not found");
    const trader = { ...(known ?? newTrader(traderId, now)), restricted };
    const state = traderStateOf(trader);
    const isChange = known?.restricted !== restricted;
    if (isChange) draft.put("trader", traderId, trader);
    if (isChange || isExplained) draft.record("user.restricted", { userId: traderId, restricted, state });
    return { state };
  },
};

/**
 * Ends the session of one token at its user's request. The log stores it, so that deleting rows cannot revive the session.
 * @param tokenSha256 the hash of the token's signed part
 * @param until when the token has expired everywhere
 */
export const endSession: CommandKind<{ traderId: string; tokenSha256: string; until: number }, undefined> = {
  needs: () => [],
  decide(draft, { traderId, tokenSha256, until }) {
    draft.record("session.ended", {
      userId: traderId,
      sha256: tokenSha256,
      until: new Date(until).toISOString(),
    });
  },
};

/**
 * Ends a user's sessions that began before an instant (by default now): tokens issued earlier are refused from now on.
 * The instant never moves back: a later one stays in force, and `moved` is false. An unknown user may already have
 * tokens.
 * @throws Fault BAD_REQUEST for an instant in the future: use a restriction to keep a user out
 */
export const revokeUser: CommandKind<
  { traderId: string; before: number | undefined },
  { before: number; moved: boolean }
> = {
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
