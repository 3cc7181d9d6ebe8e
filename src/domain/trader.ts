import { Fault, type Refuse, throwRefusal } from "./fault.ts";
import { centsFromMicro, limitFromUsd } from "./money.ts";
import { covers } from "./policy/covers.ts";
import { placeOf } from "./policy/jurisdictions.ts";
import type { Policy } from "./policy/policy.ts";
import { isPassed, type SuitabilityThresholds, suitabilityCapUsd } from "./policy/suitability.ts";

/** `review`: an identity check had a status that only a person can interpret. */
export const KYC_STATES = ["unverified", "verified", "rejected", "review"] as const;
export type KycState = (typeof KYC_STATES)[number];

/** The state for the status in an entry `kyc.updated`. */
export const KYC_STATE_OF = { passed: "verified", failed: "rejected", review: "review" } as const;
export type KycStatus = keyof typeof KYC_STATE_OF;

/** The displayed state: `restricted` hides the KYC state while the restriction lasts. */
export type TraderState = KycState | "restricted";

/** The facts that decide whether a user may trade. */
export interface TraderStanding {
  kyc: KycState;
  restricted: boolean;
  /** From the KYC event, upper case; null if no event named one. Not always an ISO 3166 code. */
  jurisdiction: string | null;
  suitabilityScore: number | null;
}

/** The value of `exposureCapMinor` for a tier without a cap. */
export const NO_CAP_MINOR = Number.MAX_SAFE_INTEGER;

/**
 * Requires that a user may trade, in the documented order: KYC, restriction, jurisdiction, suitability.
 * @param claimed the jurisdiction in the user's token, used if the KYC event named none
 * @param refuse takes every rule that refuses; the default throws the first as a Fault with a 403 code
 */
export function requireEligible(
  trader: TraderStanding,
  policy: Policy,
  { kycRequired, claimed }: { kycRequired: boolean; claimed: string | undefined },
  refuse: Refuse = throwRefusal,
): void {
  if (kycRequired && trader.kyc !== "verified")
    refuse(
      new Fault("KYC_REQUIRED", "Identity verification has not been passed", {
        detail: { field: "kyc.required", limit: "verified", value: trader.kyc },
      }),
    );
  requireUnrestricted(trader, refuse);
  requireJurisdiction(trader.jurisdiction ?? claimed ?? null, policy.jurisdictions, refuse);
  if (trader.suitabilityScore === null) {
    if (policy.suitabilityRequired)
      refuse(
        new Fault("SUITABILITY_REQUIRED", "A suitability assessment is required before trading", {
          detail: { field: "policy.suitabilityRequired", limit: true, value: "none submitted" },
        }),
      );
  } else if (!isPassed(trader.suitabilityScore, policy.suitabilityThresholds))
    refuse(
      new Fault("SUITABILITY_REQUIRED", "The suitability assessment was not passed; submit it again to trade", {
        detail: {
          field: "policy.suitabilityThresholds.blockBelow",
          limit: policy.suitabilityThresholds.blockBelow,
          value: trader.suitabilityScore,
        },
      }),
    );
}

/** Requires that no operator stopped the user: the rule of trades and withdrawals. */
export function requireUnrestricted({ restricted }: Pick<TraderStanding, "restricted">, refuse: Refuse): void {
  if (restricted) refuse(new Fault("ACCOUNT_RESTRICTED", "Account is restricted"));
}

function requireJurisdiction(
  jurisdiction: string | null,
  { allowed, blocked }: Policy["jurisdictions"],
  refuse: Refuse,
): void {
  if (allowed.length === 0 && blocked.length === 0) return;
  // A code of no country could mean any country, so the place is unknown; the token does not replace it.
  const place = jurisdiction === null ? undefined : placeOf(jurisdiction);
  if (place === undefined) {
    refuse(
      new Fault(
        "JURISDICTION_UNKNOWN",
        jurisdiction === null
          ? "Trading needs a known jurisdiction, and this user has none: the identity check or the user's token must name it"
          : `Trading needs a known jurisdiction, and ${jurisdiction}, from the identity check or the user's token, is not an ISO 3166 code`,
        { detail: { field: "policy.jurisdictions", value: jurisdiction ?? "unknown" } },
      ),
    );
    return;
  }
  const listed = (codes: string[]) => codes.some((code) => covers(placeOf(code) ?? code.toUpperCase(), place));
  const by = listed(blocked) ? "blocked" : allowed.length > 0 && !listed(allowed) ? "allowed" : undefined;
  if (by !== undefined)
    refuse(
      new Fault("JURISDICTION_BLOCKED", "Trading is not allowed from this jurisdiction", {
        detail: { field: `policy.jurisdictions.${by}`, value: jurisdiction },
      }),
    );
}

/** The cap of a score's tier in micro-dollars, for checking trades; null for none. */
export function suitabilityCapMicro(score: number, thresholds: SuitabilityThresholds): bigint | null {
  const capUsd = suitabilityCapUsd(score, thresholds);
  return capUsd === null ? null : limitFromUsd(capUsd);
}

/** The lower of the policy's limit and the suitability cap in micro-dollars, and the field that states it. */
export function exposureCap(
  trader: Pick<TraderStanding, "suitabilityScore">,
  policy: Policy,
): { capMicro: bigint; field: string } {
  const limit = { capMicro: limitFromUsd(policy.maxUserExposureUsd), field: "policy.maxUserExposureUsd" };
  if (trader.suitabilityScore === null) return limit;
  const capMicro = suitabilityCapMicro(trader.suitabilityScore, policy.suitabilityThresholds);
  return capMicro !== null && capMicro < limit.capMicro
    ? { capMicro, field: "policy.suitabilityThresholds.tiers" }
    : limit;
}

/** The tier's cap in cents, for answers. */
export function capMinor(score: number, thresholds: SuitabilityThresholds): number {
  const capMicro = suitabilityCapMicro(score, thresholds);
  return capMicro === null ? NO_CAP_MINOR : centsFromMicro(capMicro);
}

export function traderStateOf({ kyc, restricted }: Pick<TraderStanding, "kyc" | "restricted">): TraderState {
  return restricted ? "restricted" : kyc;
}
