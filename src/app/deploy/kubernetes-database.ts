import { type Deployment, maxConnections, SYNCHRONOUS_STANDBYS, serverLoginOf } from "./deployment.ts";

/** The cluster's name: its primary is found at `database-rw`, and its owner's password in the Secret `database-app`. */
export const DATABASE = "database";
/** The login that owns the tenants' databases, which `apply` creates. */
const OWNER = "pmctl";

/** Three PostgreSQL servers, of which each change is on two before it is acknowledged. */
export function databaseResources(tenants: Deployment["tenants"]): object[] {
  const withLogin = tenants.filter(({ config: { database } }) => database !== "embedded" && database.ownerUrl);
  return [
    {
      apiVersion: "postgresql.cnpg.io/v1",
      kind: "Cluster",
      metadata: { name: DATABASE, labels: { "app.kubernetes.io/part-of": "pmctl" } },
      spec: {
        instances: 3,
        imageName: "ghcr.io/cloudnative-pg/postgresql:18",
        enablePDB: true,
        postgresql: {
          synchronous: {
            method: "any",
            number: SYNCHRONOUS_STANDBYS.kubernetes,
            // The wait stays when no replica is there.
            dataDurability: "required",
            // Only a replica that has every acknowledged change is promoted.
            failoverQuorum: true,
          },
          parameters: { max_connections: String(maxConnections(tenants)) },
        },
        bootstrap: { initdb: { database: OWNER, owner: OWNER, dataChecksums: true } },
        managed: {
          roles: [
            // To see the standbys, servers ask by a function with its owner's rights.
            { name: OWNER, ensure: "present", login: true, createdb: true, inRoles: ["pg_read_all_stats"] },
            ...withLogin.map(({ config }) => ({
              name: serverLoginOf(config),
              ensure: "present",
              login: true,
              passwordSecret: { name: `${DATABASE}-server-${config.tenant}` },
            })),
          ],
        },
        affinity: {
          enablePodAntiAffinity: true,
          podAntiAffinityType: "required",
          topologyKey: "kubernetes.io/hostname",
        },
        storage: { size: "20Gi" },
        walStorage: { size: "10Gi" },
        resources: { requests: { cpu: "500m", memory: "1Gi" }, limits: { memory: "2Gi" } },
      },
    },
  ];
}
