import { Fault } from "../domain/fault.ts";
import { overloaded } from "./semaphore.ts";

/** A statement that finds no connection within this time is refused. */
export const WAIT_MS = 2000;
/** A client whose statements follow each other without a gap keeps its connections this long while others wait. */
const TURN_MS = 50;
/** How long the statements of such a client may take to end, while its further ones wait. */
const DRAIN_MS = 250;
/** A database that hangs does not end its sessions. */
const CLOSE_MS = 1000;

/**
 * A bounded number of connections to one database server, lent to the clients of many databases. A client keeps what it has
 * borrowed until another one needs it: the connections of the client that was quiet for longest are closed then, and where
 * none is quiet, the one that has had its connections for longest finishes its statements first. So neither an open request
 * nor a stream holds a connection, only a statement does; and as every wait ends, a client that waits for a second
 * connection while it uses a first one cannot block the others for good.
 */
export class ConnectionLender {
  /** In all. */
  readonly count: number;
  /** Connections that only urgent clients get. */
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

  /** How many clients wait for a connection, and for how long the first of them has. */
  get waiting(): { clients: number; longestMs: number } {
    const since = [...this.#waiting].map((loan) => loan.waitingSince ?? Number.POSITIVE_INFINITY);
    return { clients: since.length, longestMs: since.length === 0 ? 0 : performance.now() - Math.min(...since) };
  }

  /** Connections that are lent. */
  get taken(): number {
    return sizeOf(this.#lent) + this.#closing;
  }

  /** What one tenant borrows by. @param isUrgent whether it may use the reserve at this time */
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

  /** A client waits no longer. */
  leave(loan: Loan): void {
    this.#waiting.delete(loan);
    this.#serve();
  }

  /** A client gives back what it has. */
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

  /** Closes what is quiet for those who wait; where nothing is, one client has to finish. */
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
      // It goes on, behind the others.
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
   * @param close ends them; called only while no statement of the client is under way
   */
  loan(size: number, close: () => Promise<unknown>): Loan;
  /** Lends one connection for as long as `work` lasts. @throws Fault OVERLOADED */
  once<T>(work: () => Promise<T>): Promise<T>;
}

/** @param since by the monotonic clock */
type Wait = ReturnType<typeof Promise.withResolvers<void>> & { since: number };

/** What one client has borrowed, or waits for. */
export class Loan {
  readonly size: number;
  readonly isUrgent: () => boolean;
  readonly #lender: ConnectionLender;
  readonly #close: () => Promise<unknown>;
  /** Statements under way, those that wait, and works that need the same connections from their begin to their end. */
  #running = 0;
  #asked = 0;
  #pins = 0;
  #isLent = false;
  #wait: Wait | undefined;
  #waitTimer: NodeJS.Timeout | undefined;
  /** Set while it has to finish what it runs. */
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

  /** Runs a statement on the borrowed connections. @throws Fault OVERLOADED where there are none in time; nothing was sent */
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

  /** Begins work that needs the same connection from its first statement to its last. Resolves to what ends it. */
  async pin(): Promise<() => void> {
    await this.use(async () => {
      this.#pins += 1;
    });
    return () => {
      this.#pins -= 1;
      if (this.isQuiet) this.#lender.quiet(this);
    };
  }

  /** For the lender: it has its connections. */
  grant(): void {
    this.isLeaving = false;
    this.#isLent = true;
    this.lentAt = performance.now();
    this.#running += this.#asked;
    this.#settle()?.resolve();
  }

  /** For the lender: closes the connections. Statements that come meanwhile wait. */
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

  /** The client has ended its connections itself, for good. */
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
