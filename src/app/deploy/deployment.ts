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
  /** As the other machines reach it: a name or an address, IPv6 without brackets. */
  host: string;
}

/** What deployment files are made from; the same gives the same files. */
export interface Deployment {
  /** With their files as they are resolved, sorted by id. */
  tenants: readonly Tenant[];
  /** The operator's directory, absolute. */
  workspace: string;
  /** The text of `pmctl.yaml`; undefined where there is none. */
  operatorFile: string | undefined;
  /** Where the files are going to stand, absolute. */
  out: string;
  /** The program, where it runs. */
  bin: string;
  /** The operator's directory, where the program runs. */
  directory: string;
  image: string;
  nodes: readonly DatabaseNode[];
}

export interface RenderedFile {
  /** Relative to `out`. */
  path: string;
  text: string;
}

/** Longer than health checks that look every second and believe the second failure. */
const DRAIN_SECONDS = 5;
/** What a server takes at most to answer what is in flight, once it has stopped listening. */
const STOP_SECONDS = 25;

/** Where each server listens in a container of its own, as the templates say too. */
export const API_PORT = 8080;
const OPS_PORT = 9464;

/**
 * What a server reads of the operator's directory: the tenant's own folder, then single files elsewhere that its file
 * builds on or refers to. Relative to the directory, sorted; never another tenant's folder.
 */
export function pathsOf(config: TenantConfig, workspace: string): string[] {
  const { source, ...document } = config;
  const files = [...source.bases, ...filesOf(document).map(({ file }) => resolve(source.directory, file))];
  const elsewhere = files.filter((file) => relative(source.directory, file).startsWith(".."));
  return [source.directory, ...[...new Set(elsewhere)].toSorted()].map((path) => relative(workspace, path));
}

/** How many standbys each change waits for in the database of a target; undefined where that is not rendered. */
export const SYNCHRONOUS_STANDBYS: Readonly<Record<Target, number | undefined>> = {
  systemd: undefined,
  compose: 0,
  kubernetes: 1,
  // Patroni's `synchronous_node_count`, unless it is stated.
  patroni: 1,
};

/** What the tenant file states, else enough for a load balancer to notice. */
export function drainSecondsOf({ server, source }: TenantConfig): number {
  return source.states(["server", "drainSeconds"]) ? server.drainSeconds : DRAIN_SECONDS;
}

/** How long whatever stops a server waits before it kills it. */
export function graceSecondsOf(config: TenantConfig): number {
  return drainSecondsOf(config) + STOP_SECONDS;
}

/** A server counts on half of what its control group has. */
export function memoryLimitMb({ server }: TenantConfig): number {
  return 2 * server.memoryMb;
}

/** The environment variables that a tenant file refers to, sorted. */
export interface Variables {
  /** What a server needs. */
  server: string[];
  /** What only the database's owner needs: apply, migrations, backups and restores. */
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

/** The database of a tenant that has left the embedded one. */
export function externalDatabase({ tenant }: TenantConfig) {
  return { url: { env: `${environmentPrefix(tenant)}_DATABASE_URL` } };
}

/** The variables of a server whose database is not the embedded one, whatever the file says of it yet. */
export function externalVariablesOf(config: TenantConfig): Variables {
  const variables = variablesOf(config);
  if (config.database !== "embedded") return variables;
  const { env } = externalDatabase(config).url;
  return { ...variables, server: [...new Set([...variables.server, env])].toSorted() };
}

/** Of one server, and of the commands beside it. */
const CONNECTIONS_OF_SERVER = 16;
const SERVERS_OF_TENANT = 3;
const CONNECTIONS_BESIDE = 50;

/** `max_connections` of a database server that holds these tenants, with a server more each while a rollout is under way. */
export function maxConnections(tenants: Deployment["tenants"]): number {
  return CONNECTIONS_BESIDE + tenants.length * SERVERS_OF_TENANT * CONNECTIONS_OF_SERVER;
}

/** The login of a tenant's servers in a database that the rendered files set up; as in the embedded one. */
export const serverLoginOf = ({ tenant }: TenantConfig) => `pmctl-server-${tenant}`;

/** What `serve` is told in a container: every address of it, and ports of its own. */
export function containerArguments(config: TenantConfig): string[] {
  return [
    ...["serve", config.tenant, "--host", "0.0.0.0", "--port", String(API_PORT)],
    ...["--ops-host", "0.0.0.0", "--ops-port", String(OPS_PORT)],
    ...["--drain-seconds", String(drainSecondsOf(config)), "--no-input"],
  ];
}
