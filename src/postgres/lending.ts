import { Fault } from "../domain/fault.ts";
import { overloaded } from "./semaphore.ts";

/** A statement that finds no connection within this time is refused. */
export const WAIT_MS = 2000;
/** How long a client with continuous statements keeps its connections while others wait. */
const TURN_MS = 50;
/** How long such a client's current statements may take to end, while its further ones wait. */
const DRAIN_MS = 250;
/** A database that hangs does not end its sessions. */
const CLOSE_MS = 1000;

/**
 * A limited number of connections to one database server, lent to the clients of many databases. A client keeps its
 * connections until another client needs them: then those of the longest quiet client are closed. If no client is
 * quiet, the client that has had its connections longest finishes its statements first. So only a statement holds a
 * connection, not an open request or stream. Every wait ends, so a client that waits for a second connection while
 * using a first cannot block the others for ever.
 */
export class ConnectionLender {
  /** The total number. */
  readonly count: number;
  /** Connections reserved for urgent clients. */
  readonly #reserved: number;
  /** In the order of borrowing. */
  readonly #lent = new Set<Loan>();
  readonly #waiting = new Set<Loan>();
  /** Connections that are being closed. */
  #closing = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(count: number, reserved = 0) {
    this.count = count;
    this.#reserved = reserved;
  }

  /** How many clients wait for a connection, and how long the first has waited. */
  get waiting(): { clients: number; longestMs: number } {
    const since = [...this.#waiting].map((loan) => loan.waitingSince ?? Number.POSITIVE_INFINITY);
    return { clients: since.length, longestMs: since.length === 0 ? 0 : performance.now() - Math.min(...since) };
  }

  /** The number of lent connections. */
  get taken(): number {
    return sizeOf(this.#lent) + this.#closing;
  }

  /** One tenant's access. @param isUrgent whether the tenant may currently use the reserve */
  forTenant(isUrgent: () => boolean): TenantLender {
    const loan: TenantLender["loan"] = (size, close) => new Loan(this, size, close, isUrgent);
    return {
      loan,
      async once(work) {
        const once = loan(1, async () => {});
        try {
          return await once.use(work);
        } finally {
          once.release();
        }
      },
    };
  }

  /** Puts a client in the queue. */
  ask(loan: Loan): void {
    this.#waiting.add(loan);
    this.#serve();
  }

  /** A client stops waiting. */
  leave(loan: Loan): void {
    this.#waiting.delete(loan);
    this.#serve();
  }

  /** A client returns its connections. */
  giveBack(loan: Loan): void {
    this.#lent.delete(loan);
    this.leave(loan);
  }

  /** The last statement of a client ended. */
  quiet(loan: Loan): void {
    if (this.#waiting.size === 0) return;
    if (loan.isLeaving) this.#take(loan);
    this.#serve();
  }

  #serve(): void {
    for (let next = this.#next(); next && this.#fits(next); next = this.#next()) {
      this.#waiting.delete(next);
      this.#lent.add(next);
      next.grant();
    }
    if (this.#waiting.size > 0) this.#makeRoom();
  }

  #next(): Loan | undefined {
    const [first] = this.#waiting;
    return [...this.#waiting].find((loan) => loan.isUrgent()) ?? first;
  }

  #fits(loan: Loan): boolean {
    return this.#freeFor(loan) >= loan.size;
  }

  #freeFor(loan: Loan): number {
    const free = this.count - this.taken;
    if (loan.isUrgent()) return free;
    const urgent = sizeOf([...this.#lent].filter((each) => each.isUrgent()));
    return free - Math.max(0, this.#reserved - urgent);
  }

  /** Closes quiet connections for the waiting clients; if none is quiet, one client must finish. */
  #makeRoom(): void {
    const next = this.#next();
    let missing = sizeOf(this.#waiting) - this.#closing - (next ? this.#freeFor(next) : 0);
    const quiet = [...this.#lent].filter((loan) => loan.isQuiet).sort((a, b) => a.usedAt - b.usedAt);
    for (const loan of quiet) {
      if (missing <= 0) return;
      missing -= loan.size;
      this.#take(loan);
    }
    if (quiet.length > 0 || this.#closing > 0) return;
    const busy = [...this.#lent].filter((loan) => !loan.isPinned);
    const [longest] = busy;
    if (!longest || busy.some(({ isLeaving }) => isLeaving)) return;
    const leftMs = longest.lentAt + TURN_MS - performance.now();
    if (leftMs <= 0) this.#drain(longest);
    else this.#timer ??= setTimeout(() => this.#again(), leftMs).unref();
  }

  #again(): void {
    this.#timer = undefined;
    this.#serve();
  }

  #drain(loan: Loan): void {
    loan.isLeaving = true;
    setTimeout(() => {
      if (!loan.isLeaving || !this.#lent.delete(loan)) return;
      // The client continues, behind the others.
      this.#waiting.delete(loan);
      this.#lent.add(loan);
      loan.grant();
      this.#serve();
    }, DRAIN_MS).unref();
  }

  #take(loan: Loan): void {
    this.#lent.delete(loan);
    this.#closing += loan.size;
    const done = () => {
      this.#closing -= loan.size;
      this.#serve();
    };
    void loan.takeBack(CLOSE_MS).then(done);
  }
}

/** Lends connections to the clients of one tenant. */
export interface TenantLender {
  /**
   * @param size the most connections that the client opens
   * @param close closes them; called only while the client runs no statement
   */
  loan(size: number, close: () => Promise<unknown>): Loan;
  /** Lends one connection for as long as `work` lasts. @throws Fault OVERLOADED */
  once<T>(work: () => Promise<T>): Promise<T>;
}

/** @param since time by the monotonic clock */
type Wait = ReturnType<typeof Promise.withResolvers<void>> & { since: number };

/** The connections that a client has borrowed or waits for. */
export class Loan {
  readonly size: number;
  readonly isUrgent: () => boolean;
  readonly #lender: ConnectionLender;
  readonly #close: () => Promise<unknown>;
  /** The number of running and waiting statements, and of work pinned to its connections. */
  #running = 0;
  #asked = 0;
  #pins = 0;
  #isLent = false;
  #wait: Wait | undefined;
  #waitTimer: NodeJS.Timeout | undefined;
  /** Set while the client must finish its running statements. */
  isLeaving = false;
  lentAt = 0;
  usedAt = 0;

  constructor(lender: ConnectionLender, size: number, close: () => Promise<unknown>, isUrgent: () => boolean) {
    this.#lender = lender;
    this.size = size;
    this.#close = close;
    this.isUrgent = isUrgent;
  }

  get isQuiet(): boolean {
    return this.#running === 0 && this.#pins === 0;
  }

  get isPinned(): boolean {
    return this.#pins > 0;
  }

  get waitingSince(): number | undefined {
    return this.#wait?.since;
  }

  /** Runs a statement on the borrowed connections. @throws Fault OVERLOADED if there are none in time; nothing was sent */
  async use<T>(statement: () => PromiseLike<T>): Promise<T> {
    if (this.#isLent && (!this.isLeaving || this.isPinned)) this.#running += 1;
    else await this.#borrow();
    try {
      return await statement();
    } finally {
      this.#running -= 1;
      this.usedAt = performance.now();
      if (this.isQuiet) this.#lender.quiet(this);
    }
  }

  /** Begins work that needs the same connection throughout. Resolves to a function that ends the work. */
  async pin(): Promise<() => void> {
    await this.use(async () => {
      this.#pins += 1;
    });
    return () => {
      this.#pins -= 1;
      if (this.isQuiet) this.#lender.quiet(this);
    };
  }

  /** Called by the lender: the client has its connections. */
  grant(): void {
    this.isLeaving = false;
    this.#isLent = true;
    this.lentAt = performance.now();
    this.#running += this.#asked;
    this.#settle()?.resolve();
  }

  /** Called by the lender: closes the connections. Statements that arrive meanwhile wait. */
  async takeBack(withinMs: number): Promise<void> {
    this.isLeaving = false;
    this.#isLent = false;
    let timer: NodeJS.Timeout | undefined;
    const deadline = new Promise((resolve) => {
      timer = setTimeout(resolve, withinMs).unref();
    });
    await Promise.race([this.#close().catch(() => undefined), deadline]);
    clearTimeout(timer);
  }

  /** The client has closed its connections itself, for good. */
  release(): void {
    this.#isLent = false;
    this.#refuse(new Fault("DATABASE_UNAVAILABLE", "The tenant is being closed; nothing was executed"));
    this.#lender.giveBack(this);
  }

  async #borrow(): Promise<void> {
    this.#asked += 1;
    if (!this.#wait) {
      this.#wait = { ...Promise.withResolvers<void>(), since: performance.now() };
      this.#waitTimer = setTimeout(() => this.#refuse(overloaded()), WAIT_MS);
      const { promise } = this.#wait;
      this.#lender.ask(this);
      return promise;
    }
    return this.#wait.promise;
  }

  #refuse(fault: Fault): void {
    this.#settle()?.reject(fault);
    this.#lender.leave(this);
  }

  #settle(): Wait | undefined {
    const wait = this.#wait;
    this.#asked = 0;
    this.#wait = undefined;
    clearTimeout(this.#waitTimer);
    return wait;
  }
}

function sizeOf(loans: Iterable<Loan>): number {
  let size = 0;
  for (const loan of loans) size += loan.size;
  return size;
}
