import { useEffect, useState } from "preact/hooks";
import type { FrameData } from "../contract/embed.ts";
import { Refused } from "./api.ts";
import { chance, day, volume } from "./format.ts";
import { followLive } from "./live.ts";
import type { Session } from "./session.ts";
import { Sparkline } from "./sparkline.tsx";
import { wordsFor } from "./words.ts";

type Item = NonNullable<FrameData["markets"]>[number];

const SEARCH_PAUSE_MS = 300;
const TRENDING = 3;

/** All open markets: what is moving, and a way to find the rest. */
export function MarketsView({
  data,
  session,
  open,
}: {
  data: FrameData;
  session: Session;
  open(marketId: string): void;
}) {
  const [items, setItems] = useState<Item[]>(data.markets ?? []);
  const [prices, setPrices] = useState<Record<string, number>>({});
  const [query, setQuery] = useState("");
  const [category, setCategory] = useState("");
  const [problem, setProblem] = useState("");
  const categories = [...new Set((data.markets ?? []).map((market) => market.category))].sort();
  const { api } = session;

  useEffect(() => {
    return followLive(api, [], {
      onState() {},
      onEvent(name, event) {
        if (name === "price" && "yesPrice" in event)
          setPrices((before) => ({ ...before, [event.marketId]: event.yesPrice }));
        if (name === "snapshot" && "markets" in event)
          setPrices(Object.fromEntries(event.markets.map(({ marketId, yesPrice }) => [marketId, yesPrice])));
      },
    });
  }, [api]);

  useEffect(() => {
    if (query.trim() === "") {
      setProblem("");
      return setItems((data.markets ?? []).filter((market) => category === "" || market.category === category));
    }
    // A request per letter would use the reader's minute up.
    const timer = setTimeout(async () => {
      try {
        setItems(await api.searchMarkets({ q: query.trim(), ...(category === "" ? {} : { category }) }));
        setProblem("");
      } catch (error) {
        setProblem(error instanceof Refused ? wordsFor(error).text : "The search failed. Please try again.");
      }
    }, SEARCH_PAUSE_MS);
    return () => clearTimeout(timer);
  }, [api, data, query, category]);

  const isBrowsing = query.trim() === "" && category === "";
  const trending = isBrowsing ? (data.trending ?? []).slice(0, TRENDING).filter(({ volume24h }) => volume24h > 0) : [];
  return (
    <main class="markets">
      <h1 class="hidden">{data.name}</h1>
      <search class="search">
        <input
          type="search"
          placeholder="Search markets"
          aria-label="Search markets"
          value={query}
          onInput={(event) => setQuery(event.currentTarget.value)}
        />
        <fieldset class="chips">
          <legend class="hidden">Category</legend>
          {["", ...categories].map((each) => (
            <button key={each} type="button" aria-pressed={each === category} onClick={() => setCategory(each)}>
              {each === "" ? "All" : each}
            </button>
          ))}
        </fieldset>
      </search>
      {problem !== "" && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      {trending.length > 0 && (
        <section>
          <h2>Trending</h2>
          <ol class="trending">
            {trending.map(({ id, question, yesPrice, volume24h }) => (
              <li key={id}>
                <button type="button" onClick={() => open(id)}>
                  <span class="question">{question}</span>
                  <b>{chance(prices[id] ?? yesPrice)}</b>
                  <span class="soft">{volume(volume24h)} today</span>
                </button>
              </li>
            ))}
          </ol>
        </section>
      )}
      <ul class="cards" aria-label="Markets">
        {items.map((item) => (
          <li key={item.id}>
            <button type="button" class="card" onClick={() => open(item.id)}>
              <span class="question">{item.question}</span>
              <Sparkline prices={data.sparks?.[item.id] ?? []} latest={prices[item.id] ?? item.yesPrice} />
              <span class="foot">
                <b class="big">{chance(prices[item.id] ?? item.yesPrice)}</b>
                <span class="soft">{volume(item.volume24h)} today</span>
                <span class="soft">until {day(item.closeAt)}</span>
              </span>
            </button>
          </li>
        ))}
      </ul>
      {items.length === 0 && <p class="soft">No open market matches.</p>}
    </main>
  );
}
