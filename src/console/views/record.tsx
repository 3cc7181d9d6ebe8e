import type { WireInput } from "../../contract/operations.ts";
import { AUDIT_TYPES, sentenceOf } from "../../domain/audit/sentence.ts";
import { useDesk, type ViewProps } from "../desk.ts";
import { useLive } from "../live/use-live.ts";
import { Pager } from "../parts/pager.tsx";
import { Filter, Search } from "../parts/search.tsx";
import { Table } from "../parts/table.tsx";
import { Sentence, Time } from "../parts/time.tsx";
import { View } from "../parts/view.tsx";
import { addressOf } from "../router.ts";
import { option, pmctl } from "../terminal-line.ts";
import { Anchors } from "./record/anchors.tsx";
import { Checks } from "./record/checks.tsx";

const PATH = "/record";
const PAGE = 50;
const ANY = ["", "Any"] as const;
const TYPES = [ANY, ...AUDIT_TYPES.map((type) => [type, type] as const)];

/** The audit log, newest first, and whether it and the ledger hold. */
export function RecordView({ query }: ViewProps) {
  const { tenant } = useDesk().session;
  const stated = (name: string): string | undefined => query.get(name) || undefined;
  const [type, actor, market, user, q] = ["type", "actor", "market", "user", "q"].map(stated);
  const [since, until] = ["since", "until"].map(stated);
  const filter = { type, actor, marketId: market, userId: user, q, since, until, cursor: stated("cursor") };
  const live = useLive(
    (api) => api.listAudit({ ...(filter as WireInput<"listAudit">), limit: PAGE }),
    query.toString(),
  );
  const line = pmctl(
    ...[tenant, "audit", "list", ...option("type", type), ...option("actor", actor), ...option("market", market)],
    ...[...option("user", user), ...option("grep", q), ...option("since", since), ...option("until", until)],
  );
  const at = { path: PATH, query };
  const tools = (
    <>
      <Search {...at} />
      <Filter {...at} label="Type" name="type" options={TYPES} />
      <Search {...at} label="Actor" name="actor" />
      <Search {...at} label="Market" name="market" />
      <Search {...at} label="User" name="user" />
      {since && <Search {...at} label="Since" name="since" />}
      {until && <Search {...at} label="Until" name="until" />}
    </>
  );
  return (
    <View name="Record" live={live} line={line} tools={tools}>
      {({ entries, cursor, questions = {} }) => (
        <>
          <Checks />
          <Table
            name="Entries"
            rows={entries}
            id={({ seq }) => String(seq)}
            kind={(entry) => entry.type}
            empty={
              cursor === null ? "No entry is like this. Clear a filter." : "None on this page. Go to the next one."
            }
            columns={[
              { title: "Entry", isNumber: true, cell: ({ seq }) => <a href={addressOf(`${PATH}/${seq}`)}>{seq}</a> },
              { title: "When", cell: ({ ts }) => <Time at={ts} /> },
              {
                title: "What",
                cell: (entry) => (
                  <bdi dir="ltr">
                    <Sentence of={sentenceOf(entry, questions[String(entry.payload.marketId)])} />
                  </bdi>
                ),
              },
              { title: "Type", cell: (entry) => <code>{entry.type}</code> },
              { title: "Actor", cell: ({ actor: by }) => <bdi>{by}</bdi> },
            ]}
          />
          <Pager {...at} nextCursor={cursor} />
          <Anchors />
        </>
      )}
    </View>
  );
}
