import type { Api, WireInput, WireResult } from "../../contract/operations.ts";
import { MARKET_KINDS, MARKET_MAKERS } from "../../domain/market/market-makers.ts";
import { useDesk, type ViewProps } from "../desk.ts";
import { outcomeWords, percent } from "../format.ts";
import { useLive } from "../live/use-live.ts";
import { MarketLink } from "../parts/links.tsx";
import { Pager } from "../parts/pager.tsx";
import { Filter, Search } from "../parts/search.tsx";
import { Sparkline } from "../parts/sparkline.tsx";
import { Table } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import { Usd } from "../parts/usd.tsx";
import { View } from "../parts/view.tsx";
import { addressOf } from "../router.ts";
import { option, pmctl } from "../terminal-line.ts";
import { CreateMarket } from "./market/create.tsx";
import { capital, STATUS_LOOKS, Status } from "./market/words.tsx";

const PATH = "/markets";
const ROWS = 100;
const ALL = ["", "All"] as const;
const STATUSES = [
  ALL,
  ...[...Object.keys(STATUS_LOOKS), "waiting"].map((status) => [status, capital(status)] as const),
];
const KINDS = [ALL, ...MARKET_KINDS.map((kind) => [kind, `${kind}, ${MARKET_MAKERS[kind].title}`] as const)];
/** Old first prices of a day are no news of a market that ended. */
const TRADED: readonly (string | undefined)[] = ["open", "suspended"];

type Item = WireResult<"listMarkets">["items"][number];
interface Page {
  items: readonly Item[];
  nextCursor: string | null;
  /** The prices of the last day, by market. */
  prices: ReadonlyMap<string, readonly number[]>;
}

/** Markets of every status by closing time, settled ones last, with the prices of the last day. */
export function MarketsView({ query: stated }: ViewProps) {
  const { tenant } = useDesk().session;
  const query = withoutAll(stated);
  const [status, q, category, kind, cursor] = ["status", "q", "category", "kind", "cursor"].map(
    (name) => query.get(name) || undefined,
  );
  const filter = { status: status ?? "all", q, category, kind, cursor, limit: ROWS } as WireInput<"listMarkets">;
  const live = useLive((api) => readPage(api, filter), query.toString());
  const line = pmctl(
    ...[tenant, "market", "list", ...option("status", filter.status), ...option("category", category)],
    ...[...option("kind", kind), ...option("q", q)],
  );
  const at = { path: PATH, query };
  const tools = (
    <>
      <Search {...at} />
      <Filter {...at} label="Status" name="status" options={STATUSES} />
      <Filter {...at} label="Kind" name="kind" options={KINDS} />
      <Search {...at} label="Category" name="category" />
      <CreateMarket />
    </>
  );
  return (
    <View name="Markets" live={live} line={line} tools={tools}>
      {({ items, nextCursor, prices }) => (
        <>
          <Table
            name="Markets"
            rows={items}
            id={({ id }) => id}
            kind={({ status: now = "open" }) => now}
            empty={query.size > 0 ? <NoMatch /> : "No markets yet. Press Create market, or run pmctl market create."}
            columns={[
              { title: "Market", cell: ({ id, question }) => <MarketLink id={id} question={question} /> },
              { title: "Status", cell: ({ status: now = "open", outcome }) => <Status of={now} outcome={outcome} /> },
              {
                title: "Yes",
                isNumber: true,
                cell: ({ yesPrice, outcome }) => (outcome ? outcomeWords(outcome) : percent(yesPrice)),
              },
              { title: "Last day", cell: (item) => <Day of={item} prices={prices.get(item.id)} /> },
              { title: "Volume in 24 h", isNumber: true, cell: ({ volume24h }) => <Usd of={volume24h} /> },
              { title: "Closes", cell: ({ closeAt }) => <Time at={closeAt} /> },
              { title: "Category", cell: ({ category: slug }) => slug },
              { title: "Kind", cell: ({ kind: maker }) => maker },
            ]}
          />
          <Pager {...at} nextCursor={nextCursor} />
        </>
      )}
    </View>
  );
}

function NoMatch() {
  return (
    <>
      No market matches. Clear a filter, or <a href={addressOf(PATH)}>show all markets</a>.
    </>
  );
}

async function readPage(api: Api, filter: WireInput<"listMarkets">): Promise<Page> {
  const { items, nextCursor } = await (filter.status === "all" ? readAll(api, filter) : api.listMarkets(filter));
  const ids = items.filter(({ status }) => TRADED.includes(status)).map(({ id }) => id);
  const recent = ids.length === 0 ? [] : await api.listRecentPrices({ ids: ids.join(",") });
  return { items, nextCursor, prices: new Map(recent.map(({ id, yes }) => [id, yes])) };
}

/** Settled markets come after all others; the cursors of their pages begin so. */
const SETTLED = "settled:";

async function readAll(api: Api, filter: WireInput<"listMarkets">): ReturnType<Api["listMarkets"]> {
  const [, ofSettled] = filter.cursor?.split(SETTLED) ?? [];
  const others =
    ofSettled === undefined
      ? await api.listMarkets({ ...filter, status: "unsettled" })
      : { items: [], nextCursor: null };
  if (others.nextCursor !== null) return others;
  const limit = ROWS - others.items.length;
  if (limit === 0) return { ...others, nextCursor: SETTLED };
  const settled = await api.listMarkets({ ...filter, status: "settled", cursor: ofSettled || undefined, limit });
  return {
    items: [...others.items, ...settled.items],
    nextCursor: settled.nextCursor && SETTLED + settled.nextCursor,
  };
}

function Day({ of, prices = [] }: { of: Item; prices: readonly number[] | undefined }) {
  const [first = of.yesPrice, last = of.yesPrice] = [prices[0], prices.at(-1)];
  return <Sparkline values={prices} range={[0, 1]} name={`Yes from ${percent(first)} to ${percent(last)}`} />;
}

/** The address may state the usual status, too. */
function withoutAll(query: URLSearchParams): URLSearchParams {
  return new URLSearchParams([...query].filter(([name, value]) => name !== "status" || value !== "all"));
}
