import { readPages } from "../../client/pages.ts";
import type { WireResult } from "../../contract/operations.ts";
import { useDesk, type ViewProps } from "../desk.ts";
import { useLive } from "../live/use-live.ts";
import { TraderLink } from "../parts/links.tsx";
import { Pager } from "../parts/pager.tsx";
import { Filter, Search } from "../parts/search.tsx";
import { Table } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import { Usd } from "../parts/usd.tsx";
import { View } from "../parts/view.tsx";
import { addressOf } from "../router.ts";
import { option, pmctl } from "../terminal-line.ts";

const PATH = "/traders";
const ROWS = 100;

type State = WireResult<"getUser">["state"];

/** Every standing, and how it looks. */
const LOOKS: Readonly<Record<State, "good" | "warn" | "bad" | "">> = {
  unverified: "",
  verified: "good",
  rejected: "bad",
  review: "warn",
  restricted: "bad",
};
const STATES = ["", ...Object.keys(LOOKS)].map((state) => [state, capital(state) || "All"] as const);

const DEBTS = [
  ["", "All"],
  ["yes", "Owing"],
] as const;

/** The smallest amount of the ledger. */
export const LEAST_DEBT_USD = 0.000001;

/** Every user of the tenant by id, with standing and money. */
export function TradersView({ query }: ViewProps) {
  const { tenant } = useDesk().session;
  const [q, state, owing, cursor] = ["q", "state", "owing", "cursor"].map((name) => query.get(name) || undefined);
  const minOwedUsd = owing && LEAST_DEBT_USD;
  const filter = { q, state: state as State | undefined, minOwedUsd };
  // A request searches some of the users, so a page may take several.
  const live = useLive(
    (api) => readPages(ROWS, (page) => api.listUsers({ ...filter, ...page }), cursor),
    query.toString(),
  );
  return (
    <View
      name="Traders"
      live={live}
      line={pmctl(
        ...[tenant, "user", "list", ...option("q", q), ...option("state", state)],
        ...option("min-owed", minOwedUsd),
      )}
      tools={
        <>
          <Search path={PATH} query={query} />
          <Filter label="Standing" name="state" options={STATES} path={PATH} query={query} />
          <Filter label="Debt" name="owing" options={DEBTS} path={PATH} query={query} />
        </>
      }
    >
      {({ items, nextCursor }) => (
        <>
          <Table
            name="Traders"
            rows={items}
            id={({ userId }) => userId}
            empty={
              q || state || owing || cursor ? (
                <>
                  No trader matches. Search for another part of an id, or <a href={addressOf(PATH)}>show all traders</a>
                  .
                </>
              ) : (
                "No traders yet. A user appears here with the first deposit, identity check, assessment or trade."
              )
            }
            columns={[
              { title: "User", cell: ({ userId }) => <TraderLink id={userId} /> },
              { title: "Standing", cell: ({ state: standing }) => <Standing of={standing} /> },
              { title: "Place", cell: ({ jurisdiction }) => <bdi>{jurisdiction ?? "—"}</bdi> },
              { title: "Score", isNumber: true, cell: ({ suitabilityScore }) => suitabilityScore ?? "—" },
              { title: "Balance", isNumber: true, cell: ({ balanceUsd }) => <Usd of={balanceUsd} /> },
              { title: "Exposure", isNumber: true, cell: ({ exposureUsd }) => <Usd of={exposureUsd} /> },
              { title: "Owes", isNumber: true, cell: ({ owedUsd }) => <Usd of={owedUsd} /> },
              { title: "Since", cell: ({ createdAt }) => <Time at={createdAt} /> },
            ]}
          />
          <Pager path={PATH} query={query} nextCursor={nextCursor} />
        </>
      )}
    </View>
  );
}

export function Standing({ of }: { of: State }) {
  return <span class={LOOKS[of]}>{capital(of)}</span>;
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
