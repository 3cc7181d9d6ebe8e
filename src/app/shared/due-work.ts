import { monotonicMs } from "../../domain/time/clock.ts";
import { SECOND_MS } from "../../domain/time/units.ts";
import type { Connection } from "../../postgres/connect.ts";
import { databaseOf, serverOf } from "../../postgres/database.ts";
import { readChanges, readDueIn } from "../../queries/due-work.ts";
import { inTime } from "./opening-turns.ts";
import type { SharedTenant } from "./shared-tenant.ts";

/** The result of the last question to a closed tenant's database. */
interface Finding {
  connection: Connection;
  /** On the monotonic clock; infinite where no work is due. */
  dueAt: number;
  /** The database's count of changes before the question; undefined where the server reports none. */
  changes: string | undefined;
}

/** A tenant is opened this early, so that its work is done in time. */
const AHEAD_MS = 15 * SECOND_MS;
/** The longest delay of other tenants' questions by one. A question to a hanging database ends by itself. */
const LONGEST_QUESTION_MS = SECOND_MS;

/**
 * Opens closed tenants that have work without a request. Each tenant is asked once when it closes. From then on one
 * statement per database server shows which databases were changed by others, such as a command or another server, and
 * only their tenants are asked again.
 */
export class DueWork {
  readonly #findings = new Map<SharedTenant, Finding>();
  readonly #asking = new Set<SharedTenant>();
  readonly #signal: AbortSignal;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** Whether an open tenant has no work for a while. */
  async isFree({ open }: SharedTenant): Promise<boolean> {
    return !open || !isDue(await open.server.services.background.read((sql) => readDueIn(sql, open.receivers)));
  }

  /** Must be called every ten seconds. */
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
        // The tenant keeps the failure as its state.
        () => void this.#findings.delete(tenant),
      )
      .finally(() => this.#asking.delete(tenant));
    await inTime(asked, LONGEST_QUESTION_MS);
  }

  /** Asks the first database that answers: each one has the figures of its whole server. */
  async #changes(
    idle: readonly (readonly [SharedTenant, Finding])[],
  ): Promise<ReadonlyMap<string, string> | undefined> {
    const [first] = idle;
    if (!first) return undefined;
    const names = idle.map(([, { connection }]) => databaseOf(connection));
    try {
      return (await first[0].ask((sql) => readChanges(sql, names))).answer;
    } catch {
      // The next round asks another database.
      this.#findings.delete(first[0]);
      return undefined;
    }
  }

  /** Forgets the finding: the tenant is asked again once it is closed. */
  #open(tenant: SharedTenant): void {
    this.#findings.delete(tenant);
    tenant.openForDueWork();
  }
}

function isDue(dueIn: number | null): boolean {
  return dueIn !== null && dueIn < AHEAD_MS;
}
