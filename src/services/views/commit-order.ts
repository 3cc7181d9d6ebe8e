/** Heads whose order is remembered: more than commits are sent while one query is answered. */
const REMEMBERED = 256;
/** Tags whose last commit is remembered. Beyond it all are forgotten, and every answer so far counts as touched. */
const MAX_TAGS = 100_000;

/**
 * The latest heads of the log in the order in which this process sent the commits that lead to them, and which commit was the
 * last to touch each tag. Pure.
 *
 * Every commit names the head that it expects, and the database takes it on that head alone. A commit is appended only if
 * the head that it expects is known, so from a committed head back to an earlier committed one the way leads through
 * smaller and smaller positions: what changed between the two is among what the positions in between touch. Commits that
 * failed leave positions whose heads never appear. They make the answer "touched" where nothing was, never the other way
 * round.
 *
 * A head that is not known was written by another process, or belongs to a database that was set back. The order then
 * begins anew. Positions only ever rise, also from one beginning to the next.
 */
export class CommitOrder {
  readonly #positions = new Map<string, number>();
  /** The last position that touches a tag. */
  readonly #touched = new Map<string, number>();
  /** What was touched up to here is not known any more. */
  #forgotten = 0;
  #last = 0;
  #seen: number | undefined;

  /** The position of the commit that was sent last, or of the head that the order begins at. */
  get last(): number {
    return this.#last;
  }

  /** The highest position whose head was committed for sure: a query that starts now shows at least its state. */
  get seen(): number | undefined {
    return this.#seen;
  }

  /**
   * Takes note of a commit that is about to be sent.
   * @returns whether it follows the heads known so far; when it does not, they are forgotten
   */
  send(expected: string, next: string, tags: Iterable<string>): boolean {
    const from = this.#positions.get(expected);
    // Behind a head that was seen only a database that was set back takes a commit; a head comes twice when a batch that
    // failed is sent again unchanged. Neither has a place in the order.
    const follows = from !== undefined && from >= (this.#seen ?? from) && !this.#positions.has(next);
    // The head that it expects may be that of a commit still under way, so it was not seen.
    if (!follows) this.#beginAt(expected, undefined);
    const position = this.#append(next);
    if (this.#touched.size > MAX_TAGS) {
      this.#touched.clear();
      this.#forgotten = position;
    }
    for (const tag of tags) this.#touched.set(tag, position);
    return follows;
  }

  /** Takes note that a commit of this process was acknowledged. */
  acknowledge(head: string): void {
    const position = this.#positions.get(head);
    if (position !== undefined && position > (this.#seen ?? 0)) this.#seen = position;
  }

  /**
   * Takes note of the head that a query showed.
   * @param atLeast `seen` when the query was sent
   * @returns whether it is among the heads known so far; when it is not, they are forgotten
   */
  read(head: string, atLeast: number | undefined): boolean {
    const position = this.#positions.get(head);
    const follows = position !== undefined && position >= (atLeast ?? 0);
    if (follows) this.#seen = Math.max(this.#seen ?? 0, position);
    else this.#beginAt(head, this.#last + 1);
    return follows;
  }

  /** Whether no commit after this position touches any of the tags; false too when that is no longer remembered. */
  untouchedSince(position: number, tags: readonly string[]): boolean {
    if (position === this.#last) return true;
    return position >= this.#forgotten && tags.every((tag) => (this.#touched.get(tag) ?? 0) <= position);
  }

  #beginAt(head: string, seen: number | undefined): void {
    this.#positions.clear();
    this.#touched.clear();
    this.#forgotten = this.#append(head);
    this.#seen = seen;
  }

  #append(head: string): number {
    this.#last += 1;
    this.#positions.set(head, this.#last);
    const [oldest] = this.#positions.keys();
    if (this.#positions.size > REMEMBERED && oldest !== undefined) this.#positions.delete(oldest);
    return this.#last;
  }
}
