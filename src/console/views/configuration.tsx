import { useState } from "preact/hooks";
import type { WireResult } from "../../contract/operations.ts";
import { useDesk, type ViewProps } from "../desk.ts";
import { useLive } from "../live/use-live.ts";
import { Facts } from "../parts/facts.tsx";
import { EntryLink } from "../parts/links.tsx";
import { Pager } from "../parts/pager.tsx";
import { Table } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import { Usd } from "../parts/usd.tsx";
import { View } from "../parts/view.tsx";
import { pmctl } from "../terminal-line.ts";
import { Applies } from "./configuration/applies.tsx";
import { ChangeAction } from "./configuration/change.tsx";
import { comparedFields } from "./configuration/compared.ts";
import { FreezeActions } from "./configuration/freeze.tsx";
import { Value } from "./configuration/value.tsx";

const PATH = "/configuration";
const PAGE = 20;

/** What the last apply stated beside what is live, who changed it, and every apply. */
export function ConfigurationView({ query }: ViewProps) {
  const { tenant } = useDesk().session;
  const cursor = query.get("cursor") || undefined;
  const live = useLive(async (api) => {
    const [config, applies] = await Promise.all([api.getConfig({}), api.listApplies({ limit: PAGE, cursor })]);
    return { config, applies };
  }, query.toString());
  return (
    <View name="Configuration" live={live} line={pmctl(tenant, "drift")}>
      {({ config, applies }) => (
        <>
          <Standing of={config} />
          <h2>Fields</h2>
          <p>The server does not have your files: File is what the last apply stated.</p>
          <Fields of={config} />
          <h2>Applies</h2>
          <Applies of={applies.items} isFrozen={config.freeze.frozenUntil !== null} />
          <Pager path={PATH} query={query} nextCursor={applies.nextCursor} />
        </>
      )}
    </View>
  );
}

function Standing({ of: { version, treasuryUsd, capitalUsd, atRiskUsd, freeze } }: { of: WireResult<"getConfig"> }) {
  return (
    <>
      <Facts
        of={[
          ["Version", String(version)],
          ["In the treasury", <Usd key="treasury" of={treasuryUsd} />],
          ["Capital", <Usd key="capital" of={capitalUsd} />],
          ["Liquidity in markets", <Usd key="risk" of={atRiskUsd} />],
          ["Frozen until", freeze.frozenUntil !== null && <Time key="frozen" at={freeze.frozenUntil} />],
          ["Frozen by", freeze.by && <bdi>{freeze.by}</bdi>],
          ["Because", freeze.reason && <bdi>{freeze.reason}</bdi>],
        ]}
      />
      <FreezeActions isFrozen={freeze.frozenUntil !== null} />
    </>
  );
}

function Fields({ of }: { of: WireResult<"getConfig"> }) {
  const rows = comparedFields(of);
  // A row that moved would take the focus, or an open dialog, from the person.
  const [order] = useState(() => rows.map(({ field }) => field));
  return (
    <Table
      name="Fields"
      rows={rows.sort((one, other) => order.indexOf(one.field) - order.indexOf(other.field))}
      id={({ field }) => field}
      kind={({ differs }) => (differs ? "differs" : "same")}
      empty="Nothing was applied yet. Run pmctl apply in the directory of the tenant's files."
      columns={[
        {
          title: "Field",
          cell: ({ field, differs }) => (differs ? <code class="warn">{field}</code> : <code>{field}</code>),
        },
        { title: "File", cell: ({ file }) => <Value of={file} /> },
        {
          title: "Live",
          // What a server runs with, its own options may say.
          cell: ({ field, live }) =>
            field.startsWith("server.") ? <span class="soft">as applied</span> : <Value of={live} />,
        },
        {
          title: "Changed live",
          cell: ({ changed }) =>
            changed && (
              <>
                <bdi>{changed.actor}</bdi>, <Time at={changed.ts} /> <EntryLink seq={changed.seq} />{" "}
                <bdi>{changed.reason}</bdi>
              </>
            ),
        },
        { title: "Until", cell: ({ until }) => until && <Time at={until} /> },
        { title: "Decide", cell: (each) => <ChangeAction of={each} /> },
      ]}
    />
  );
}
