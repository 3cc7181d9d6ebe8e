import type { Side } from "../../domain/market/market.ts";
import { useSpeech } from "../speech.ts";
import type { Liveness } from "../state/live.ts";

/** The status to show: a market may have closed before the server says so. */
export function statusShown(status: string, left: number): string {
  return left <= 0 && status !== "settled" ? "closed" : status;
}

/** The chance, or the result once the market is settled. */
export function Headline({ status, outcome, yesPrice }: { status: string; outcome: Side | null; yesPrice: number }) {
  const { say, compose, chance } = useSpeech();
  if (status === "settled" && outcome)
    return <span>{compose("market.won", { side: <b class={`big ${outcome}`}>{say(`common.${outcome}`)}</b> })}</span>;
  return (
    <>
      <b class="big" data-pm="chance">
        {chance(yesPrice)}
      </b>{" "}
      <span>{say("common.chanceOf", { side: say("common.yes") })}</span>
    </>
  );
}

/** States that replace the word for a live price. */
export const STATES: Readonly<Record<string, "paused" | "closed" | "settled">> = {
  suspended: "paused",
  closed: "closed",
  settled: "settled",
};

export interface MarketStateProps {
  status: string;
  market: Liveness;
}

/** The state of the market, and whether its price is live. */
export function MarketState({ status, market: { live, heardAt } }: MarketStateProps) {
  const { say, clock } = useSpeech();
  const state = STATES[status] ?? live;
  return (
    <span class={`live is-${state}`} data-pm="state" data-state={state} role="status">
      {state === "offline" ? say("state.offline", { time: clock(heardAt) }) : say(`state.${state}`)}
    </span>
  );
}
