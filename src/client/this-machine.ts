import { networkInterfaces } from "node:os";
import ipaddr from "ipaddr.js";

/**
 * Whether a host is this machine, as a URL or a socket states it: `localhost`, or an address of the loopback or of an
 * interface here. Other names are resolved elsewhere, and may resolve to another address the next time.
 */
export function isThisMachine(host: string): boolean {
  if (host === "localhost") return true;
  const address = plain(host);
  if (address === undefined) return false;
  if (/^(loopback|unspecified)$/.test(address.range())) return true;
  const own = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  return own.some((one) => plain(one.address)?.toString() === address.toString());
}

function plain(host: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  const address = host.replace(/^\[|\]$/g, "").replace(/%.*$/, "");
  return ipaddr.IPv4.isValidFourPartDecimal(address) || ipaddr.IPv6.isValid(address)
    ? ipaddr.process(address)
    : undefined;
}
