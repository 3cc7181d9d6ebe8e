import ipaddr from "ipaddr.js";

export type Address = ipaddr.IPv4 | ipaddr.IPv6;
/** An address range: its first address and the length of its prefix. */
export type Network = readonly [Address, number];

/** Whether an address lies in one of these networks. */
export function isInNetworks(address: Address, networks: readonly Network[]): boolean {
  return networks.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits));
}

/**
 * An address range as CIDR, one address as the range of itself; IPv4-mapped IPv6 is IPv4. Undefined for anything else.
 * ipaddr.js reads `10.1` as 10.0.0.1, as old C libraries do; an operator who writes that has mistyped.
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

/** Whether an address may come from these CIDR ranges; no range is anywhere, and an unknown address lies in none. */
export function isFrom(address: Address | undefined, ranges: readonly string[]): boolean {
  if (ranges.length === 0) return true;
  return (
    address !== undefined &&
    isInNetworks(
      address,
      ranges.map((range) => ipaddr.parseCIDR(range)),
    )
  );
}

/** Whether every address of these CIDR ranges lies in those; no range is anywhere. Ranges are not joined to larger ones. */
export function coversRanges(wide: readonly string[], narrow: readonly string[]): boolean {
  if (wide.length === 0 || narrow.length === 0) return wide.length === 0;
  const outer = wide.map((range) => ipaddr.parseCIDR(range));
  return narrow.every((range) => {
    const [address, bits] = ipaddr.parseCIDR(range);
    return isInNetworks(
      address,
      outer.filter(([, prefix]) => prefix <= bits),
    );
  });
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
