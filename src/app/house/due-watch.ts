import { setTimeout as delay } from "node:timers/promises";
import { monotonicMs } from "../../domain/time/clock.ts";
import { SECOND_MS } from "../../domain/time/units.ts";
import type { Connection } from "../../postgres/connect.ts";
import { databaseOf, serverOf } from "../../postgres/database.ts";
import { readChanges, readDueIn } from "../../queries/due-work.ts";
import type { HostedTenant } from "./hosted-tenant.ts";
import type { TenantOpener } from "./open-tenant.ts";

/** A tenant as the watch knows it between two looks. */
export interface Watched {
  hosted: HostedTenant;
  opener: Pick<TenantOpener, "ask">;
}

/** What the last look at an idle tenant found. */
interface Look {
  connection: Connection;
  /** By the monotonic clock; infinite where nothing is due. */
  dueAt: number;
  /** The database's count of changes before the look; undefined where the server tells none. */
  changes: string | undefined;
}

/** A tenant is opened this much before its work is due, so that it is done in time. */
const AHEAD_MS = 15 * SECOND_MS;
const ROUND_MS = 10 * SECOND_MS;
/** How long a look holds up those at other tenants. One at a database that hangs ends later, by itself. */
const PATIENCE_MS = SECOND_MS;

/**
 * Opens tenants that are idle when they have work which no request asks for. What is due next is read when a tenant is looked at,
 * by a connection that is closed at once; from then on one statement per database server tells which databases were
 * changed by others, as by a command, and only those are looked at again. So hundreds of idle tenants cost a statement.
 */
export class DueWatch {
  readonly #tenants: ReadonlyMap<string, Watched>;
  readonly #looks = new Map<Watched, Look>();
  readonly #looking = new Set<Watched>();
  readonly #ended = new AbortController();
  #running: Promise<void> = Promise.resolve();

  /** @param tenants by name, to which others may come */
  constructor(tenants: ReadonlyMap<string, Watched>) {
    this.#tenants = tenants;
  }

  start(): void {
    const { signal } = this.#ended;
    const repeat = async () => {
      while (!signal.aborted) {
        await this.#round();
        await delay(ROUND_MS, undefined, { signal, ref: false }).catch(() => undefined);
      }
    };
    this.#running = repeat();
  }

  async stop(): Promise<void> {
    this.#ended.abort();
    await this.#running;
  }

  /** Whether a tenant that is open has nothing to do for a while. What comes then is looked up once it is closed. */
  async isFree({ hosted: { open } }: Watched): Promise<boolean> {
    if (!open) return true;
    return !isDue(await open.server.services.background.read((sql) => readDueIn(sql, open.receivers)));
  }

  async #round(): Promise<void> {
    for (const watched of this.#tenants.values()) {
      watched.hosted.retry();
      if (!this.#looks.has(watched)) await this.#look(watched);
    }
    const byServer = Map.groupBy(this.#looks, ([, { connection }]) => serverOf(connection));
    await Promise.all([...byServer.values()].map((looks) => this.#roundOf(looks)));
  }

  /** At one database server, where there is at most one connection of the watch at a time. */
  async #roundOf(looks: readonly (readonly [Watched, Look])[]): Promise<void> {
    const idle = looks.filter(([{ hosted }]) => hosted.isIdle);
    const changes = await this.#changes(idle);
    for (const [watched, look] of idle) {
      if (this.#ended.signal.aborted) return;
      if (look.dueAt - monotonicMs() < AHEAD_MS) this.#wake(watched);
      else await this.#lookAgain(watched, look, changes?.get(databaseOf(look.connection)));
    }
  }

  /** Looks at a tenant whose database was changed since the last look, or whose server does not tell. */
  async #lookAgain(watched: Watched, look: Look, changes: string | undefined): Promise<void> {
    if (changes !== undefined && changes === look.changes) return;
    await this.#look(watched, changes);
  }

  async #look(watched: Watched, changes?: string): Promise<void> {
    const { signal } = this.#ended;
    if (!watched.hosted.isIdle || signal.aborted || this.#looking.has(watched)) return;
    this.#looking.add(watched);
    const looked = this.#read(watched, changes).finally(() => this.#looking.delete(watched));
    await Promise.race([looked, delay(PATIENCE_MS, undefined, { signal, ref: false }).catch(() => undefined)]);
  }

  async #read(watched: Watched, changes: string | undefined): Promise<void> {
    const { hosted } = watched;
    try {
      const { connection, answer } = await watched.opener.ask(readDueIn);
      this.#looks.set(watched, { connection, dueAt: instantIn(answer), changes });
      if (isDue(answer)) this.#wake(watched);
    } catch (error) {
      this.#looks.delete(watched);
      if (hosted.isIdle) hosted.fail(error);
    }
  }

  /** By the first database that answers: each one knows the figures of all of its server. */
  async #changes(looks: readonly (readonly [Watched, Look])[]): Promise<ReadonlyMap<string, string> | undefined> {
    const [first] = looks;
    if (!first) return undefined;
    const names = looks.map(([, { connection }]) => databaseOf(connection));
    try {
      return (await first[0].opener.ask((sql) => readChanges(sql, names))).answer;
    } catch {
      // It is looked at anew, and another one is asked the next time.
      this.#looks.delete(first[0]);
      return undefined;
    }
  }

  /** It is looked at anew once it is closed again. */
  #wake(watched: Watched): void {
    this.#looks.delete(watched);
    // Its failure is kept as the tenant's state, and it is tried again.
    watched.hosted.opened().catch(() => undefined);
  }
}

function isDue(dueIn: number | null): boolean {
  return dueIn !== null && dueIn < AHEAD_MS;
}

function instantIn(dueIn: number | null): number {
  return dueIn === null ? Number.POSITIVE_INFINITY : monotonicMs() + dueIn;
}
