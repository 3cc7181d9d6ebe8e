import ipaddr from "ipaddr.js";
import type { TenantConfig } from "../../config/tenant-config.ts";
import { CONTAINER_PORTS } from "./deployment.ts";
import { DATABASE } from "./kubernetes-database.ts";
import { metadataOf, type Names } from "./kubernetes-names.ts";

const POSTGRES_PORT = 5432;
const DNS_PORT = 53;

/** Ports that pmctl's own requests go to. */
const WEB_PORTS = [80, 443];
/** What is no public address, and so no receiver of a webhook and no source of prices. */
const PRIVATE = ["10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16"];
const PRIVATE_V6 = ["::1/128", "fc00::/7", "fe80::/10"];

/** Anyone may ask the API, monitoring alone the operations listener; out go names, the database, and requests to the public. */
export function networkPolicy({ network }: TenantConfig, names: Names) {
  const web = ports("TCP", ...[...new Set([...WEB_PORTS, ...network.allowPorts])].toSorted((a, b) => a - b));
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: metadataOf(names),
    spec: {
      podSelector: { matchLabels: names.selector },
      policyTypes: ["Ingress", "Egress"],
      ingress: [
        { ports: ports("TCP", CONTAINER_PORTS.api) },
        {
          from: [{ namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "monitoring" } } }],
          ports: ports("TCP", CONTAINER_PORTS.ops),
        },
      ],
      egress: [
        {
          to: [{ namespaceSelector: {}, podSelector: { matchLabels: { "k8s-app": "kube-dns" } } }],
          ports: [...ports("UDP", DNS_PORT), ...ports("TCP", DNS_PORT)],
        },
        { to: [{ podSelector: { matchLabels: { "cnpg.io/cluster": DATABASE } } }], ports: ports("TCP", POSTGRES_PORT) },
        {
          to: [{ ipBlock: { cidr: "0.0.0.0/0", except: PRIVATE } }, { ipBlock: { cidr: "::/0", except: PRIVATE_V6 } }],
          ports: web,
        },
        // The file opens all ports of these.
        ...(network.allowPrivate.length === 0
          ? []
          : [{ to: network.allowPrivate.map((cidr) => ({ ipBlock: { cidr: withoutHostBits(cidr) } })) }]),
      ],
    },
  };
}

function ports(protocol: "TCP" | "UDP", ...numbers: readonly number[]) {
  return numbers.map((port) => ({ protocol, port }));
}

/** Kubernetes warns of a range whose address is not its first. */
function withoutHostBits(cidr: string): string {
  const [address, bits] = ipaddr.parseCIDR(cidr);
  const first =
    address.kind() === "ipv4" ? ipaddr.IPv4.networkAddressFromCIDR(cidr) : ipaddr.IPv6.networkAddressFromCIDR(cidr);
  return `${first.toString()}/${bits}`;
}
