import { execa } from "execa";

/** Where programs of the cluster are reached, and the network namespace that has the address, if that is one of its own. */
export interface Site {
  address: string;
  namespace?: string;
}

/** What lies between the nodes, etcd and everything else. */
export interface Network {
  /** The first node's and the second's. */
  nodes: readonly [Site, Site];
  /** Of etcd alone, so that a node can be parted from it and not from the servers. */
  etcd: string;
  /** Whether it can be cut. */
  canCut: boolean;
  /** Nothing passes between the node and those addresses, and neither is told, until the answer is called. */
  part(node: Site, from: readonly string[]): Promise<() => Promise<void>>;
  /** Nothing passes between the node and anything else, as if its cable were out, until the answer is called. */
  cutOff(node: Site): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

const LOOPBACK = "127.0.0.1";
/** Set aside for tests of networks (RFC 2544), so it is no part of this machine's own. */
const SUBNET = "198.18.15";

/** A namespace for each node and a bridge between them; loopback for all, which cannot be cut, where the caller may not make those. */
export async function openNetwork(): Promise<Network> {
  const bridge = `ha${process.pid}`;
  const nodes = [
    { address: `${SUBNET}.2`, namespace: `${bridge}a` },
    { address: `${SUBNET}.3`, namespace: `${bridge}b` },
  ] as const;
  const etcd = `${SUBNET}.9`;
  const close = async () => {
    for (const { namespace } of nodes) await execa("ip", ["netns", "del", namespace], { reject: false });
    await execa("ip", ["link", "del", bridge], { reject: false });
  };
  try {
    await ip("link", "add", bridge, "type", "bridge");
    await ip("link", "set", bridge, "up");
    for (const address of [`${SUBNET}.1/24`, `${etcd}/24`]) await ip("addr", "add", address, "dev", bridge);
    for (const { address, namespace } of nodes) {
      await ip("netns", "add", namespace);
      await ip("link", "add", namespace, "type", "veth", "peer", "name", "eth0", "netns", namespace);
      await ip("link", "set", namespace, "master", bridge, "up");
      await ip("-n", namespace, "addr", "add", `${address}/24`, "dev", "eth0");
      for (const link of ["lo", "eth0"]) await ip("-n", namespace, "link", "set", link, "up");
    }
  } catch {
    await close();
    const cut = () => Promise.reject(new Error("Loopback cannot be cut"));
    const site = { address: LOOPBACK };
    return { nodes: [site, site], etcd: LOOPBACK, canCut: false, part: cut, cutOff: cut, close: async () => undefined };
  }
  return {
    nodes,
    etcd,
    canCut: true,
    part: async ({ namespace = "" }, from) => {
      const each = (change: string) =>
        Promise.all(from.map((address) => ip("-n", namespace, "route", change, "blackhole", `${address}/32`)));
      await each("add");
      return async () => void (await each("del"));
    },
    cutOff: async ({ namespace = "" }) => {
      await ip("link", "set", namespace, "down");
      return async () => void (await ip("link", "set", namespace, "up"));
    },
    close,
  };
}

async function ip(...args: string[]): Promise<void> {
  await execa("ip", args);
}
