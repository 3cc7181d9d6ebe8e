import ipaddr from "ipaddr.js";

/** Whether an address lies in one of these CIDR ranges. False for a text that is no address. */
export function isInRanges(address: string, ranges: readonly string[]): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  return ranges.some((range) => {
    const [network, bits] = ipaddr.parseCIDR(range);
    return network.kind() === parsed.kind() && parsed.match(network, bits);
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
  return isName ? allowPrivate.length > 0 : isInRanges(address, allowPrivate);
}
