import ipaddr from "ipaddr.js";

export type Address = ipaddr.IPv4 | ipaddr.IPv6;
/** An address range: its first address and the length of its prefix. */
export type Network = readonly [Address, number];

/** Whether an address lies in one of these networks. */
export function isInNetworks(address: Address, networks: readonly Network[]): boolean {
  return networks.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits));
}

/**
 * Whether an address that pmctl itself is to call may be stated: https anywhere, http for what may lie in the private
 * ranges that the tenant allows. A name may turn out to be private; its addresses are checked when it is called.
 *
 * @param allowPrivate CIDR ranges, `network.allowPrivate`
 */
export function mayBeCalled(url: URL, allowPrivate: readonly string[]): boolean {
  if (url.protocol === "https:") return true;
  const address = url.hostname.replace(/^\[|\]$/g, "");
  const isName = !address.includes(":") && !/^[\d.]+$/.test(address);
  if (isName) return allowPrivate.length > 0;
  const networks = allowPrivate.map((range) => ipaddr.parseCIDR(range));
  return ipaddr.isValid(address) && isInNetworks(ipaddr.process(address), networks);
}

/** Whether a host, as a URL or a listener names it, is this machine. */
export function isLoopback(host: string): boolean {
  return /^((.*\.)?localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/.test(host);
}
