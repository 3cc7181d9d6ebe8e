import type { ConnectionLimits } from "../../domain/access/connection-limits.ts";
import type { ClientAddresses } from "../client-address.ts";
import type { OnRefused } from "./connection-refusals.ts";
import type { StreamLimits } from "./stream-seats.ts";

/** The limits of a group of connections, and who is notified of refused connections. */
export interface ConnectionTerms {
  limits: Omit<ConnectionLimits, keyof StreamLimits>;
  addresses: ClientAddresses;
  onRefused: OnRefused;
}

/** Connections that are counted together: those of a listener or of one of its tenants. */
export class ConnectionGroup<Member extends { readonly address: string }> {
  readonly terms: ConnectionTerms;
  /** The number of connections of each address, and its connections without a request, longest idle first. */
  readonly #byAddress = new Map<string, { count: number; idle: Set<Member> }>();
  size = 0;

  constructor(terms: ConnectionTerms) {
    this.terms = terms;
  }

  /**
   * Makes room for one more connection.
   * @param end ends a connection of the group that is idle
   * @returns the bucket in which connections from this address count; undefined if the group accepts none
   */
  roomFor(remoteAddress: string, end: (idle: Member) => void): string | undefined {
    const { limits, addresses, onRefused } = this.terms;
    const { bucket, trusted } = addresses.peer(remoteAddress);
    if (!trusted && (this.#byAddress.get(bucket)?.count ?? 0) >= limits.connectionsPerAddress) {
      onRefused("address", bucket);
      return undefined;
    }
    if (this.size < limits.connections) return bucket;
    const idle = this.longestIdleOfMost();
    onRefused("total", idle?.address ?? bucket);
    if (!idle) return undefined;
    end(idle);
    return bucket;
  }

  /** Adds a connection. It is idle at first. */
  add(member: Member): void {
    const { address } = member;
    const own = this.#byAddress.get(address) ?? { count: 0, idle: new Set() };
    this.#byAddress.set(address, own);
    own.count += 1;
    own.idle.add(member);
    this.size += 1;
  }

  remove(member: Member): void {
    const own = this.#byAddress.get(member.address);
    if (!own) return;
    own.idle.delete(member);
    own.count -= 1;
    if (own.count === 0) this.#byAddress.delete(member.address);
    this.size -= 1;
  }

  /** Marks a connection as idle, last among the idle connections of its address. */
  setIdle(member: Member): void {
    this.#byAddress.get(member.address)?.idle.add(member);
  }

  setBusy(member: Member): void {
    this.#byAddress.get(member.address)?.idle.delete(member);
  }

  /** The longest idle connection of the address with the most connections; undefined if all of those are busy. */
  longestIdleOfMost(): Member | undefined {
    let most = 0;
    let longest: Member | undefined;
    for (const { count, idle } of this.#byAddress.values()) {
      if (count < most || (count === most && longest)) continue;
      most = count;
      [longest] = idle;
    }
    return longest;
  }
}
