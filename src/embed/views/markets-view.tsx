import type { FrameData } from "../../contract/resources/embed.ts";
import { useSpeech } from "../speech.ts";
import { useList } from "../state/use-list.ts";
import { usePrices } from "../state/use-prices.ts";
import type { Viewer } from "../state/viewer.ts";
import type { Wish } from "../ticket/draft.ts";
import { MarketCard } from "./market-card.tsx";
import { MarketState } from "./market-head.tsx";
import { Problem } from "./problem.tsx";

const TRENDING = 3;

export interface MarketsViewProps {
  data: FrameData;
  viewer: Viewer;
  open(marketId: string, wish?: Wish): void;
}

/** All open markets: the trending ones, search, and a card for each. */
export function MarketsView({ data, viewer, open }: MarketsViewProps) {
  const { say } = useSpeech();
  const list = useList(data, viewer);
  const feed = usePrices(viewer);
  const { items, sparks, query, category, isWhole, isAsking, hasMore, problem } = list;
  const categories = [...new Set((data.markets ?? []).map((market) => market.category))].sort();
  const nameOf = (slug: string): string => data.categories[slug] ?? slug;
  return (
    <main class="markets">
      <h1 class="hidden">{data.name}</h1>
      <search>
        <input
          type="search"
          data-pm="search"
          placeholder={say("lists.search")}
          aria-label={say("lists.search")}
          value={query}
          maxLength={200}
          onInput={(event) => list.search(event.currentTarget.value)}
        />
        <fieldset class="chips">
          <legend class="hidden">{say("lists.category")}</legend>
          {["", ...categories].map((each) => (
            <button
              key={each}
              type="button"
              data-pm="category"
              aria-pressed={each === category}
              onClick={() => list.choose(each)}
            >
              {each === "" ? say("lists.all") : nameOf(each)}
            </button>
          ))}
        </fieldset>
      </search>
      {isWhole && <Trending data={data} prices={feed.prices} open={open} />}
      <div class="headline">
        <h2>{say(isWhole ? "state.toMarkets" : "lists.found")}</h2>
        <MarketState status="open" market={feed} />
      </div>
      {problem && <Problem words={problem} onOffer={() => {}} />}
      <ul class="cards" aria-busy={isAsking}>
        {items.map((item) => (
          <li key={item.id}>
            <MarketCard
              item={item}
              category={nameOf(item.category)}
              now={data.now}
              status={feed.statuses[item.id] ?? "open"}
              outcome={feed.outcomes[item.id]}
              yesPrice={feed.prices[item.id] ?? item.yesPrice}
              spark={sparks[item.id]}
              open={open}
            />
          </li>
        ))}
      </ul>
      <p class="soft" role="status">
        {items.length === 0 && !problem && say(noneKey(isAsking, isWhole))}
      </p>
      {hasMore && (
        <button type="button" class="more" data-pm="more" aria-disabled={isAsking} onClick={list.more}>
          {say("lists.more")}
        </button>
      )}
    </main>
  );
}

function noneKey(isAsking: boolean, isWhole: boolean) {
  if (isAsking) return "common.loading";
  return isWhole ? "lists.noneOpen" : "lists.noneFound";
}

interface TrendingProps {
  data: FrameData;
  prices: Readonly<Record<string, number>>;
  open(marketId: string): void;
}

/** The markets that were traded most in the last day. */
function Trending({ data, prices, open }: TrendingProps) {
  const { say, chance, volume } = useSpeech();
  const trending = (data.trending ?? []).filter(({ volume24h }) => volume24h > 0).slice(0, TRENDING);
  if (trending.length === 0) return null;
  return (
    <section>
      <h2>{say("lists.trending")}</h2>
      <ol class="trending">
        {trending.map(({ id, question, yesPrice, volume24h }, index) => (
          <li key={id}>
            <button type="button" onClick={() => open(id)}>
              <span class="rank" aria-hidden="true">
                {index + 1}
              </span>
              <span class="question" dir="auto">
                {question}
              </span>
              <b>{chance(prices[id] ?? yesPrice)}</b>
              <span class="soft">{say("lists.today", { amount: volume(volume24h) })}</span>
            </button>
          </li>
        ))}
      </ol>
    </section>
  );
}
