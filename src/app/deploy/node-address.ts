import { isIP, isIPv6 } from "node:net";

/** Ports of a machine of the database cluster. */
export const POSTGRES_PORT = 5432;
export const PATRONI_PORT = 8008;

/** A host with a port. */
export function at(host: string, port: number): string {
  return `${isIPv6(host) ? `[${host}]` : host}:${port}`;
}

/** etcd and Patroni listen on addresses only: a machine that is known by its name listens on all of its own. */
export function listenHost(host: string): string {
  return isIP(host) ? host : "0.0.0.0";
}

/** One machine, as pg_hba.conf writes it. */
export function rangeOf(host: string): string {
  if (!isIP(host)) return host;
  return `${host}/${isIPv6(host) ? 128 : 32}`;
}
