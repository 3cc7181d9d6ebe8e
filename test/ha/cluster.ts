import { chmod, chown, copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { execa } from "execa";
import { type Account, serverAccount } from "../../src/postgres/embedded/account.ts";
import { type Network, openNetwork, type Site } from "./network.ts";
import { DatabaseNode, SUPERUSER, SYNCHRONOUS } from "./node.ts";
import { Program, until } from "./processes.ts";
import type { Programs } from "./programs.ts";

/** What a node's files may take, where it has a file system of its own. */
const NODE_MB = 800;
const START_WAIT_MS = 90_000;
const WHOLE_WAIT_MS = 120_000;

/** Three members of etcd, a primary and a standby of the database, and HAProxy before them. */
export interface Cluster {
  nodes: readonly [DatabaseNode, DatabaseNode];
  etcd: readonly EtcdMember[];
  network: Network;
  /** Whether each node's files lie in a file system of their own, which can be filled. */
  canFill: boolean;
  /** For the tenant file, both nodes by name. */
  urlOfHosts(database: string): string;
  /** For the tenant file, the address of HAProxy. */
  urlOfBalancer(database: string): string;
  /** The node that takes changes, of two that both would the one of the later timeline; undefined when there is none. */
  primary(): Promise<DatabaseNode | undefined>;
  /** Resolves with primary and standby once every commit waits for a standby that is there. */
  whole(): Promise<Whole>;
  /** The node that was promoted since that timeline. It rejects while there is none. */
  promotedSince(timeline: number): Promise<DatabaseNode>;
  /** Copies what each program has logged so far, by name: to be read once the cluster and its files are gone. */
  keepLogs(into: string): Promise<void>;
  close(): Promise<void>;
}

/** Who is what while nothing is missing. */
export interface Whole {
  primary: DatabaseNode;
  standby: DatabaseNode;
  timeline: number;
}

export interface EtcdMember extends Program {
  readonly clientUrl: string;
}

class Member extends Program implements EtcdMember {
  readonly clientUrl: string;

  constructor(clientUrl: string, ...program: ConstructorParameters<typeof Program>) {
    super(...program);
    this.clientUrl = clientUrl;
  }
}

/** Starts a cluster in a directory of its own under /tmp. */
export async function openCluster(programs: Programs): Promise<Cluster> {
  const directory = await mkdtemp("/tmp/pmctl-ha-");
  await chmod(directory, 0o755);
  const account = await serverAccount(join(directory, "none"));
  const network = await openNetwork();
  const ports = await freePorts(11);
  const [balancer = 0, portA = 0, portB = 0, restA = 0, restB = 0, ...etcdPorts] = ports;
  const clientPorts = etcdPorts.slice(0, 3);
  const etcd = await Promise.all(
    clientPorts.map((port, index) =>
      openMember(index, { programs, account, directory, address: network.etcd, port, peers: etcdPorts.slice(3) }),
    ),
  );
  const mounts: string[] = [];
  const etcdPlaces = clientPorts.map((port) => `${network.etcd}:${port}`);
  const openNode = async (name: string, site: Site, port: number, restPort: number) => {
    const own = await ownDirectory(directory, name, account);
    if (await mountOn(own, account)) mounts.push(own);
    return DatabaseNode.create({ name, programs, account, directory: own, site, port, restPort, etcd: etcdPlaces });
  };
  const nodes = [
    await openNode("a", network.nodes[0], portA, restA),
    await openNode("b", network.nodes[1], portB, restB),
  ] as const;
  const proxy = await openBalancer({ programs, account, directory, port: balancer, nodes });
  const url = (hosts: string, database: string) =>
    `postgres://${SUPERUSER.username}:${SUPERUSER.password}@${hosts}/${database}`;
  const cluster: Cluster = {
    nodes,
    etcd,
    network,
    canFill: mounts.length === nodes.length,
    urlOfHosts: (database) =>
      `${url(nodes.map(({ place }) => place).join(","), database)}?target_session_attrs=read-write`,
    urlOfBalancer: (database) => url(`127.0.0.1:${balancer}`, database),
    primary: () => primaryAmong(nodes),
    whole: () => until("a primary whose standby streams", () => wholeness(cluster), WHOLE_WAIT_MS),
    // A node that is frozen or cut off answers late or not at all, and the other one counts meanwhile.
    promotedSince: (timeline) =>
      Promise.any(
        nodes.map(async (node) => {
          if (((await node.timeline()) ?? 0) <= timeline) throw new Error(`${node.name} was not promoted`);
          return node;
        }),
      ),
    keepLogs: async (into) => {
      const logs = ["a/patroni.log", "b/patroni.log", "haproxy/log", ...etcd.map((_, index) => `etcd${index}/log`)];
      for (const log of logs) await copyFile(join(directory, log), join(into, log.replace(/\W/, "-")));
    },
    close: async () => {
      for (const node of nodes) await node.pause("SIGCONT");
      await Promise.all([proxy, ...etcd].map((program) => program.kill()));
      await Promise.all(nodes.map((node) => node.end()));
      for (const mount of mounts) await execa("umount", ["--lazy", mount]);
      await network.close();
      await rm(directory, { recursive: true, force: true, maxRetries: 5 });
    },
  };
  try {
    for (const member of etcd) member.start();
    proxy.start();
    nodes[0].patroni.start();
    await until("the first primary", async () => (await cluster.primary()) && true, START_WAIT_MS);
    nodes[1].patroni.start();
    await cluster.whole();
    return cluster;
  } catch (error) {
    await cluster.close();
    throw error;
  }
}

/** Ports that nothing listens on; all are held while the last is looked for, so that no two are one. */
async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer());
  const ports = await Promise.all(
    servers.map(
      (server) =>
        new Promise<number>((resolve, reject) => {
          server.once("error", reject);
          server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
        }),
    ),
  );
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

async function ownDirectory(directory: string, name: string, account: Account): Promise<string> {
  const own = join(directory, name);
  await mkdir(own, { mode: 0o700 });
  if (!account.isCaller) await chown(own, account.uid, account.gid);
  return own;
}

/** Gives a directory a small file system of its own. False where the caller may not. */
async function mountOn(own: string, { isCaller, uid, gid }: Account): Promise<boolean> {
  if (isCaller) return false;
  const options = `size=${NODE_MB}m,mode=700,uid=${uid},gid=${gid}`;
  const { exitCode } = await execa("mount", ["-t", "tmpfs", "-o", options, "pmctl-ha", own], { reject: false });
  return exitCode === 0;
}

interface MemberOptions {
  programs: Programs;
  account: Account;
  directory: string;
  address: string;
  port: number;
  peers: readonly number[];
}

async function openMember(
  index: number,
  { programs, account, directory, address, port, peers }: MemberOptions,
): Promise<Member> {
  const name = `etcd${index}`;
  const own = await ownDirectory(directory, name, account);
  const [client, peer] = [`http://${address}:${port}`, `http://${address}:${peers[index]}`];
  const all = peers.map((each, place) => `etcd${place}=http://${address}:${each}`).join(",");
  const flags = {
    name,
    "data-dir": join(own, "data"),
    "listen-client-urls": client,
    "advertise-client-urls": client,
    "listen-peer-urls": peer,
    "initial-advertise-peer-urls": peer,
    "initial-cluster": all,
    // The processors of a developer's machine are busy: an election must not come of that.
    "heartbeat-interval": "200",
    "election-timeout": "2000",
    "log-level": "warn",
    // See Patroni's configuration.
    "enable-v2": "true",
  };
  const args = Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`);
  return new Member(client, [programs.etcd, ...args], account, join(own, "log"));
}

interface BalancerOptions extends Omit<MemberOptions, "address" | "peers"> {
  nodes: readonly DatabaseNode[];
}

async function openBalancer({ programs, account, directory, port, nodes }: BalancerOptions): Promise<Program> {
  const own = await ownDirectory(directory, "haproxy", account);
  const file = join(own, "haproxy.cfg");
  const servers = nodes.map(
    ({ name, place, restUrl }) => `  server ${name} ${place} check port ${new URL(restUrl).port}`,
  );
  await writeFile(
    file,
    `defaults
  mode tcp
  timeout connect 2s
  timeout check 1s
  timeout client 1h
  timeout server 1h
listen primary
  bind 127.0.0.1:${port}
  option httpchk GET /primary
  http-check expect status 200
  default-server inter 500ms fall 3 rise 1 on-marked-down shutdown-sessions
${servers.join("\n")}
`,
  );
  return new Program([programs.haproxy, "-db", "-f", file], account, join(own, "log"));
}

async function primaryAmong(nodes: readonly DatabaseNode[]): Promise<DatabaseNode | undefined> {
  const answers = await Promise.all(
    nodes.map(async (node) => {
      const timeline = await node.timeline().catch(() => undefined);
      return timeline === undefined ? [] : [{ node, timeline }];
    }),
  );
  const [latest] = answers.flat().toSorted((a, b) => b.timeline - a.timeline);
  return latest?.node;
}

async function wholeness({ nodes }: Cluster): Promise<Whole | undefined> {
  const primary = await primaryAmong(nodes);
  const standby = nodes.find((node) => node !== primary);
  if (!primary || !standby || nodes.some(({ patroni }) => patroni.pid === undefined)) return undefined;
  const [synchronous] = await primary.ask(SYNCHRONOUS);
  const [follows] = await standby.ask("select 1 from pg_stat_wal_receiver where status = 'streaming'");
  const leader = await fetch(`${primary.restUrl}/primary`, { signal: AbortSignal.timeout(1000) });
  const sync = await fetch(`${standby.restUrl}/synchronous`, { signal: AbortSignal.timeout(1000) });
  await Promise.all([leader.text(), sync.text()]);
  const timeline = await primary.timeline();
  return synchronous && follows && leader.ok && sync.ok && timeline !== undefined
    ? { primary, standby, timeline }
    : undefined;
}
