import type { ConnectionLimits } from "../../domain/access/connection-limits.ts";
import type { ClientAddresses } from "../client-address.ts";
import type { OnRefused } from "./connection-refusals.ts";
import { ConnectionTable } from "./connection-table.ts";
import type { StreamLimits } from "./stream-seats.ts";

/** By whose limits connections are counted, and who is told of those that are refused. */
export interface ConnectionTerms {
  limits: Omit<ConnectionLimits, keyof StreamLimits>;
  addresses: ClientAddresses;
  onRefused: OnRefused;
}

/** Connections that are counted together: those of a listener, or those of one of its tenants. */
export class ConnectionGroup<Owner extends { readonly place: { readonly address: string } }> {
  readonly table = new ConnectionTable<Owner>();
  readonly terms: ConnectionTerms;

  constructor(terms: ConnectionTerms) {
    this.terms = terms;
  }

  /**
   * Makes room for one more connection.
   * @param end ends a connection of the group that is idle
   * @returns the bucket that connections from this address are counted in; undefined when the group takes none
   */
  roomFor(remoteAddress: string, end: (idle: Owner) => void): string | undefined {
    const { limits, addresses, onRefused } = this.terms;
    const { bucket, trusted } = addresses.peer(remoteAddress);
    if (!trusted && this.table.countOf(bucket) >= limits.connectionsPerAddress) {
      onRefused("address", bucket);
      return undefined;
    }
    if (this.table.size < limits.connections) return bucket;
    const idle = this.table.longestIdleOfMost();
    onRefused("total", idle?.place.address ?? bucket);
    if (!idle) return undefined;
    end(idle);
    return bucket;
  }
}
