import type { WireResult } from "../../../contract/operations.ts";
import { outcomeWords } from "../../format.ts";

export type Market = WireResult<"getMarket">;
export type MarketStatus = Market["status"];

/** Every status, and how it looks. */
export const STATUS_LOOKS: Readonly<Record<MarketStatus, "good" | "warn" | "bad" | "soft">> = {
  open: "good",
  suspended: "bad",
  closed: "warn",
  settled: "soft",
};

/** A market's status, and its outcome once it has one. */
export function Status({ of, outcome = null }: { of: MarketStatus; outcome?: Market["outcome"] | undefined }) {
  return (
    <>
      <span class={STATUS_LOOKS[of]}>{capital(of)}</span>
      {outcome !== null && `, ${outcomeWords(outcome)}`}
    </>
  );
}

export function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
