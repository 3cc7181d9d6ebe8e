import ipaddr from "ipaddr.js";
import { type Address, isInNetworks, type Network } from "../domain/access/networks.ts";
import { Fault } from "../domain/fault.ts";

const CACHED_ADDRESSES = 10_000;

interface Peer {
  address: Address | undefined;
  bucket: string;
  trusted: boolean;
}

/** The bucket in which a request counts: one IPv4 address, or the /64 that one IPv6 customer is given. */
export class ClientAddresses {
  readonly #trusted: Network[];
  /** Cached, because a few peers send most requests. */
  readonly #peers = new Map<string, Peer>();

  /**
   * @param trustProxy networks in CIDR notation whose `X-Forwarded-For` is trusted
   * @throws Fault CONFIG_INVALID for anything else
   */
  constructor(trustProxy: readonly string[]) {
    this.#trusted = trustProxy.map(parseNetwork);
  }

  /** The bucket of a request from `peer` with this `X-Forwarded-For`. */
  bucketOf(peer: string | undefined, forwardedFor: string | undefined): string {
    const { bucket, trusted } = this.peer(peer ?? "");
    const forwarded = trusted ? this.#forwarded(forwardedFor) : undefined;
    return forwarded ? bucketOfAddress(forwarded) : bucket;
  }

  /** The client's whole address; undefined if the peer has none. */
  addressOf(peer: string | undefined, forwardedFor: string | undefined): Address | undefined {
    const { address, trusted } = this.peer(peer ?? "");
    return (trusted ? this.#forwarded(forwardedFor) : undefined) ?? address;
  }

  /** The client's scheme, if a trusted proxy states it: the first value, since each further proxy appends its own. */
  schemeOf(peer: string | undefined, forwardedProto: string | string[] | undefined): string | undefined {
    if (!this.peer(peer ?? "").trusted) return undefined;
    return String(forwardedProto ?? "")
      .split(",", 1)[0]
      ?.trim()
      .toLowerCase();
  }

  /** The other end of a connection: a client, or one of our proxies. */
  peer(text: string): Peer {
    const known = this.#peers.get(text);
    if (known) return known;
    const address = parseAddress(text);
    const peer = address
      ? { address, bucket: bucketOfAddress(address), trusted: this.#isTrusted(address) }
      : { address, bucket: "unknown", trusted: false };
    if (this.#peers.size >= CACHED_ADDRESSES) this.#peers.clear();
    this.#peers.set(text, peer);
    return peer;
  }

  /**
   * The rightmost address that is not a trusted proxy. The client wrote everything to the left of it, and could
   * otherwise choose a new address for each request. Undefined if an entry on the way is not an address.
   */
  #forwarded(header: string | undefined): Address | undefined {
    if (header === undefined) return undefined;
    let client: Address | undefined;
    for (let end = header.length; end >= 0; ) {
      const start = header.lastIndexOf(",", end - 1) + 1;
      client = parseAddress(header.slice(start, end).trim());
      if (!client) return undefined;
      if (!this.#isTrusted(client)) break;
      end = start - 1;
    }
    return client;
  }

  #isTrusted(address: Address): boolean {
    return isInNetworks(address, this.#trusted);
  }
}

/** Accepts common notations only: ipaddr.js would also read "010.1" and "1" as IPv4 addresses. */
function parseAddress(text: string): Address | undefined {
  const usual = text.includes(":") ? ipaddr.IPv6.isValid(text) : ipaddr.IPv4.isValidFourPartDecimal(text);
  return usual ? ipaddr.process(text) : undefined;
}

function parseNetwork(cidr: string): Network {
  if (!ipaddr.isValidCIDR(cidr))
    throw new Fault("CONFIG_INVALID", `server.trustProxy: ${cidr} is not a network such as 10.0.0.0/8`);
  return ipaddr.parseCIDR(cidr);
}

function bucketOfAddress(address: Address): string {
  if (address.kind() === "ipv4") return address.toString();
  const [a = 0, b = 0, c = 0, d = 0] = (address as ipaddr.IPv6).parts;
  return `${[a, b, c, d].map((part) => part.toString(16)).join(":")}::/64`;
}
