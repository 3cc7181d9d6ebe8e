import { userInfo } from "node:os";
import type { End } from "./model-ends.ts";
import { Departure } from "./record.ts";
import type { Prepared } from "./requests.ts";
import type { Call, Wish } from "./steps.ts";

/** Who acts straight on the database. */
const SHELL_ACTOR = `cli:${userInfo().username}`;

/** What the command line has words for, in the form that scripts use. */
export function isCommand(wish: Wish): boolean {
  switch (wish.do) {
    case "placeTrade":
    case "quoteTrade":
      return Object.keys(wish.terms).sort().join() === "amount,side";
    case "updatePolicy": {
      const values = Object.values(wish.patch);
      return values.length > 0 && values.every((value) => typeof value !== "object");
    }
    case "createMarket":
      return wish.body.meta === undefined;
    default:
      return !wish.do.startsWith("receive") && !["placeOrder", "requestWithdrawal"].includes(wish.do);
  }
}

const outcomeWord = (outcome: End) => (typeof outcome === "string" ? outcome : `yes=${outcome.yes}`);

/** The words of a call, or undefined when it has none. */
export function wordsOf({ request }: Prepared, { wish, door }: Call): string[] {
  const { body, params } = request;
  const flags = (fields: Record<string, unknown>) =>
    Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}=${String(value)}`]));
  const words = (): string[] => {
    switch (wish.do) {
      case "placeTrade":
      case "quoteTrade": {
        const terms = { market: body.marketId, side: wish.terms.side, amount: body.amount, user: wish.user };
        return ["trade", wish.do === "placeTrade" ? "place" : "quote", ...flags(terms)];
      }
      case "createMarket": {
        const { question, category, kind, p0, closeAt, resolutionRef, liquidityUsd } = body;
        const terms = {
          question,
          category,
          kind,
          p0,
          "close-at": closeAt,
          "resolution-ref": resolutionRef,
          liquidity: liquidityUsd,
        };
        return ["market", "create", ...flags(terms)];
      }
      case "suspendMarket":
        return ["market", "suspend", String(params.id)];
      case "resumeMarket":
        return ["market", "resume", String(params.id)];
      case "clarifyMarket":
        return ["market", "clarify", String(params.id), ...flags({ text: wish.text })];
      case "settleMarket":
        return [
          "market",
          "settle",
          String(body.marketId),
          ...flags({ outcome: outcomeWord(wish.outcome), "expect-payouts": wish.expectPayouts }),
          "--reason=model",
          "--early",
        ];
      case "voidMarket": {
        const { reason, expectPayouts, maxTreasuryUsd } = wish;
        const terms = { reason, "expect-payouts": expectPayouts, "max-treasury": maxTreasuryUsd };
        return ["market", "void", String(params.id), ...flags(terms)];
      }
      case "correctMarket": {
        const { reason, outcome, maxTreasuryUsd } = wish;
        const terms = { outcome: outcomeWord(outcome), reason, "max-treasury": maxTreasuryUsd };
        return ["market", "correct", String(params.id), ...flags(terms)];
      }
      case "approveWithdrawal":
        return ["funding", "approve", String(params.id), "--reason=checked"];
      case "rejectWithdrawal":
        return ["funding", "reject", String(params.id), "--reason=checked"];
      case "creditWallet":
        return [
          "funding",
          "credit",
          ...flags({ user: wish.user, amount: wish.amount, reason: wish.reason }),
          "--new-user",
        ];
      case "submitSuitability":
        return ["suitability", "submit", ...flags({ user: wish.user, answers: JSON.stringify(wish.answers) })];
      case "restrictUser":
        return ["user", "restrict", wish.user];
      case "releaseUser":
        return ["user", "release", wish.user];
      case "updatePolicy":
        return [
          "policy",
          "set",
          ...Object.entries(wish.patch).map(([field, value]) => `${field}=${String(value)}`),
          "--accept-loosening",
          "--reason=model",
        ];
      case "createKey":
        return ["key", "create", ...flags({ type: wish.type, name: wish.name })];
      case "rotateKey":
        return ["key", "rotate", wish.name, `--overlap=${wish.overlapSeconds === 0 ? "0" : `${wish.overlapSeconds}s`}`];
      case "revokeKey":
        return ["key", "revoke", wish.name];
      case "reconcile":
        return ["reconcile"];
      default:
        throw new Error(`The command line has no word for ${wish.do}`);
    }
  };
  return [...words(), "--via", String(door), "--yes", "-o", "json"];
}

/** The request that a command amounts to: an operator's, whose token for a user claims no jurisdiction. */
export function asCommand(prepared: Prepared, { door }: Call): Prepared {
  const { claimed: _, idempotencyKey: __, ...request } = prepared.request;
  return { ...prepared, request: { ...request, key: "ops", actor: door === "db" ? SHELL_ACTOR : "admin:ops" } };
}

/** What a command printed. */
export function parse(stdout: string): Record<string, unknown> {
  try {
    return JSON.parse(stdout) as Record<string, unknown>;
  } catch {
    throw new Departure(`no JSON on stdout: ${stdout}`);
  }
}
