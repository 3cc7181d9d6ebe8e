import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import { Fault, type FaultCode } from "../../domain/fault.ts";
import { monotonicMs } from "../../domain/time/clock.ts";
import { SECOND_MS } from "../../domain/time/units.ts";
import type { TenantFront } from "../../server/tenant-front.ts";
import { pauseBefore, RESTART_POLICY } from "../serve/supervisor.ts";
import type { TenantServer } from "../serve/tenant-server.ts";
import type { TenantStatus } from "./messages.ts";
import type { Occupant } from "./rooms.ts";

/** A tenant whose database is connected. */
export interface OpenTenant {
  front: TenantFront;
  server: TenantServer;
  /** Of its outgoing webhooks. */
  receivers: readonly string[];
}

export interface HostedTenantOptions {
  tenant: string;
  /** Connects its database and puts its services together. */
  open(occupant: HostedTenant): Promise<OpenTenant>;
  log: Logger;
}

type State =
  | { kind: "idle" }
  | { kind: "opening" | "open"; opened: Promise<OpenTenant> }
  | { kind: "closing"; closed: Promise<void> }
  /** @param askAt when a request tries again; `retryAt`, when no request has to */
  | { kind: "failed"; fault: Fault; askAt: number; retryAt: number };

/** How long a tenant that waits for an operator, as for its first apply, is left alone while no request asks for it. */
const LONGEST_WAIT_MS = 20 * SECOND_MS;

/** A tenant of a house: opened when it is asked for, closed when it is not, and tried again when it cannot be opened. */
export class HostedTenant implements Occupant {
  readonly tenant: string;
  readonly #options: HostedTenantOptions;
  #state: State = { kind: "idle" };
  /** The same as in the state, for requests, which need not wait for a promise. */
  #open: OpenTenant | undefined;
  #failures = 0;
  /** What it waits for an operator to do, as far as the log has told. */
  #waitsFor: string | undefined;
  /** Requests that wait until it is open. */
  #waiting = 0;
  #lastAskedAt = Number.NEGATIVE_INFINITY;

  constructor(options: HostedTenantOptions) {
    this.tenant = options.tenant;
    this.#options = options;
  }

  get open(): OpenTenant | undefined {
    return this.#open;
  }

  get isIdle(): boolean {
    return this.#state.kind === "idle";
  }

  get inFlight(): number {
    return this.#waiting + (this.#open?.front.site.door.inFlight ?? 0);
  }

  get quietSince(): number | undefined {
    return this.isQuietFor(0) ? this.#lastAskedAt : undefined;
  }

  status(): TenantStatus {
    const { tenant } = this;
    const state = this.#state;
    if (state.kind === "failed") return { tenant, state: "failed", problem: state.fault.message };
    // It has connections until it is closed.
    const isOpen = state.kind === "open" || state.kind === "closing";
    return { tenant, state: isOpen ? "open" : "idle", problem: null };
  }

  /**
   * Answers a request, after opening the tenant where that is needed.
   * @param refuse called when it cannot be opened
   */
  handle(req: IncomingMessage, res: ServerResponse, refuse: (fault: Fault) => void): void {
    this.#lastAskedAt = monotonicMs();
    if (this.#open) {
      this.#answer(this.#open, req, res, refuse);
      return;
    }
    this.#waiting += 1;
    this.opened()
      .then(
        (open) => this.#answer(open, req, res, refuse),
        (error: unknown) => refuse(publicFault(error)),
      )
      .finally(() => {
        this.#waiting -= 1;
      });
  }

  /** Opens it unless it is open. @throws what keeps it from opening, for as long as the pause after a failure lasts */
  async opened(): Promise<OpenTenant> {
    const state = this.#state;
    if (state.kind === "opening" || state.kind === "open") return state.opened;
    if (state.kind === "closing") return state.closed.then(() => this.opened());
    if (state.kind === "failed" && monotonicMs() < state.askAt) throw state.fault;
    const opened = this.#begin();
    this.#state = { kind: "opening", opened };
    return opened;
  }

  /** Tries again to open it, where that failed and the pause is over. */
  retry(): void {
    const state = this.#state;
    // The failure is kept as the tenant's state.
    if (state.kind === "failed" && monotonicMs() >= state.retryAt) this.opened().catch(() => {});
  }

  /** It cannot be opened now. */
  fail(error: unknown): void {
    const fault = error instanceof Fault ? error : new Fault("INTERNAL", String(error), { cause: error });
    this.#failures += 1;
    const pauseMs = pauseBefore(this.#failures, RESTART_POLICY);
    const now = monotonicMs();
    if (waitsForOperator(fault)) {
      const retryAt = now + Math.min(pauseMs, LONGEST_WAIT_MS);
      this.#state = { kind: "failed", fault, askAt: now + RESTART_POLICY.firstPauseMs, retryAt };
      this.#tellOnce(fault.message);
      return;
    }
    this.#state = { kind: "failed", fault, askAt: now + pauseMs, retryAt: now + pauseMs };
    this.#waitsFor = undefined;
    this.#options.log.error({ err: fault, pauseMs }, "The tenant cannot be served; it is tried again after a pause");
  }

  #tellOnce(waitsFor: string): void {
    if (waitsFor === this.#waitsFor) return;
    this.#waitsFor = waitsFor;
    this.#options.log.info(`${waitsFor}. It is served as soon as that is done`);
  }

  /** It is not opened any more. */
  setApart(problem: string): void {
    const never = Number.POSITIVE_INFINITY;
    this.#state = { kind: "failed", fault: new Fault("INTERNAL", problem), askAt: never, retryAt: never };
  }

  /** Whether nothing was asked of it for so long, and nothing is under way. */
  isQuietFor(idleMs: number): boolean {
    const { site } = this.#open?.front ?? {};
    const isBusy = this.inFlight > 0 || (site?.streams() ?? 0) > 0;
    return this.#open !== undefined && !isBusy && monotonicMs() - this.#lastAskedAt >= idleMs;
  }

  /** Closes it; requests that come meanwhile wait, and open it again. */
  async close(): Promise<void> {
    const state = this.#state;
    if (state.kind === "closing") return state.closed;
    if (state.kind !== "opening" && state.kind !== "open") return;
    const closed = this.#end(state.opened);
    this.#state = { kind: "closing", closed };
    this.#open = undefined;
    await closed;
  }

  async #begin(): Promise<OpenTenant> {
    try {
      const open = await this.#options.open(this);
      if (this.#failures > 0) this.#options.log.info("The tenant is served again");
      this.#failures = 0;
      this.#waitsFor = undefined;
      this.#lastAskedAt = Math.max(this.#lastAskedAt, monotonicMs());
      if (this.#state.kind === "opening") {
        this.#open = open;
        this.#state = { kind: "open", opened: Promise.resolve(open) };
      }
      return open;
    } catch (error) {
      this.fail(error);
      throw error;
    }
  }

  async #end(opened: Promise<OpenTenant>): Promise<void> {
    try {
      await (await opened).server.close();
    } catch (error) {
      this.#options.log.error({ err: error }, "The tenant was not closed as it should be");
    } finally {
      this.#state = { kind: "idle" };
    }
  }

  /** A connection has to find room among the tenant's own, which it leaves with its next request for another tenant. */
  #answer({ front }: OpenTenant, req: IncomingMessage, res: ServerResponse, refuse: (fault: Fault) => void): void {
    if (!front.connections.join(req.socket, front.group)) return;
    try {
      front.handle(req, res);
    } catch {
      refuse(new Fault("BAD_REQUEST", "The request is not valid"));
    }
  }
}

/** How long the last requests of a tenant that closes may take. */
const LAST_REQUESTS_MS = 25_000;
const STEP_MS = 20;

/** Waits for the answers that are under way, and ends what answers. */
export async function closeFront(front: TenantFront): Promise<void> {
  const { door } = front.site;
  front.beginEnd();
  const startedAt = monotonicMs();
  while (door.inFlight > 0 && monotonicMs() - startedAt < LAST_REQUESTS_MS) await delay(STEP_MS);
  await front.end();
}

/** Nothing is wrong with it, and an operator has something to do first, such as its first apply or a migration. */
function waitsForOperator({ code }: Fault): boolean {
  return code === "REFUSED";
}

/** What the public learns of a failure to open: its code, and none of the server's own words. */
function publicFault(error: unknown): Fault {
  return new Fault(publicCode(error), "This tenant cannot be served now", { cause: error });
}

function publicCode(error: unknown): FaultCode {
  if (!(error instanceof Fault)) return "INTERNAL";
  if (waitsForOperator(error)) return "DATABASE_UNAVAILABLE";
  return error.status >= 500 ? error.code : "INTERNAL";
}
