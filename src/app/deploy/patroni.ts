import { isIP, isIPv6 } from "node:net";
import { Fault } from "../../domain/fault.ts";
import { type DatabaseNode, type Deployment, maxConnections, type RenderedFile } from "./deployment.ts";
import { fillTemplate, yaml, yamlLines } from "./template.ts";

/** Ports of a machine of the database cluster. */
const PORTS = { postgres: 5432, patroni: 8008, etcdClient: 2379, etcdPeer: 2380 } as const;

/**
 * Renders Patroni and etcd for each node, HAProxy's way to the primary, and backups.
 *
 * @throws Fault USAGE without nodes
 */
export function patroniFiles({ nodes, tenants }: Deployment): RenderedFile[] {
  if (nodes.length === 0) throw new Fault("USAGE", "patroni needs --nodes, such as a=10.0.0.1,b=10.0.0.2,c=10.0.0.3");
  const servers = nodes.map(
    ({ name, host }) => `server ${name} ${at(host, PORTS.postgres)} check port ${PORTS.patroni}`,
  );
  return [
    ...nodes.flatMap((node) => [
      { path: `patroni-${node.name}.yaml`, text: patroni(node, nodes, maxConnections(tenants)) },
      { path: `etcd-${node.name}.yaml`, text: etcd(node, nodes) },
    ]),
    { path: "haproxy.cfg", text: fillTemplate("patroni/haproxy.cfg", { servers: servers.join("\n") }) },
    { path: "pgbackrest.conf", text: fillTemplate("pgbackrest.conf", {}) },
  ];
}

function patroni({ name, host }: DatabaseNode, nodes: readonly DatabaseNode[], connections: number): string {
  const { postgres, patroni: rest, etcdClient } = PORTS;
  const access = [
    "local all all peer",
    ...nodes.flatMap((node) => [
      `host replication replicator ${rangeOf(node.host)} scram-sha-256`,
      `host postgres rewind ${rangeOf(node.host)} scram-sha-256`,
    ]),
    "host all all samenet scram-sha-256",
  ];
  return fillTemplate("patroni/patroni.yaml", {
    name: yaml(name),
    restListen: yaml(at(listenHost(host), rest)),
    restAddress: yaml(at(host, rest)),
    etcdHosts: yamlLines(nodes.map((node) => at(node.host, etcdClient))),
    connections,
    access: yamlLines(access),
    listen: yaml(isIP(host) ? `${host},127.0.0.1:${postgres}` : `*:${postgres}`),
    address: yaml(at(host, postgres)),
  });
}

function etcd({ name, host }: DatabaseNode, nodes: readonly DatabaseNode[]): string {
  const peer = (each: string) => `http://${at(each, PORTS.etcdPeer)}`;
  const client = (each: string) => `http://${at(each, PORTS.etcdClient)}`;
  return fillTemplate("patroni/etcd.yaml", {
    name: yaml(name),
    cluster: yaml(nodes.map((node) => `${node.name}=${peer(node.host)}`).join(",")),
    peerUrl: yaml(peer(host)),
    listenPeerUrl: yaml(peer(listenHost(host))),
    clientUrl: yaml(client(host)),
    listenClientUrls: yaml([...new Set([client(listenHost(host)), client("127.0.0.1")])].join(",")),
  });
}

/** A host with a port. */
function at(host: string, port: number): string {
  return `${isIPv6(host) ? `[${host}]` : host}:${port}`;
}

/** etcd and Patroni listen on addresses only, so a machine that is known by name listens on all its addresses. */
function listenHost(host: string): string {
  return isIP(host) ? host : "0.0.0.0";
}

/** The address of one machine in the form of pg_hba.conf. */
function rangeOf(host: string): string {
  if (!isIP(host)) return host;
  return `${host}/${isIPv6(host) ? 128 : 32}`;
}
