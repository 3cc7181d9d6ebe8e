import { useMemo, useState } from "preact/hooks";
import type { FrameMarket } from "../../contract/resources/embed.ts";
import { type Range, reachingNow, summaryOf, within } from "../chart/curve.ts";
import { useSpeech } from "../speech.ts";
import { type LiveMarket, useMarket, useServerTime } from "../state/use-market.ts";
import { usePlot } from "../state/use-plot.ts";
import type { Viewer } from "../state/viewer.ts";
import { Ranges } from "./chart.tsx";
import { Closes, Sentences } from "./market-facts.tsx";
import { Headline, MarketState, statusShown } from "./market-head.tsx";

/** The colours of the two curves; the second is dashed too. */
const COLORS = ["--pm-yes", "--pm-accent"] as const;

export interface CompareViewProps {
  pair: readonly [FrameMarket, FrameMarket];
  viewer: Viewer;
  theme: string;
  open(marketId: string): void;
}

/** The chances of two markets side by side, and their curves on one pair of axes. */
export function CompareView({ pair: [first, second], viewer, theme, open }: CompareViewProps) {
  const speaker = useSpeech();
  const { say, axisTime, percent } = speaker;
  const states = [useMarket(first, viewer), useMarket(second, viewer)] as const;
  const now = useServerTime(viewer.api.clock, first.detail.closeAt);
  const [range, setRange] = useState<Range>("range-all");
  const curves = useMemo(
    () =>
      states.map(({ points }, index) => ({
        points: reachingNow(within(points, now, range), now),
        color: COLORS[index] ?? COLORS[0],
      })),
    [states[0].points, states[1].points, now, range],
  );
  const { place } = usePlot(curves, { theme, isShown: true, axisTime, percent });
  return (
    <main class="compare">
      <h1 class="hidden">{say("market.against")}</h1>
      <ul class="pair">
        {[first, second].map((market, index) => (
          <li key={market.detail.id}>
            <Compared market={market} state={states[index === 0 ? 0 : 1]} mark={index} now={now} open={open} />
          </li>
        ))}
      </ul>
      <figure class="chart" data-pm="chart">
        <Ranges chosen={range} onChoose={setRange} />
        <div
          ref={place}
          class="plot"
          role="img"
          aria-label={curves
            .map(
              ({ points }, index) =>
                `${(index === 0 ? first : second).detail.question} ${summaryOf(speaker, points, states[index]?.status === "settled")}`,
            )
            .join(" ")}
        />
      </figure>
    </main>
  );
}

interface ComparedProps {
  market: FrameMarket;
  state: LiveMarket;
  /** The index of the market's curve. */
  mark: number;
  now: number;
  open(marketId: string): void;
}

function Compared({ market: { detail, ended }, state, mark, now, open }: ComparedProps) {
  const { say } = useSpeech();
  const left = Date.parse(detail.closeAt) - now;
  const status = statusShown(state.status, left);
  return (
    <article class={`card mark-${mark}`} data-pm="card">
      <h2 data-pm="question" dir="auto">
        {detail.question}
      </h2>
      <p class="facts">
        <Headline {...state} status={status} />
        <MarketState status={status} market={state} />
      </p>
      <Sentences of={ended} />
      <p class="soft small">
        <Closes closeAt={detail.closeAt} left={left} />
      </p>
      <button type="button" class="link" onClick={() => open(detail.id)}>
        {say("market.openMarket")}
      </button>
    </article>
  );
}
