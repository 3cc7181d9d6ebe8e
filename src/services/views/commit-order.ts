/** The number of heads whose order is remembered: more than the commits sent while one query is answered. */
const REMEMBERED = 256;
/** Tags whose last commit is remembered. Beyond this number all are forgotten, and every earlier answer counts as touched. */
const MAX_TAGS = 100_000;

/**
 * The latest heads of the log in the order in which this process sent the commits that lead to them, and for each tag
 * the last commit that touched it. Pure.
 *
 * Every commit names the head that it expects, and the database accepts it only on that head. A commit is appended here
 * only if its expected head is known. So the path from a committed head back to an earlier one passes through
 * decreasing positions, and every change between the two is among the changes of those positions. Failed commits leave
 * positions whose heads never appear. They can only make an untouched answer look touched, never the reverse.
 *
 * An unknown head was written by another process, or belongs to a database that was set back. The order then starts
 * anew. Positions only ever rise, also across such a new start.
 */
export class CommitOrder {
  readonly #positions = new Map<string, number>();
  /** The last position that touched a tag. */
  readonly #touched = new Map<string, number>();
  /** Changes up to this position are forgotten. */
  #forgotten = 0;
  #last = 0;
  #seen: number | undefined;

  /** The position of the last commit sent, or of the head at which the order began. */
  get last(): number {
    return this.#last;
  }

  /** The highest position whose head was certainly committed: a query that starts now shows at least its state. */
  get seen(): number | undefined {
    return this.#seen;
  }

  /**
   * Records a commit that is about to be sent.
   * @returns whether it follows the known heads; if not, they are forgotten
   */
  send(expected: string, next: string, tags: readonly string[]): boolean {
    const from = this.#positions.get(expected);
    // Behind a head that was seen only a database that was set back takes a commit; a head comes twice when a batch that
    // failed is sent again unchanged. Neither has a place in the order.
    const follows = from !== undefined && from >= (this.#seen ?? from) && !this.#positions.has(next);
    // The expected head may belong to a commit in progress, so it does not count as seen.
    if (!follows) this.#beginAt(expected, undefined);
    const position = this.#append(next);
    if (this.#touched.size > MAX_TAGS) {
      this.#touched.clear();
      this.#forgotten = position;
    }
    for (const tag of tags) this.#touched.set(tag, position);
    return follows;
  }

  /** Records that a commit of this process was acknowledged. */
  acknowledge(head: string): void {
    const position = this.#positions.get(head);
    if (position !== undefined && position > (this.#seen ?? 0)) this.#seen = position;
  }

  /**
   * Records the head that a query showed.
   * @param atLeast `seen` when the query was sent
   * @returns whether it is among the known heads; if not, they are forgotten
   */
  read(head: string, atLeast: number | undefined): boolean {
    const position = this.#positions.get(head);
    const follows = position !== undefined && position >= (atLeast ?? 0);
    if (follows) this.#seen = Math.max(this.#seen ?? 0, position);
    else this.#beginAt(head, this.#last + 1);
    return follows;
  }

  /** Whether no commit after this position touches any of the tags; also false if that is forgotten. */
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
