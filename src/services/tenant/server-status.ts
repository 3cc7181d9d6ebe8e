import type { Result } from "../../contract/operations.ts";
import { type Lease, readLeases } from "../../ledger/unchained/leases.ts";
import { busiestClients } from "../../ledger/unchained/request-count.ts";
import type { ServiceContext, ServingFacts } from "../context.ts";
import type { Handlers } from "../invoke.ts";
import type { DurabilityWatch } from "./durability-watch.ts";
import { SERVER_ID } from "./identifiers.ts";

type Status = Result<"getServer">;

const MOST_CLIENTS = 10;

/** What operators see of the servers and their database. */
export function serverHandlers(context: ServiceContext, durability: DurabilityWatch) {
  return { getServer: () => getServer(context, durability) } satisfies Handlers;
}

async function getServer({ pool, sequencer, serving }: ServiceContext, durability: DurabilityWatch): Promise<Status> {
  const [leases, clients, database, here, lastBackupAt] = await Promise.all([
    pool.read(readLeases),
    pool.read((sql) => busiestClients(sql, MOST_CLIENTS)),
    durability.read(),
    serving.servers?.() ?? [],
    serving.lastBackupAt?.(),
  ]);
  return {
    answeredBy: serving.recent ? SERVER_ID : null,
    servers: knownServers(here, leases),
    database: database && databaseOf(database),
    queue: sequencer.queueLength,
    recent: serving.recent?.() ?? null,
    clients: clients.map((each) => ({ ...each, limit: serving.limitOf?.(each.kind) ?? null })),
    certificates: serving.certificates?.() ?? null,
    lastBackup: lastBackupAt === undefined ? null : { at: lastBackupAt },
  };
}

/** A server of another directory or machine is known by its work alone. */
function knownServers(here: Awaited<ReturnType<NonNullable<ServingFacts["servers"]>>>, leases: readonly Lease[]) {
  const held = leases.filter(({ leftMs }) => leftMs > 0);
  const workOf = (server: string) => held.filter(({ holder }) => holder === server).map(({ work }) => work);
  const elsewhere = new Set(held.map(({ holder }) => holder));
  for (const { server } of here) elsewhere.delete(server);
  return [
    ...here.map((each) => ({ ...each, work: workOf(each.server) })),
    ...[...elsewhere].map((server) => ({ server, version: null, since: null, url: null, work: workOf(server) })),
  ];
}

function databaseOf(state: NonNullable<Awaited<ReturnType<DurabilityWatch["read"]>>>): NonNullable<Status["database"]> {
  const { host, version, survives, standbys, synchronousStandbys, required, checkedAt } = state;
  return {
    ...{ host, version, survives, synchronousStandbys, required },
    standbys: standbys?.map(({ name, state: is, sync, lagBytes }) => ({ name, state: is, sync, lagBytes })) ?? null,
    checkedAt: Date.parse(checkedAt),
  };
}
