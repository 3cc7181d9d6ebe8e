import { openWorkspace, pickTenant } from "../../config/workspace.ts";
import { Fault } from "../../domain/fault.ts";
import { type Cluster, embeddedCluster } from "../../postgres/embedded/cluster.ts";

import type { OperatorTenant } from "../tenant/operator-tenant.ts";

export type { Cluster, ClusterStatus } from "../../postgres/embedded/cluster.ts";

/** The database server of the operator's directory, and the database in its shown address. */
export interface TenantCluster {
  cluster: Cluster;
  database: string;
}

/** The cluster belongs to the directory and needs no tenant. The database is the line's tenant's, if it means one. */
export function openTenantCluster(named: string | undefined): TenantCluster {
  const workspace = openWorkspace();
  const cluster = embeddedCluster(workspace.directory);
  try {
    return { cluster, database: pickTenant(workspace, named) };
  } catch (error) {
    if (error instanceof Fault && error.code === "USAGE") return { cluster, database: "postgres" };
    throw error;
  }
}

/** Whether a tenant's database can be asked without starting it; an external one is not ours to start. */
export async function databaseRuns({
  directory,
  config,
}: Pick<OperatorTenant, "directory" | "config">): Promise<boolean> {
  return config.database !== "embedded" || (await embeddedCluster(directory).status()).running;
}
