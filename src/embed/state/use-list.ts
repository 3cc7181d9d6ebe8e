import { createContext } from "preact";
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import type { FrameData, FrameList } from "../../contract/resources/embed.ts";
import { Refused, readAtLast } from "../api.ts";
import { Pauses } from "../stream/pauses.ts";
import { type Words, wordsFor, wordsForReading } from "../words.ts";
import { joined, type ListedMarket, narrowed, renewed } from "./list-pages.ts";
import type { Viewer } from "./viewer.ts";

/** A list of markets, and what narrows it down. */
export interface MarketList {
  items: readonly ListedMarket[];
  sparks: FrameList["sparks"];
  query: string;
  category: string;
  /** Whether neither words nor a category narrow it down. */
  isWhole: boolean;
  /** Whether the server is being asked. */
  isAsking: boolean;
  hasMore: boolean;
  problem: Words | undefined;
  search(query: string): void;
  choose(category: string): void;
  more(): void;
}

/** A request per letter would use up the reader's rate limit. */
const SEARCH_PAUSE_MS = 350;

/** Searches the loaded markets at once, and asks the server where it may know more. Outlives the view, see `useKept`. */
export function useList(data: FrameData, { api }: Viewer): MarketList {
  const first: FrameList = {
    items: data.markets ?? [],
    nextCursor: data.nextCursor ?? null,
    sparks: data.sparks ?? {},
  };
  const [query, setQuery] = useKept("query", "");
  const [category, setCategory] = useKept("category", "");
  const [page, setPage] = useKept("page", first);
  const [problem, setProblem] = useState<Words>();
  const [isAsking, setIsAsking] = useState(false);
  const words = query.trim();
  const isWhole = words === "" && category === "";
  const wanted = { ...(words === "" ? {} : { q: words }), ...(category === "" ? {} : { category }) };
  const shown = useRef({ wanted: JSON.stringify(wanted), data });

  useEffect(() => {
    const now = { wanted: JSON.stringify(wanted), data };
    const before = shown.current;
    shown.current = now;
    // A list that the reader comes back to is already there.
    if (now.wanted === before.wanted && now.data === before.data) return;
    setProblem(undefined);
    if (isWhole) return setPage(now.wanted === before.wanted ? renewed(page, first) : first);
    const atHand = narrowed(first.items, words, category);
    // The server also finds words that are not in the question.
    const knowsAll = words === "" && first.nextCursor === null;
    setPage({ ...first, items: atHand, nextCursor: null });
    if (knowsAll) return;
    const pauses = new Pauses();
    let isDropped = false;
    setIsAsking(true);
    const timer = setTimeout(async () => {
      try {
        const found = await readAtLast(() => api.listMarkets(wanted), pauses, {
          isWanted: () => !isDropped,
          onPause: (refused) => setProblem(wordsForReading(refused)),
        });
        if (isDropped || !found) return;
        setPage(found);
        setProblem(undefined);
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        if (!isDropped) setProblem(wordsFor(error));
      }
      if (!isDropped) setIsAsking(false);
    }, SEARCH_PAUSE_MS);
    return () => {
      isDropped = true;
      clearTimeout(timer);
      pauses.end();
      setIsAsking(false);
    };
  }, [query, category, data]);

  const more = async (): Promise<void> => {
    if (page.nextCursor === null || isAsking) return;
    const from = shown.current;
    setIsAsking(true);
    setProblem(undefined);
    try {
      const next = await api.listMarkets({ ...wanted, cursor: page.nextCursor });
      if (shown.current === from) setPage(joined(page, next));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (shown.current === from) setProblem(wordsFor(error));
    } finally {
      if (shown.current === from) setIsAsking(false);
    }
  };
  const { items, sparks } = page;
  const hasMore = page.nextCursor !== null;
  return {
    items,
    sparks,
    query,
    category,
    isWhole,
    isAsking,
    hasMore,
    problem,
    search: setQuery,
    choose: setCategory,
    more,
  };
}

/** What a view keeps while another is shown, until the reader comes back. */
export const Kept = createContext<Map<string, unknown>>(new Map());

/** `useState` whose value outlives the view, for as long as the reader can come back to it. */
export function useKept<Value>(name: string, initial: Value): [Value, (next: Value) => void] {
  const kept = useContext(Kept);
  const [value, setValue] = useState(() => (kept.has(name) ? (kept.get(name) as Value) : initial));
  return [
    value,
    (next) => {
      kept.set(name, next);
      setValue(next);
    },
  ];
}
