import { setTimeout as delay } from "node:timers/promises";

/** A tenant that takes up a room. */
export interface Occupant {
  /** Since when nothing was asked of it; undefined while it cannot be closed to make room. */
  readonly quietSince: number | undefined;
  close(): Promise<void>;
}

interface Server {
  occupants: Set<Occupant>;
  /** Resolves when all who asked so far have a room. */
  asked: Promise<void>;
}

/** How often it is looked again whether a tenant can make room, while none can. */
const STEP_MS = 20;
/** How long one that makes room may take before another is asked too: where its database hangs, its end takes a minute. */
const PATIENCE_MS = 500;

/**
 * How many tenants of a worker may be open at each database server, so that their connections stay within what the server is
 * to give. When all rooms are taken, the tenant that was asked for longest ago and has nothing under way makes room; while
 * none can, openings wait in the order of asking.
 */
export class Rooms {
  readonly #count: number;
  readonly #servers = new Map<string, Server>();

  constructor(count: number) {
    this.#count = count;
  }

  /** Resolves once there is a room, to the function that leaves it. */
  async take(name: string, occupant: Occupant): Promise<() => void> {
    const server = this.#servers.get(name) ?? { occupants: new Set(), asked: Promise.resolve() };
    this.#servers.set(name, server);
    server.asked = server.asked.then(async () => {
      while (server.occupants.size >= this.#count) {
        const quiet = longestQuiet(server.occupants);
        await (quiet ? Promise.race([quiet.close(), delay(PATIENCE_MS)]) : delay(STEP_MS));
      }
      server.occupants.add(occupant);
    });
    await server.asked;
    return () => void server.occupants.delete(occupant);
  }
}

function longestQuiet(occupants: Iterable<Occupant>): Occupant | undefined {
  const quiet = [...occupants].filter(({ quietSince }) => quietSince !== undefined);
  return quiet.toSorted((a, b) => (a.quietSince ?? 0) - (b.quietSince ?? 0))[0];
}
