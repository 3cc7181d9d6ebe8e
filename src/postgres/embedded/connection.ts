import type { Site } from "./home.ts";
import { ownerRole, port } from "./settings.ts";
import { socketDirectory } from "./socket.ts";

/** How to reach a database, in the form for the `postgres` package. The host is a socket directory. */
export interface ClusterConnection {
  host: string;
  port: number;
  user: string;
  database: string;
}

/** How to connect to a database of the cluster, by default as the owner role. */
export function connectionTo({ home }: Site, database: string, user: string = ownerRole): ClusterConnection {
  return { host: socketDirectory(home), port, user, database };
}

/** The connection as a URL, for libpq, node-postgres and `new URL`: the socket directory is the host, percent-encoded. */
export function connectionUrl({ user, host, port, database }: ClusterConnection): string {
  return `postgresql://${encodeURIComponent(user)}@${encodeURIComponent(host)}:${port}/${encodeURIComponent(database)}`;
}

/** Quotes a name for a statement. Done here, because the driver's helper splits a name at its dots. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
