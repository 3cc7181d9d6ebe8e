import ipaddr from "ipaddr.js";

export type Address = ipaddr.IPv4 | ipaddr.IPv6;
/** An address range: its first address and the length of its prefix. */
export type Network = readonly [Address, number];

/** Whether an address is in one of these networks. */
export function isInNetworks(address: Address, networks: readonly Network[]): boolean {
  return networks.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits));
}

/** The destinations that pmctl's own requests may reach: the section `network` of a tenant file. */
export interface OutgoingRules {
  /** Private ranges in CIDR notation that are allowed, also by http and at any port. */
  allowPrivate?: readonly string[] | undefined;
  /** Allowed ports in addition to 80 and 443. */
  allowPorts?: readonly number[] | undefined;
  /** Allowed hosts, in the form of {@link hostPattern}; if empty, every host. */
  allowHosts?: readonly string[] | undefined;
}

/**
 * An address range in CIDR notation, even for a single address; IPv4-mapped IPv6 becomes IPv4. Undefined for anything else,
 * including `10.1`: ipaddr.js reads that as 10.0.0.1 like old C libraries, but an operator who writes it has mistyped.
 */
export function normalRange(range: string): string | undefined {
  const [address = "", prefix, ...rest] = range.split("/");
  const isIpv4 = ipaddr.IPv4.isValidFourPartDecimal(address);
  if (rest.length > 0 || (!isIpv4 && !(address.includes(":") && ipaddr.IPv6.isValid(address)))) return undefined;
  const full = `${address}/${prefix ?? (isIpv4 ? 32 : 128)}`;
  if (!ipaddr.isValidCIDR(full)) return undefined;
  const [parsed, bits] = ipaddr.parseCIDR(full);
  const mapped = parsed instanceof ipaddr.IPv6 && parsed.isIPv4MappedAddress() && bits >= 96;
  return mapped ? `${parsed.toIPv4Address()}/${bits - 96}` : full;
}

/** Whether an address is in these CIDR ranges. An empty list allows any address; an unknown address is in no range. */
export function isFrom(address: Address | undefined, ranges: readonly string[]): boolean {
  if (ranges.length === 0) return true;
  return address !== undefined && isInNetworks(address, parseRanges(ranges));
}

/** Whether each narrow range is inside a wide range. An empty list means every address. */
export function coversRanges(wide: readonly string[], narrow: readonly string[]): boolean {
  if (wide.length === 0 || narrow.length === 0) return wide.length === 0;
  const outer = parseRanges(wide);
  return narrow.every((range) => {
    const [address, bits] = ipaddr.parseCIDR(range);
    const asWide = outer.filter(([, prefix]) => prefix <= bits);
    return isInNetworks(address, asWide);
  });
}

/** The networks of CIDR ranges. */
function parseRanges(ranges: readonly string[]): Network[] {
  return ranges.map((range) => ipaddr.parseCIDR(range));
}

/**
 * Why a file may not state a URL that pmctl will call; undefined if it may. If the tenant allows private ranges, a name
 * may resolve into them, so any port and http pass here; the addresses are checked when pmctl calls the URL.
 */
export function refusalOfAddress(url: URL, rules: OutgoingRules): string | undefined {
  if (!isListedHost(url.hostname, rules)) return "its host must be one of network.allowHosts";
  const { allowPrivate = [] } = rules;
  const address = literalOf(url.hostname);
  const mayBePrivate =
    address === undefined ? allowPrivate.length > 0 : isInNetworks(address, parseRanges(allowPrivate));
  if (mayBePrivate) return undefined;
  if (url.protocol !== "https:") return "must begin with https://; http:// is for hosts in network.allowPrivate";
  if (address !== undefined && !isPublic(address.toString()))
    return "its host is neither a public address nor in network.allowPrivate";
  return isListedPort(url, rules) ? undefined : "its port must be 80, 443 or one of network.allowPorts";
}

/** Whether an address is on the public internet. */
export function isPublic(text: string): boolean {
  if (!ipaddr.isValid(text)) return false;
  const address = ipaddr.process(text);
  if (address.range() !== "unicast") return false;
  // ipaddr.js also calls ::7f00:1 (a disguised IPv4 address) unicast; the public range is 2000::/3.
  return address.kind() === "ipv4" || ((address as ipaddr.IPv6).parts[0] ?? 0) >> 13 === 1;
}

/** Whether a port is allowed at public addresses. `port` has the form of a URL: empty for the protocol's default. */
export function isListedPort({ port }: { port: string }, { allowPorts = [] }: OutgoingRules): boolean {
  return port === "" || port === "80" || port === "443" || allowPorts.includes(Number(port));
}

/** Whether the tenant allows a host. A pattern's `*` stands for one label. */
export function isListedHost(hostname: string, { allowHosts = [] }: OutgoingRules): boolean {
  if (allowHosts.length === 0) return true;
  const host = withoutFinalDot(hostname);
  const anyLabel = host.replace(/^[^.]+/, "*");
  return allowHosts.some((pattern) => pattern === host || (pattern.startsWith("*.") && pattern === anyLabel));
}

/**
 * A host, or `*.` and a host, in the form of URLs: lower case, international names in Punycode, normalised addresses,
 * no final dot. Undefined for anything else.
 */
export function hostPattern(text: string): string | undefined {
  const [, star = "", name = ""] = /^(\*\.)?([^*/?#@\\\s]+)$/.exec(text) ?? [];
  const isBare = name !== "" && URL.canParse(`https://${name}/`) && !/:\d*$/.test(name.replace(/^\[.*\]$/, ""));
  if (!isBare) return undefined;
  const { hostname } = new URL(`https://${name}/`);
  const isAddress = literalOf(hostname) !== undefined;
  const host = withoutFinalDot(hostname);
  return (star !== "" && isAddress) || host === "" ? undefined : `${star}${host}`;
}

/** The address of a host that is an address; undefined for a name. */
function literalOf(hostname: string): Address | undefined {
  const text = hostname.replace(/^\[|\]$/g, "");
  return ipaddr.isValid(text) ? ipaddr.process(text) : undefined;
}

function withoutFinalDot(hostname: string): string {
  return hostname.replace(/\.$/, "");
}

/** Whether a host, as named in a URL or a listener, is this machine. */
export function isLoopback(host: string): boolean {
  return /^((.*\.)?localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/.test(host);
}
