import type { Api, WireResult } from "../../../contract/operations.ts";
import { counted } from "../../../domain/text.ts";
import { count } from "../../format.ts";
import { useAnswer } from "../../live/use-answer.ts";
import { Table } from "../../parts/table.tsx";
import { Usd } from "../../parts/usd.tsx";
import { worstCase } from "./what-if.ts";

type Risks = WireResult<"listRisk">;

const PAGE = 200;
/** More pages than this would keep the page, and the server, busy. */
const MOST_PAGES = 25;

/** Markets that tend to end alike: the risks by category, read when a person asks. */
export function Groups({ of: risks }: { of: Risks }) {
  const { found, isAsking, problem, ask } = useAnswer(readCategories);
  return (
    <>
      <p>
        <button type="button" disabled={isAsking} onClick={ask}>
          Group by category
        </button>{" "}
        <span role="status">{isAsking && "Reading the markets …"}</span>
      </p>
      {problem && <p role="alert">{problem}</p>}
      {found && (
        <Table
          name="Categories"
          rows={groupsOf(risks, found)}
          id={({ category }) => category}
          empty="No market is unsettled."
          columns={[
            { title: "Category", cell: ({ category }) => <bdi>{category}</bdi> },
            { title: "Markets", isNumber: true, cell: ({ markets }) => count(markets) },
            { title: "All together can cost", isNumber: true, cell: ({ worst }) => <Usd of={worst} /> },
          ]}
        />
      )}
      {found && found.size < risks.length && (
        <p class="soft">Counted by category: the first {counted(found.size, "market")}, by id.</p>
      )}
    </>
  );
}

/** The categories of unsettled markets, by id. */
async function readCategories(api: Api): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  let cursor: string | undefined;
  for (let page = 0; page < MOST_PAGES; page++) {
    const { items, nextCursor } = await api.listUnsettledMarkets({ limit: PAGE, cursor });
    for (const { id, category } of items) found.set(id, category);
    if (nextCursor === null) break;
    cursor = nextCursor;
  }
  return found;
}

function groupsOf(risks: Risks, categories: ReadonlyMap<string, string>) {
  const groups = Map.groupBy(risks, ({ marketId }) => categories.get(marketId) ?? "not counted");
  return [...groups]
    .map(([category, within]) => ({ category, markets: within.length, worst: worstCase(within, {}).worst }))
    .sort((one, other) => other.worst - one.worst);
}
