import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Logger } from "pino";
import { Fault } from "../../domain/fault.ts";
import { monotonicMs } from "../../domain/time/clock.ts";
import { SECOND_MS } from "../../domain/time/units.ts";
import type { Connection, ReadSql } from "../../postgres/connect.ts";
import { pauseBefore, RESTART_POLICY } from "../serve/supervisor.ts";
import type { OpenTenant, TenantOpener } from "./open-tenant.ts";
import { inTime, type OpeningTurns, type Purpose, Turn } from "./opening-turns.ts";

export interface SharedTenantOptions {
  tenant: string;
  hosts: readonly string[];
  opener: TenantOpener;
  turns: OpeningTurns;
  log: Logger;
}

type State =
  | { kind: "idle" }
  | { kind: "opening"; opened: Promise<OpenTenant>; turn: Turn }
  | { kind: "open"; open: OpenTenant }
  | { kind: "closing"; closed: Promise<void> }
  /** @param askAt when a request tries again; `retryAt`: when the process tries again by itself */
  | { kind: "failed"; fault: Fault; askAt: number; retryAt: number };

/** The state of a tenant, as `/tenants` shows it. */
export interface TenantStatus {
  tenant: string;
  hosts: readonly string[];
  state: "idle" | "open" | "failed";
  problem: string | null;
  /** Whether it waits for its turn. */
  inTurn: boolean;
  /** How many requests wait for it. */
  waiting: number;
}

/** A request whose tenant does not open within this time is refused; the opening goes on. */
const REQUEST_WAIT_MS = 2 * SECOND_MS;
/** The longest pause before a failed tenant is tried again, and so the longest delay of due work. */
const LONGEST_PAUSE_MS = 20 * SECOND_MS;

/** A tenant of a process with many: opened on request, closed when idle, and tried again after a failure. */
export class SharedTenant {
  readonly tenant: string;
  readonly hosts: readonly string[];
  readonly #options: SharedTenantOptions;
  #state: State = { kind: "idle" };
  #failures = 0;
  /** The reasons for not serving that the log has already reported. */
  readonly #told = new Set<string>();
  #waiting = 0;
  #askedAt = Number.NEGATIVE_INFINITY;
  /** True while the tenant is open for due work. */
  #isDue = false;

  constructor(options: SharedTenantOptions) {
    this.tenant = options.tenant;
    this.hosts = options.hosts;
    this.#options = options;
  }

  get open(): OpenTenant | undefined {
    return this.#state.kind === "open" ? this.#state.open : undefined;
  }

  get isIdle(): boolean {
    return this.#state.kind === "idle";
  }

  get inFlight(): number {
    return this.#waiting + (this.open?.front.door.inFlight ?? 0) + (this.open?.console?.door.inFlight ?? 0);
  }

  status(): TenantStatus {
    const state = this.#state;
    const turn = state.kind === "opening" ? state.turn : undefined;
    const base = { tenant: this.tenant, hosts: this.hosts, inTurn: turn?.isWaiting === true, waiting: this.#waiting };
    const late = turn?.isLate ? "its database does not answer" : null;
    const problem = state.kind === "failed" ? state.fault.message : late;
    if (problem !== null) return { ...base, state: "failed", problem };
    return { ...base, state: this.isIdle || state.kind === "opening" ? "idle" : "open", problem };
  }

  /**
   * Answers a request, and opens the tenant first if necessary.
   * @param refuse called when the tenant cannot be opened
   */
  async handle(req: IncomingMessage, res: ServerResponse, refuse: (fault: Fault) => void): Promise<void> {
    const open = await this.#openFor(refuse);
    // A connection beyond the tenant's own limit is closed.
    if (!open?.front.connections.join(req.socket, open.front.group)) return;
    passOn(open.front.handle, req, res, refuse);
  }

  /** The same for the tenant's console. */
  async handleConsole(req: IncomingMessage, res: ServerResponse, refuse: (fault: Fault) => void): Promise<void> {
    const open = await this.#openFor(refuse);
    if (open?.console) passOn(open.console.handle, req, res, refuse);
    else if (open) refuse(new Fault("NOT_FOUND", "Not found"));
  }

  /** Opens the tenant unless it is open. @throws the last failure, until the pause after it is over */
  async opened(purpose: Purpose): Promise<OpenTenant> {
    const state = this.#state;
    if (state.kind === "open") return state.open;
    if (state.kind === "closing") return state.closed.then(() => this.opened(purpose));
    if (state.kind === "failed" && monotonicMs() < state.askAt) throw state.fault;
    if (state.kind === "opening") {
      state.turn.moveTo(purpose);
      return state.opened;
    }
    const turn = new Turn(purpose);
    const opened = this.#options.turns.run(turn, () => this.#begin());
    this.#state = { kind: "opening", opened, turn };
    return opened;
  }

  /** Opens the tenant for due work, which may use the reserved connections. */
  openForDueWork(): void {
    this.#isDue = true;
    // The tenant keeps the failure as its state, and is tried again.
    this.opened("due").catch(() => {});
  }

  /** Opens the tenant again after a failure, once the pause is over. */
  retry(): void {
    const state = this.#state;
    // The tenant keeps the failure as its state.
    if (state.kind === "failed" && monotonicMs() >= state.retryAt)
      this.opened(this.#isDue ? "due" : "retry").catch(() => {});
  }

  /** Whether the tenant had no request for this time, and none is running. */
  isQuietFor(idleMs: number): boolean {
    const isBusy = this.inFlight > 0 || (this.open?.front.streams() ?? 0) > 0;
    return this.open !== undefined && !isBusy && monotonicMs() - this.#askedAt >= idleMs;
  }

  /** Closes the tenant. Requests that arrive meanwhile wait, and open it again. */
  async close(): Promise<void> {
    const state = this.#state;
    if (state.kind === "closing") return state.closed;
    if (state.kind !== "opening" && state.kind !== "open") return;
    const closed = this.#end(state.kind === "open" ? Promise.resolve(state.open) : state.opened);
    this.#state = { kind: "closing", closed };
    if (state.kind === "opening") state.turn.leave();
    await closed;
  }

  /** Asks a closed tenant's database over a connection that is closed at once. May use the reserve of connections. */
  async ask<Value>(
    question: (sql: ReadSql, receivers: readonly string[]) => PromiseLike<Value>,
  ): Promise<{ connection: Connection; answer: Value }> {
    try {
      return await this.#options.opener.ask(question, this.#failures > 0);
    } catch (error) {
      const fault = faultOf(error);
      if (this.isIdle) this.#fail(fault);
      throw fault;
    }
  }

  /** Opens the tenant for a request; undefined once the request is refused. */
  async #openFor(refuse: (fault: Fault) => void): Promise<OpenTenant | undefined> {
    this.#askedAt = monotonicMs();
    const { open } = this;
    if (open) return open;
    this.#waiting += 1;
    try {
      return await this.#openedInTime();
    } catch (error) {
      refuse(publicFault(error));
      return undefined;
    } finally {
      this.#waiting -= 1;
    }
  }

  async #openedInTime(): Promise<OpenTenant> {
    const opened = this.opened("request");
    const turn = this.#state.kind === "opening" ? this.#state.turn : undefined;
    const open = await inTime(opened, turn?.isLate ? 0 : REQUEST_WAIT_MS);
    if (open) return open;
    if (turn?.isLate) throw new Fault("DATABASE_UNAVAILABLE", "The tenant's database does not answer");
    throw new Fault("OVERLOADED", "The tenant is being opened", { status: 503, retryAfterSec: 1 });
  }

  async #begin(): Promise<OpenTenant> {
    try {
      const open = await this.#options.opener.open(this.#failures > 0, () => this.#isDue);
      if (this.#failures > 0) this.#options.log.info("The tenant is served again");
      this.#failures = 0;
      this.#told.clear();
      this.#askedAt = Math.max(this.#askedAt, monotonicMs());
      if (this.#state.kind === "opening") this.#state = { kind: "open", open };
      return open;
    } catch (error) {
      if (this.#state.kind === "opening") this.#fail(error);
      throw error;
    }
  }

  #fail(error: unknown): void {
    const { log } = this.#options;
    const fault = faultOf(error);
    this.#failures += 1;
    const pauseMs = Math.min(pauseBefore(this.#failures, RESTART_POLICY), LONGEST_PAUSE_MS);
    const now = monotonicMs();
    this.#state = { kind: "failed", fault, askAt: now + RESTART_POLICY.firstPauseMs, retryAt: now + pauseMs };
    if (this.#told.has(fault.message)) return;
    this.#told.add(fault.message);
    // A tenant that only has to be applied or migrated is no failure.
    if (fault.code === "REFUSED") log.info(`${fault.message}. The tenant is served once that is done`);
    else log.error({ err: fault, pauseMs }, "The tenant cannot be served; the process tries again after a pause");
  }

  async #end(opened: Promise<OpenTenant>): Promise<void> {
    try {
      // A failed opening, or one whose turn has not come, needs no closing.
      const open = await opened.catch(() => undefined);
      await open?.server.close();
    } catch (error) {
      this.#options.log.error({ err: error }, "Closing the tenant failed");
    } finally {
      this.#isDue = false;
      this.#state = { kind: "idle" };
    }
  }
}

function passOn(
  handle: RequestListener,
  req: IncomingMessage,
  res: ServerResponse,
  refuse: (fault: Fault) => void,
): void {
  try {
    handle(req, res);
  } catch {
    refuse(new Fault("BAD_REQUEST", "The request is not valid"));
  }
}

function faultOf(error: unknown): Fault {
  return error instanceof Fault ? error : new Fault("INTERNAL", String(error), { cause: error });
}

/** The public error of a failed opening: its code, without the server's own text. */
function publicFault(error: unknown): Fault {
  const isOurs = error instanceof Fault && error.status >= 500 && error.code !== "INTERNAL";
  const code = isOurs ? error.code : "DATABASE_UNAVAILABLE";
  return new Fault(code, "This tenant cannot be served now", {
    cause: error,
    ...(isOurs && error.status === 503 && { status: 503 }),
    ...(isOurs && error.retryAfterSec !== undefined && { retryAfterSec: error.retryAfterSec }),
  });
}
