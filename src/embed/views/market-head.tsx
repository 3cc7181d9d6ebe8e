import type { OutcomeShape } from "../../domain/market/outcome.ts";
import { outcomeSaid, wonBy } from "../../locales/outcome-words.ts";
import { useSpeech } from "../speech.ts";
import type { Liveness } from "../state/live.ts";

/** The status to show: a market may have closed before the server says so. */
export function statusShown(status: string, left: number): string {
  return left <= 0 && status !== "settled" ? "closed" : status;
}

interface HeadlineProps {
  status: string;
  outcome: OutcomeShape<number> | null;
  yesPrice: number;
}

/** The chance, or the result once the market is settled. */
export function Headline({ status, outcome, yesPrice }: HeadlineProps) {
  const speaker = useSpeech();
  const { say, compose, chance } = speaker;
  if (status === "settled" && outcome) {
    const winner = wonBy(outcome);
    const result = <b class={`big ${winner ?? ""}`}>{outcomeSaid(speaker, outcome)}</b>;
    return <span>{winner ? compose("market.won", { side: result }) : result}</span>;
  }
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
