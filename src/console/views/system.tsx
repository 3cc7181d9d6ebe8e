import type { WireInput, WireResult } from "../../contract/operations.ts";
import { SECURITY_EVENTS } from "../../domain/access/security.ts";
import { useDesk, type ViewProps } from "../desk.ts";
import { count } from "../format.ts";
import { useLive } from "../live/use-live.ts";
import { Facts } from "../parts/facts.tsx";
import { Pager } from "../parts/pager.tsx";
import { Filter } from "../parts/search.tsx";
import { Table } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import { View } from "../parts/view.tsx";
import { pmctl } from "../terminal-line.ts";
import { Refusals, Turned } from "./system/refusals.tsx";
import { Database, Load, Servers } from "./system/servers.tsx";
import { Why } from "./system/why.tsx";

const PATH = "/system";
const PAGE = 50;
/** Response times and limits change without an entry in the log. */
const EVERY_MS = 5000;
const LATEST_REFUSALS = 20;
const EVENTS = [["", "Any"], ...SECURITY_EVENTS.map((event) => [event, event] as const)] as const;

/** The servers and their database, how fast they answer, the keys that open them, and who was refused and why. */
export function SystemView({ query }: ViewProps) {
  const { tenant } = useDesk().session;
  const event = query.get("event") || undefined;
  const cursor = query.get("cursor") || undefined;
  const live = useLive(
    async (api) => {
      const [health, server, { freeze, version }, keys, refusals, security] = await Promise.all([
        api.getHealth({}),
        api.getServer({}),
        api.getConfig({}),
        api.listKeys({}),
        api.listRefusals({ limit: LATEST_REFUSALS }),
        api.listSecurityEvents({ event, cursor, limit: PAGE } as WireInput<"listSecurityEvents">),
      ]);
      return { health, server, freeze, version, keys, refusals: refusals.items, security };
    },
    query.toString(),
    EVERY_MS,
  );
  const at = { path: PATH, query };
  return (
    <View name="System" live={live} line={pmctl(tenant, "status")}>
      {({ health, server, freeze, version, keys, refusals, security }) => (
        <>
          <Facts
            of={[
              ["Server", <State key="server" isGood={health.ok} good="answers" bad="is in trouble" />],
              ["Database", <State key="db" isGood={health.db} good="reached" bad="not reached" />],
              [
                "Up for",
                `${count(Math.floor(health.uptimeSec / 3600))} h ${Math.floor((health.uptimeSec / 60) % 60)} min`,
              ],
              ["Version of the configuration", count(version)],
              ["Frozen until", freeze.frozenUntil !== null && <Time key="frozen" at={freeze.frozenUntil} />],
            ]}
          />
          <Servers of={server} />
          <Database of={server} />
          <Load of={server} />
          <h2>Latest refused requests</h2>
          <Why {...at} />
          <Refusals of={refusals} {...at} />
          <h2>Keys</h2>
          <Keys of={keys} />
          <h2>Security events</h2>
          <div class="tools">
            <Filter {...at} label="Event" name="event" options={EVENTS} />
          </div>
          <Turned of={security.entries} />
          <Pager {...at} nextCursor={security.cursor} />
        </>
      )}
    </View>
  );
}

function State({ isGood, good, bad }: { isGood: boolean; good: string; bad: string }) {
  return <span class={isGood ? "good" : "bad"}>{isGood ? good : bad}</span>;
}

function Keys({ of }: { of: WireResult<"listKeys"> }) {
  return (
    <Table
      name="Keys"
      rows={of}
      id={({ fingerprint }) => fingerprint}
      empty="There is no key."
      columns={[
        { title: "Key", cell: ({ name }) => <bdi>{name}</bdi> },
        { title: "Type", cell: ({ type }) => type },
        { title: "Works", cell: ({ active }) => (active ? "yes" : "no") },
        { title: "Scopes", cell: ({ scopes }) => scopes?.join(", ") ?? "—" },
        { title: "Expires", cell: ({ expiresAt }) => <Time at={expiresAt} /> },
        { title: "Last used", cell: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
        { title: "Fingerprint", cell: ({ fingerprint }) => <code>{fingerprint}</code> },
      ]}
    />
  );
}
