import type { ConnectionLimits } from "../../domain/access/connection-limits.ts";

/** A tenant as all processes of a house know it. */
export interface Resident {
  tenant: string;
  hosts: string[];
  /** The host that commands ask under; undefined where it has none. */
  commandHost?: string;
  /** The worker that serves it. */
  worker: number;
}

/** What a worker has to know before it serves. */
export interface HouseTerms {
  kind: "terms";
  worker: number;
  directory: string;
  /** Of the port that all tenants share. */
  url: string;
  address: string;
  port: number;
  opsUrl: string;
  opsPort: number;
  residents: Resident[];
  /** The folder of the sockets on which workers take requests from each other. */
  sockets: string;
  /** The longest times that a tenant allows; what is shorter is a matter of its own. */
  seconds: Pick<ConnectionLimits, "headersSeconds" | "bodySeconds" | "idleSeconds" | "writeSeconds">;
  idleSeconds: number;
  /** Whether the port speaks TLS, with a certificate for each name. */
  https: boolean;
  /** The most connections of the worker to one database server. */
  connections: number;
  /** Tenants whose opening may have ended the process before: opened one after the other. */
  suspects: string[];
  /** Tenants that are not opened, since that ends the process. */
  apart: string[];
}

/** What the house says to a worker. A connection comes with its socket. */
export type ToWorker =
  | HouseTerms
  | { kind: "resident"; resident: Resident }
  | { kind: "connection"; head: string }
  | { kind: "drain" }
  | { kind: "ask"; id: number; question: Question };

/** What a worker says to the house. */
export type FromWorker =
  | { kind: "ready" }
  | { kind: "opening" | "opened"; tenant: string }
  | { kind: "answer"; id: number; answer: Answer };

export type Question =
  | { about: "life" }
  | { about: "tenants" }
  | { about: "readiness"; tenant: string }
  | { about: "metrics" };

export type Answer = TenantStatus[] | TenantReadiness | TenantMetrics[] | null;

/** How a tenant stands. */
export interface TenantStatus {
  tenant: string;
  state: "idle" | "open" | "failed";
  problem: string | null;
}

/** What `/readyz` tells of a tenant. */
export interface TenantReadiness {
  status: number;
  /** JSON. */
  body: string;
}

/** Metrics of a tenant, or of a worker's process. */
export interface TenantMetrics {
  label: "tenant" | "worker";
  value: string;
  text: string;
}
