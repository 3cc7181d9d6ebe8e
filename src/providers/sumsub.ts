import { type InboundProvider, type KycFinding, resultOf, textAt } from "./provider.ts";
import { isHmac } from "./signature.ts";

const ALGORITHMS: Readonly<Record<string, "sha256" | "sha512">> = {
  HMAC_SHA256_HEX: "sha256",
  HMAC_SHA512_HEX: "sha512",
};

/** The types that carry a verdict: of a level, or of a whole workflow. Operators subscribe to the one that they use. */
const VERDICTS = ["applicantReviewed", "applicantWorkflowCompleted"];

/**
 * Sumsub sends an HMAC of the body in hex, and its algorithm in a second header. No time is signed, and a repeat may
 * come 18 hours later; by its `createdAtMs` it changes nothing.
 * @see https://docs.sumsub.com/docs/webhook-manager
 */
export function sumsub(secrets: readonly string[]): InboundProvider {
  return {
    header: "x-payload-digest",
    verify: (rawBody, header) => {
      const algorithm = ALGORITHMS[header("x-payload-digest-alg") ?? "HMAC_SHA256_HEX"];
      return algorithm !== undefined && isHmac(rawBody, header("x-payload-digest"), secrets, algorithm);
    },
    read: readSumsub,
  };
}

/** @see https://docs.sumsub.com/docs/user-verification-webhooks */
export function readSumsub(body: Record<string, unknown>): KycFinding {
  const type = textAt(body, "type") ?? "unknown";
  const userId = textAt(body, "externalUserId");
  if (!VERDICTS.includes(type)) return { news: type, provider: "sumsub", userId };
  return resultOf({
    userId,
    status: verdictOf(body),
    provider: "sumsub",
    verifiedAt: timeOf(textAt(body, "createdAtMs") ?? textAt(body, "createdAt")),
  });
}

/** Red is final unless it says that the user may try again. */
function verdictOf(body: Record<string, unknown>): string {
  const answer = textAt(body, "reviewResult", "reviewAnswer");
  if (answer === "GREEN") return "passed";
  if (answer !== "RED") return "unknown";
  return textAt(body, "reviewResult", "reviewRejectType") === "RETRY" ? "retry" : "failed";
}

/** `2027-01-31 18:00:00.123`, in UTC, or with a zone such as `+0000` behind it. */
function timeOf(text: string | undefined): string | undefined {
  const [, date, time, sign, hours, minutes] =
    /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d(?:\.\d{1,9})?)(?:Z|([+-])(\d\d):?(\d\d))?$/.exec(text ?? "") ?? [];
  return date && `${date}T${time}${sign ? `${sign}${hours}:${minutes}` : "Z"}`;
}
