import { relative, resolve } from "node:path";
import { environmentPrefix } from "../../config/environment.ts";
import { secretPlaces } from "../../config/secrets/secret-places.ts";
import { filesOf } from "../../config/secrets/secret-rules.ts";
import type { TenantConfig } from "../../config/tenant-config.ts";
import type { Tenant } from "../../config/tenant-file.ts";

export const TARGETS = ["systemd", "compose", "kubernetes", "patroni"] as const;
export type Target = (typeof TARGETS)[number];

/** A machine of a database cluster. */
export interface DatabaseNode {
  /** Part of file names, and of the configuration of etcd and Patroni. */
  name: string;
  /** The name or address for the other machines; IPv6 without brackets. */
  host: string;
}

/** The input of deployment files; equal input renders equal files. */
export interface Deployment {
  /** With resolved files, sorted by id. */
  tenants: readonly Tenant[];
  /** The operator's directory, absolute. */
  workspace: string;
  /** The text of `pmctl.yaml`; undefined if there is none. */
  operatorFile: string | undefined;
  /** The absolute folder for the rendered files. */
  out: string;
  /** Path of the program where it runs. */
  bin: string;
  /** The operator's directory where the program runs. */
  directory: string;
  image: string;
  nodes: readonly DatabaseNode[];
}

export interface RenderedFile {
  /** Relative to `out`. */
  path: string;
  text: string;
}

/** Longer than health checks that ask every second and act on the second failure. */
const DRAIN_SECONDS = 5;
/** The most time that a server takes to answer open requests after it has stopped listening. */
const STOP_SECONDS = 25;

/** The port of every server in a container of its own, as in the templates. */
export const API_PORT = 8080;
const OPS_PORT = 9464;

/**
 * The paths that a server reads below the operator's directory: the tenant's own folder, then single files elsewhere
 * that its file extends or refers to. Relative to the directory and sorted; never another tenant's folder.
 */
export function pathsOf(config: TenantConfig, workspace: string): string[] {
  const { source, ...document } = config;
  const files = [...source.bases, ...filesOf(document).map(({ file }) => resolve(source.directory, file))];
  const elsewhere = files.filter((file) => relative(source.directory, file).startsWith(".."));
  return [source.directory, ...[...new Set(elsewhere)].toSorted()].map((path) => relative(workspace, path));
}

/** How many standbys each change waits for, by target; undefined where the target renders no database. */
export const SYNCHRONOUS_STANDBYS: Readonly<Record<Target, number | undefined>> = {
  systemd: undefined,
  compose: 0,
  kubernetes: 1,
  // Patroni's default of `synchronous_node_count`.
  patroni: 1,
};

/** The value of the tenant file, else enough time for a load balancer to notice. */
export function drainSecondsOf({ server, source }: TenantConfig): number {
  return source.states(["server", "drainSeconds"]) ? server.drainSeconds : DRAIN_SECONDS;
}

/** The time after which a stopped server is killed. */
export function graceSecondsOf(config: TenantConfig): number {
  return drainSecondsOf(config) + STOP_SECONDS;
}

/** A server uses half of the memory of its control group. */
export function memoryLimitMb({ server }: TenantConfig): number {
  return 2 * server.memoryMb;
}

/** The environment variables that a tenant file refers to, sorted. */
export interface Variables {
  /** Variables that a server needs. */
  server: string[];
  /** Variables that only the database's owner needs: for apply, migrations, backups and restores. */
  owner: string[];
}

export function variablesOf(config: TenantConfig): Variables {
  const stated = secretPlaces(config).flatMap(({ reference, path: [section, key] }) =>
    "env" in reference ? [{ name: reference.env, isOwners: section === "database" && key === "ownerUrl" }] : [],
  );
  const names = (isOwners: boolean) =>
    [...new Set(stated.filter((variable) => variable.isOwners === isOwners).map(({ name }) => name))].toSorted();
  const server = names(false);
  return { server, owner: names(true).filter((name) => !server.includes(name)) };
}

/** The database of a tenant that no longer uses the embedded one. */
export function externalDatabase({ tenant }: TenantConfig) {
  return { url: { env: `${environmentPrefix(tenant)}_DATABASE_URL` } };
}

/** The variables of a server with an external database, whatever the file says yet. */
export function externalVariablesOf(config: TenantConfig): Variables {
  const variables = variablesOf(config);
  if (config.database !== "embedded") return variables;
  const { env } = externalDatabase(config).url;
  return { ...variables, server: [...new Set([...variables.server, env])].toSorted() };
}

/** Connections of one server and of the commands beside it. */
const CONNECTIONS_OF_SERVER = 16;
const SERVERS_OF_TENANT = 3;
const CONNECTIONS_BESIDE = 50;

/** `max_connections` of a database server with these tenants. Each tenant has one more server during a rollout. */
export function maxConnections(tenants: Deployment["tenants"]): number {
  return CONNECTIONS_BESIDE + tenants.length * SERVERS_OF_TENANT * CONNECTIONS_OF_SERVER;
}

/** The login of a tenant's servers in a rendered database; the same as in the embedded one. */
export const serverLoginOf = ({ tenant }: TenantConfig) => `pmctl-server-${tenant}`;

/** The arguments of `serve` in a container: all its addresses, and fixed ports. */
export function containerArguments(config: TenantConfig): string[] {
  return [
    ...["serve", config.tenant, "--host", "0.0.0.0", "--port", String(API_PORT)],
    ...["--ops-host", "0.0.0.0", "--ops-port", String(OPS_PORT)],
    ...["--drain-seconds", String(drainSecondsOf(config)), "--no-input"],
  ];
}
