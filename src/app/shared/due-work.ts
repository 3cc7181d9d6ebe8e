import { monotonicMs } from "../../domain/time/clock.ts";
import { SECOND_MS } from "../../domain/time/units.ts";
import type { Connection } from "../../postgres/connect.ts";
import { databaseOf, serverOf } from "../../postgres/database.ts";
import { readChanges, readDueIn } from "../../queries/due-work.ts";
import { inTime } from "./opening-turns.ts";
import type { SharedTenant } from "./shared-tenant.ts";

/** What the last question to a closed tenant's database found. */
interface Finding {
  connection: Connection;
  /** By the monotonic clock; infinite where nothing is due. */
  dueAt: number;
  /** The database's count of changes before the question; undefined where the server tells none. */
  changes: string | undefined;
}

/** A tenant is opened this much before its work is due, so that it is done in time. */
const AHEAD_MS = 15 * SECOND_MS;
/** How long one question holds up those to other tenants. One to a database that hangs ends by itself. */
const LONGEST_QUESTION_MS = SECOND_MS;

/**
 * Opens closed tenants that have work which no request asks for. A tenant that has closed is asked once when it has some; from
 * then on one statement per database server tells which databases others have changed, such as a command or another server,
 * and only those are asked again.
 */
export class DueWork {
  readonly #findings = new Map<SharedTenant, Finding>();
  readonly #asking = new Set<SharedTenant>();
  readonly #signal: AbortSignal;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** Whether a tenant that is open has nothing to do for a while. */
  async isFree({ open }: SharedTenant): Promise<boolean> {
    return !open || !isDue(await open.server.services.background.read((sql) => readDueIn(sql, open.receivers)));
  }

  /** To be called every ten seconds. */
  async round(tenants: Iterable<SharedTenant>): Promise<void> {
    for (const tenant of tenants) {
      tenant.retry();
      if (tenant.isIdle && !this.#findings.has(tenant)) await this.#ask(tenant);
    }
    const byServer = Map.groupBy(this.#findings, ([, { connection }]) => serverOf(connection));
    await Promise.all([...byServer.values()].map((found) => this.#roundOf(found)));
  }

  async #roundOf(found: readonly (readonly [SharedTenant, Finding])[]): Promise<void> {
    const idle = found.filter(([tenant]) => tenant.isIdle);
    const changes = await this.#changes(idle);
    for (const [tenant, { connection, dueAt, changes: before }] of idle) {
      const now = changes?.get(databaseOf(connection));
      if (dueAt - monotonicMs() < AHEAD_MS) this.#open(tenant);
      else if (now === undefined || now !== before) await this.#ask(tenant, now);
    }
  }

  async #ask(tenant: SharedTenant, changes?: string): Promise<void> {
    if (this.#signal.aborted || this.#asking.has(tenant)) return;
    this.#asking.add(tenant);
    const asked = tenant
      .ask(readDueIn)
      .then(
        ({ connection, answer }) => {
          const dueAt = answer === null ? Number.POSITIVE_INFINITY : monotonicMs() + answer;
          this.#findings.set(tenant, { connection, dueAt, changes });
          if (isDue(answer)) this.#open(tenant);
        },
        // The failure is kept as the tenant's state.
        () => void this.#findings.delete(tenant),
      )
      .finally(() => this.#asking.delete(tenant));
    await inTime(asked, LONGEST_QUESTION_MS);
  }

  /** By the first database that answers: each one knows the figures of all of its server. */
  async #changes(
    idle: readonly (readonly [SharedTenant, Finding])[],
  ): Promise<ReadonlyMap<string, string> | undefined> {
    const [first] = idle;
    if (!first) return undefined;
    const names = idle.map(([, { connection }]) => databaseOf(connection));
    try {
      return (await first[0].ask((sql) => readChanges(sql, names))).answer;
    } catch {
      // Another one is asked the next time.
      this.#findings.delete(first[0]);
      return undefined;
    }
  }

  /** It is asked anew once it is closed again. */
  #open(tenant: SharedTenant): void {
    this.#findings.delete(tenant);
    tenant.openForDueWork();
  }
}

function isDue(dueIn: number | null): boolean {
  return dueIn !== null && dueIn < AHEAD_MS;
}
