import { isIP } from "node:net";
import { Fault } from "../../domain/fault.ts";
import { type DatabaseNode, type Deployment, maxConnections, type RenderedFile } from "./deployment.ts";
import { haproxyFile } from "./haproxy.ts";
import { at, listenHost, PATRONI_PORT, POSTGRES_PORT, rangeOf } from "./node-address.ts";
import { ARCHIVING, BIN_DIRECTORY, DATA_DIRECTORY, pgbackrestFile, STANZA } from "./pgbackrest.ts";
import { yamlText } from "./yaml-text.ts";

const ETCD_CLIENT_PORT = 2379;
const ETCD_PEER_PORT = 2380;

/**
 * Patroni and etcd for each node, HAProxy's way to the primary, and backups.
 *
 * @throws Fault USAGE without nodes
 */
export function patroniFiles({ nodes, tenants }: Deployment): RenderedFile[] {
  if (nodes.length === 0) throw new Fault("USAGE", "patroni needs --nodes, such as a=10.0.0.1,b=10.0.0.2,c=10.0.0.3");
  return [
    ...nodes.flatMap((node) => [
      { path: `patroni-${node.name}.yaml`, text: yamlText(patroni(node, nodes, maxConnections(tenants))) },
      { path: `etcd-${node.name}.yaml`, text: yamlText(etcd(node, nodes)) },
    ]),
    haproxyFile(nodes),
    pgbackrestFile(),
  ];
}

/** Passwords come from PATRONI_SUPERUSER_PASSWORD, PATRONI_REPLICATION_PASSWORD and PATRONI_REWIND_PASSWORD. */
function patroni({ name, host }: DatabaseNode, nodes: readonly DatabaseNode[], connections: number) {
  const access = [
    "local all all peer",
    ...nodes.flatMap((node) =>
      ["replicator", "rewind"].map(
        (role) =>
          `host ${role === "replicator" ? "replication" : "postgres"} ${role} ${rangeOf(node.host)} scram-sha-256`,
      ),
    ),
    "host all all samenet scram-sha-256",
  ];
  return {
    scope: STANZA,
    name,
    restapi: { listen: at(listenHost(host), PATRONI_PORT), connect_address: at(host, PATRONI_PORT) },
    etcd3: { hosts: nodes.map((node) => at(node.host, ETCD_CLIENT_PORT)) },
    bootstrap: {
      dcs: {
        ttl: 30,
        loop_wait: 10,
        retry_timeout: 10,
        // The primary goes on while etcd is away, as long as it sees every other node.
        failsafe_mode: true,
        synchronous_mode: true,
        // Without a standby no change is acknowledged, instead of one that only the primary has.
        synchronous_mode_strict: true,
        // The standby has every acknowledged change, however much log beyond that the primary alone has. With Patroni's own
        // 1 MiB it promotes none that is further behind, and after the loss of the primary's machine nothing takes changes.
        maximum_lag_on_failover: 2 ** 30,
        postgresql: {
          use_pg_rewind: true,
          use_slots: true,
          parameters: {
            max_connections: connections,
            wal_level: "replica",
            synchronous_commit: "on",
            ...ARCHIVING,
          },
        },
      },
      initdb: [{ encoding: "UTF8" }, { locale: "C.UTF-8" }, "data-checksums"],
      // Patroni's own check of this file asks for it; the list below counts from the start on.
      pg_hba: access,
    },
    postgresql: {
      listen: isIP(host) ? `${host},127.0.0.1:${POSTGRES_PORT}` : `*:${POSTGRES_PORT}`,
      connect_address: at(host, POSTGRES_PORT),
      data_dir: DATA_DIRECTORY,
      bin_dir: BIN_DIRECTORY,
      authentication: {
        superuser: { username: "postgres" },
        replication: { username: "replicator" },
        rewind: { username: "rewind" },
      },
      parameters: { password_encryption: "scram-sha-256" },
      pg_hba: access,
      // From the repository, which costs the primary nothing; from the primary while there is no backup yet.
      create_replica_methods: ["pgbackrest", "basebackup"],
      pgbackrest: {
        command: `pgbackrest --stanza=${STANZA} --delta restore`,
        keep_data: true,
        no_params: true,
      },
      basebackup: { checkpoint: "fast" },
      recovery_conf: { restore_command: `pgbackrest --stanza=${STANZA} archive-get %f "%p"` },
    },
    // Resets a machine whose Patroni hangs, where the machine has a watchdog.
    watchdog: { mode: "automatic" },
  };
}

function etcd({ name, host }: DatabaseNode, nodes: readonly DatabaseNode[]) {
  const peer = (each: string) => `http://${at(each, ETCD_PEER_PORT)}`;
  const client = (each: string) => `http://${at(each, ETCD_CLIENT_PORT)}`;
  return {
    name,
    "data-dir": "/var/lib/etcd/pmctl",
    "initial-cluster-token": "pmctl",
    "initial-cluster-state": "new",
    "initial-cluster": nodes.map((node) => `${node.name}=${peer(node.host)}`).join(","),
    "initial-advertise-peer-urls": peer(host),
    "listen-peer-urls": peer(listenHost(host)),
    "advertise-client-urls": client(host),
    "listen-client-urls": [...new Set([client(listenHost(host)), client("127.0.0.1")])].join(","),
    // Patroni talks through it. etcd has it on by default, but with a configuration file.
    "enable-grpc-gateway": true,
    // Patroni writes every few seconds, and reads no history.
    "auto-compaction-mode": "periodic",
    "auto-compaction-retention": "1h",
  };
}
