import { useEffect, useRef, useState } from "preact/hooks";
import type { FrameData } from "../../contract/resources/embed.ts";
import { Refused } from "../api.ts";
import { chance, until, volume } from "../format.ts";
import type { Session } from "../state/session.ts";
import { useKept } from "../state/use-kept.ts";
import { usePrices } from "../state/use-prices.ts";
import { type Words, wordsFor } from "../words.ts";
import { Problem } from "./problem.tsx";
import { Sparkline } from "./sparkline.tsx";

type Item = NonNullable<FrameData["markets"]>[number];

const SEARCH_PAUSE_MS = 350;
const TRENDING = 3;

export interface MarketsViewProps {
  data: FrameData;
  session: Session;
  open(marketId: string): void;
}

/** All open markets: the trending ones, search, and a card for each. */
export function MarketsView({ data, session, open }: MarketsViewProps) {
  const { items, query, category, problem, hasMore, search, choose, more } = useSearch(data, session);
  const { prices, live } = usePrices(session);
  const categories = [...new Set((data.markets ?? []).map((market) => market.category))].sort();
  const isBrowsing = query.trim() === "" && category === "";
  const trending = isBrowsing ? (data.trending ?? []).filter(({ volume24h }) => volume24h > 0).slice(0, TRENDING) : [];
  return (
    <main class="markets">
      <h1 class="hidden">{data.name}</h1>
      <search>
        <input
          type="search"
          placeholder="Search markets"
          aria-label="Search markets"
          value={query}
          maxLength={200}
          onInput={(event) => search(event.currentTarget.value)}
        />
        <fieldset class="chips">
          <legend class="hidden">Category</legend>
          {["", ...categories].map((each) => (
            <button key={each} type="button" aria-pressed={each === category} onClick={() => choose(each)}>
              {each === "" ? "All" : each}
            </button>
          ))}
        </fieldset>
      </search>
      {live === "offline" && (
        <p class="warning" role="status">
          Prices are not live at the moment: reconnecting.
        </p>
      )}
      {problem && <Problem words={problem} onOffer={() => {}} />}
      {trending.length > 0 && (
        <section>
          <h2>Trending</h2>
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
                  <span class="soft">{volume(volume24h)} today</span>
                </button>
              </li>
            ))}
          </ol>
        </section>
      )}
      <h2>{isBrowsing ? "All markets" : "Markets found"}</h2>
      <ul class="cards">
        {items.map((item) => (
          <li key={item.id}>
            <Card
              item={item}
              now={data.now}
              yesPrice={prices[item.id] ?? item.yesPrice}
              spark={data.sparks?.[item.id]}
              open={open}
            />
          </li>
        ))}
      </ul>
      {items.length === 0 && (
        <p class="soft" role="status">
          No open market matches.
        </p>
      )}
      {hasMore && (
        <button type="button" class="more" onClick={more}>
          More markets
        </button>
      )}
    </main>
  );
}

interface CardProps {
  item: Item;
  /** When the page was made, by the server's clock. */
  now: number;
  yesPrice: number;
  spark: readonly number[] | undefined;
  open(marketId: string): void;
}

function Card({ item, now, yesPrice, spark, open }: CardProps) {
  return (
    <button type="button" class="card" data-market={item.id} onClick={() => open(item.id)}>
      <span class="label">{item.category}</span>
      <span class="question" dir="auto">
        {item.question}
      </span>
      <Sparkline prices={spark ?? []} latest={yesPrice} />
      <span class="odds">
        <span class="yes">
          Yes <b>{chance(yesPrice)}</b>
        </span>
        <span class="no">
          No <b>{chance(1 - yesPrice)}</b>
        </span>
      </span>
      <span class="foot">
        <span>{volume(item.volume24h)} today</span>
        <span>until {until(item.closeAt, now)}</span>
      </span>
    </button>
  );
}

/** Searches the loaded markets at once, and asks the server where it may know more. */
function useSearch(data: FrameData, { api }: Session) {
  const all = data.markets ?? [];
  const [query, setQuery] = useKept("query", "");
  const [category, setCategory] = useKept("category", "");
  const [page, setPage] = useKept("page", { items: all, nextCursor: data.nextCursor ?? null });
  // What a reader comes back to stands there already.
  const isFirst = useRef(query !== "" || category !== "");
  const [problem, setProblem] = useState<Words>();
  const wanted = { ...(query.trim() === "" ? {} : { q: query.trim() }), ...(category === "" ? {} : { category }) };

  useEffect(() => {
    if (isFirst.current) {
      isFirst.current = false;
      return;
    }
    const words = query.trim().toLowerCase();
    const atHand = all.filter(
      (market) =>
        (category === "" || market.category === category) && (words === "" || matches(market.question, words)),
    );
    setProblem(undefined);
    const knowsAll = data.nextCursor == null && words === "";
    setPage({ items: atHand, nextCursor: words === "" && category === "" ? (data.nextCursor ?? null) : null });
    if (knowsAll || (words === "" && category === "")) return;
    let dropped = false;
    // A request per letter would use up the reader's rate limit.
    const timer = setTimeout(async () => {
      try {
        const found = await api.listMarkets(wanted);
        if (!dropped) setPage(found);
      } catch (error) {
        if (!dropped && error instanceof Refused) setProblem(wordsFor(error));
      }
    }, SEARCH_PAUSE_MS);
    return () => {
      dropped = true;
      clearTimeout(timer);
    };
  }, [query, category, data]);

  const more = async (): Promise<void> => {
    if (page.nextCursor === null) return;
    try {
      const next = await api.listMarkets({ ...wanted, cursor: page.nextCursor });
      setPage({ items: [...page.items, ...next.items], nextCursor: next.nextCursor });
    } catch (error) {
      if (error instanceof Refused) setProblem(wordsFor(error));
    }
  };
  const { items, nextCursor } = page;
  return { items, query, category, problem, hasMore: nextCursor !== null, search: setQuery, choose: setCategory, more };
}

function matches(question: string, words: string): boolean {
  const text = question.toLowerCase();
  return words.split(/\s+/).every((word) => text.includes(word));
}
