import { everyPage } from "../../../client/pages.ts";
import type { Api, WireResult } from "../../../contract/operations.ts";
import { sumOf } from "../../../domain/money.ts";
import { counted } from "../../../domain/text.ts";
import { exactUsd } from "../../format.ts";
import type { ActionOf } from "../../parts/action.tsx";
import { MarketLink } from "../../parts/links.tsx";
import { Table } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import { Usd } from "../../parts/usd.tsx";
import { option, pmctl } from "../../terminal-line.ts";

type Risk = WireResult<"listRisk">[number];

const FIRST = 10;

/** Lets the oracle decide now what is due. */
export const sweepOf = (tenant: string): ActionOf<readonly Risk[]> => ({
  label: "Sweep",
  thing: "every due market",
  scope: "settle",
  preview: dueMarkets,
  explain: (due) => (
    <>
      <p>
        The oracle asks its sources about every market whose time has come, and settles those that they decide. Where
        the tenant's rules want other actors or a hold, it proposes instead. Proposals that wait stay as they are.
      </p>
      {due && <Due of={due} />}
    </>
  ),
  run: (api) => api.sweepOracle({}),
  line: (_values, reason) => pmctl(tenant, "oracle", "sweep", ...option("reason", reason)),
  done: (result) => {
    const { watched, settled, held } = result as WireResult<"sweepOracle">;
    return `Looked at ${watched}, settled ${settled.length}, left ${held.length} to a person.`;
  },
});

/** Closed markets that no person has to decide, and those that the oracle holds, which it asks about again. */
async function dueMarkets(api: Api): Promise<readonly Risk[]> {
  const [closed, waiting, held, proposals] = await Promise.all([
    api.listRisk({ status: "closed" }),
    api.listRisk({ status: "waiting" }),
    api.listHeldMarkets({}),
    everyPage((page) => api.listProposals({ status: "pending", ...page })),
  ]);
  const toPeople = new Set(waiting.map(({ marketId }) => marketId));
  for (const { marketId } of held) toPeople.delete(marketId);
  for (const { marketId } of proposals) if (marketId !== null) toPeople.add(marketId);
  return closed.filter(({ marketId }) => !toPeople.has(marketId));
}

const most = ({ yesPayout, noPayout }: Risk): number => Math.max(yesPayout, noPayout);

function Due({ of }: { of: readonly Risk[] }) {
  return (
    <>
      {of.length > 0 && (
        <p class="warn">
          {counted(of.length, "market is due and pays", "markets are due and pay")} at most{" "}
          {exactUsd(sumOf(...of.map(most)))} in all.
        </p>
      )}
      <Table
        name="Due markets"
        rows={of}
        first={FIRST}
        id={({ marketId }) => marketId}
        empty="No market is due: a sweep settles nothing now."
        columns={[
          { title: "Market", cell: ({ marketId, question }) => <MarketLink id={marketId} question={question} /> },
          { title: "Closed", cell: ({ closeAt = null }) => <Time at={closeAt} /> },
          { title: "Pays at most", isNumber: true, cell: (each) => <Usd of={most(each)} /> },
        ]}
      />
    </>
  );
}
