import type { WireResult } from "../../../contract/operations.ts";
import { addressOf } from "../../router.ts";

export type MarketStatus = WireResult<"getMarket">["status"];

/** Every status, and how it looks. */
export const STATUS_LOOKS: Readonly<Record<MarketStatus, "good" | "warn" | "bad" | "soft">> = {
  open: "good",
  suspended: "bad",
  closed: "warn",
  settled: "soft",
};

export function Status({ of }: { of: MarketStatus }) {
  return <span class={STATUS_LOOKS[of]}>{of.charAt(0).toUpperCase() + of.slice(1)}</span>;
}

/** A market's question, which leads to its page. */
export function MarketLink({ id, text }: { id: string; text: string }) {
  return (
    <a href={addressOf(`/markets/${encodeURIComponent(id)}`)} dir="auto">
      {text}
    </a>
  );
}
