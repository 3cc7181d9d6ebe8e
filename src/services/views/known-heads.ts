/** Heads whose order is remembered: more than commits are sent while one query is answered. */
const REMEMBERED = 256;
const NOTHING: ReadonlySet<string> = new Set();

/** A head in the order of commits, and the tags that the commit which leads to it touches. */
interface Known {
  position: number;
  touched: ReadonlySet<string>;
}

/**
 * The latest heads of the log in the order in which this process sent the commits that lead to them. Pure.
 *
 * Every commit names the head that it expects, and the database takes it on that head alone. A commit is appended only if
 * the head that it expects is known, so from a committed head back to an earlier committed one the way leads through
 * smaller and smaller positions, each of them known: what changed between the two is among what the positions in between
 * touch. Commits that failed leave positions whose heads never appear. They make the answer "touched" where nothing was,
 * never the other way round.
 *
 * A head that is not known was written by another process, or belongs to a database that was set back. The order then
 * begins anew. Positions only ever rise, also from one beginning to the next.
 */
export class KnownHeads {
  /** In the order of positions. */
  readonly #known = new Map<string, Known>();
  #last = 0;
  #seen: number | undefined;

  /** The highest position whose head was committed for sure: a query that starts now shows at least its state. */
  get seen(): number | undefined {
    return this.#seen;
  }

  /**
   * Takes note of a commit that is about to be sent.
   * @returns its position, and whether it follows the heads known so far; when it does not, they are forgotten
   */
  send(expected: string, next: string, touched: ReadonlySet<string>): { position: number; follows: boolean } {
    const from = this.#known.get(expected)?.position;
    // Behind a head that was seen only a database that was set back takes a commit; a head comes twice when a batch that
    // failed is sent again unchanged. Neither has a place in the order.
    const follows = from !== undefined && from >= (this.#seen ?? from) && !this.#known.has(next);
    if (!follows) {
      this.#known.clear();
      // It may be that of a commit still under way, so it was not seen.
      this.#seen = undefined;
      this.#append(expected, NOTHING);
    }
    return { position: this.#append(next, touched), follows };
  }

  /** Takes note that a commit of this process was acknowledged. */
  acknowledge(head: string): void {
    const known = this.#known.get(head);
    if (known && known.position > (this.#seen ?? 0)) this.#seen = known.position;
  }

  /**
   * Takes note of the head that a query showed.
   * @param atLeast `seen` when the query was sent
   * @returns its position, and whether it is among the heads known so far; when it is not, they are forgotten
   */
  read(head: string, atLeast: number | undefined): { position: number; follows: boolean } {
    const position = this.#known.get(head)?.position;
    if (position !== undefined && position >= (atLeast ?? 0)) {
      this.#seen = Math.max(this.#seen ?? 0, position);
      return { position, follows: true };
    }
    this.#known.clear();
    this.#seen = this.#append(head, NOTHING);
    return { position: this.#seen, follows: false };
  }

  /** Whether no commit after this position touches any of the tags; false too when that is no longer remembered. */
  untouchedSince(position: number, tags: readonly string[]): boolean {
    const oldest = this.#known.values().next().value;
    if (!oldest || oldest.position > position) return false;
    for (const known of this.#known.values())
      if (known.position > position && tags.some((tag) => known.touched.has(tag))) return false;
    return true;
  }

  #append(head: string, touched: ReadonlySet<string>): number {
    this.#last += 1;
    this.#known.set(head, { position: this.#last, touched });
    if (this.#known.size > REMEMBERED) {
      const [oldest] = this.#known.keys();
      if (oldest !== undefined) this.#known.delete(oldest);
    }
    return this.#last;
  }
}
