import type { WireResult } from "../../../contract/operations.ts";
import { count } from "../../format.ts";
import { Facts } from "../../parts/facts.tsx";
import { Table } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";

type Status = WireResult<"getServer">;

const SURVIVES = {
  none: "nothing: fsync is off",
  crash: "a crash, not the loss of the database's machine",
  machine: "the loss of the database's machine",
} as const;

/** The tenant's servers, with the one that answers first named. */
export function Servers({ of: { servers, answeredBy } }: { of: Status }) {
  return (
    <>
      <h2>Servers</h2>
      <Table
        name="Servers"
        rows={servers}
        id={({ server }) => server}
        empty="No server is known. Start one with pmctl serve."
        columns={[
          {
            title: "Server",
            cell: ({ server }) => (
              <>
                <bdi>{server}</bdi>
                {server === answeredBy && <small> (this one)</small>}
              </>
            ),
          },
          { title: "Version", cell: ({ version }) => version ?? "—" },
          { title: "Since", cell: ({ since }) => <Time at={since} /> },
          { title: "Address", cell: ({ url }) => <bdi>{url ?? "—"}</bdi> },
          { title: "Background work", cell: ({ work }) => work.join(", ") || "none" },
        ]}
      />
      <p class="soft">A server of another directory is known only while it does background work.</p>
    </>
  );
}

/** The database, its standbys, and the latest backup. */
export function Database({ of: { database, lastBackup, certificates } }: { of: Status }) {
  return (
    <>
      <h2>Database and replication</h2>
      <Facts
        of={[
          ["Primary", database ? <bdi key="host">{database.host}</bdi> : "does not answer"],
          ["PostgreSQL", database?.version],
          ["An acknowledged change survives", database && SURVIVES[database.survives]],
          [
            "Synchronous standbys",
            database && `${count(database.synchronousStandbys)}, required ${count(database.required)}`,
          ],
          [
            "Latest backup from the server's directory",
            lastBackup && (lastBackup.at ? <Time key="backup" at={lastBackup.at} /> : "none"),
          ],
          ...(certificates ?? []).map(
            ({ section, expiresAt }) => [`Certificate ${section} ends`, <Time key={section} at={expiresAt} />] as const,
          ),
        ]}
      />
      {lastBackup && <p class="soft">Backups by other programs or from other directories are not known here.</p>}
      {database && <Standbys of={database.standbys} />}
    </>
  );
}

function Standbys({ of }: { of: NonNullable<Status["database"]>["standbys"] }) {
  if (of === null)
    return <p class="empty">The database's login may not see standbys. pmctl doctor says what it needs.</p>;
  return (
    <Table
      name="Standbys"
      rows={of}
      id={({ name }) => name}
      empty="There is no standby: deploy one, so that no acknowledged change is lost with a machine."
      columns={[
        { title: "Standby", cell: ({ name }) => <bdi>{name}</bdi> },
        { title: "State", cell: ({ state }) => state },
        { title: "Replication", cell: ({ sync }) => sync },
        {
          title: "Behind, in bytes",
          isNumber: true,
          cell: ({ lagBytes }) => (lagBytes === null ? "—" : count(lagBytes)),
        },
      ]}
    />
  );
}

const WORDS = {
  address: "Address",
  admin: "Admin key",
  webhook: "Webhooks of an address",
  embed: "Widget at an address",
  options: "Preflights of an address",
  console: "Refused sign-ins of an address",
} as const;

/** How fast requests were answered, how many changes wait, and who is near to a limit. */
export function Load({ of: { recent, queue, clients } }: { of: Status }) {
  const groups = recent ? [{ ...recent, group: "all" }, ...recent.groups] : [];
  return (
    <>
      <h2>Requests</h2>
      <Facts
        of={[
          ["Changes that wait for a commit", count(queue)],
          ["Requests since", recent && <Time key="since" at={recent.since} />],
        ]}
      />
      <Table
        name="Requests"
        rows={groups}
        id={({ group }) => group}
        empty="Only a server counts requests."
        columns={[
          { title: "Group", cell: ({ group }) => group },
          { title: "Requests", isNumber: true, cell: ({ requests }) => count(requests) },
          { title: "p50", isNumber: true, cell: ({ p50Ms }) => milliseconds(p50Ms) },
          { title: "p99", isNumber: true, cell: ({ p99Ms }) => milliseconds(p99Ms) },
          { title: "Failed", isNumber: true, cell: ({ failed }) => count(failed) },
          { title: "Over a limit", isNumber: true, cell: ({ tooMany }) => count(tooMany) },
        ]}
      />
      <h2>Rate limit</h2>
      <Table
        name="Clients"
        rows={clients}
        id={({ kind, client }) => `${kind} ${client}`}
        empty="No client sent a request within the last minute."
        columns={[
          { title: "Client", cell: ({ client }) => <bdi>{client}</bdi> },
          { title: "Counted", cell: ({ kind }) => WORDS[kind] },
          { title: "Requests this minute", isNumber: true, cell: ({ requests }) => count(requests) },
          { title: "Allowed", isNumber: true, cell: ({ limit }) => (limit === null ? "—" : count(limit)) },
          {
            title: "Refused now",
            cell: ({ requests, limit }) =>
              limit !== null && requests >= limit ? <strong class="bad">yes</strong> : "no",
          },
          { title: "Until", cell: ({ endsAt }) => <Time at={endsAt} isToday /> },
        ]}
      />
    </>
  );
}

const milliseconds = (ms: number | null): string => (ms === null ? "—" : `${count(ms)} ms`);
