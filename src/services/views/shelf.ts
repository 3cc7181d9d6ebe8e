/** An answer that is kept in memory. */
export interface View {
  /** Always the same object, so that what is derived from it can be kept beside it. */
  readonly result: object;
  /** A commit that touches one of them changes the answer. */
  readonly tags: readonly string[];
  /** The answer is of this position in the order of commits, or of a later one. */
  readonly position: number;
  /** The first later position that touches one of its tags. */
  touchedAt: number;
  /** The database's clock says when time alone changes the answer, and that it has not been set back since. */
  readonly from: number;
  readonly until: number;
  /** Estimated, in bytes. */
  readonly weight: number;
  /** Takes it out of the map that it is found by. */
  readonly remove: () => void;
}

/** Views kept at the most, however small they are. */
const MAX_VIEWS = 20_000;

/** The views of a tenant, bounded in number and in bytes: those that were not used for longest go first. */
export class Shelf {
  readonly #maxBytes: number;
  /** The least recently used first. */
  readonly #views = new Set<View>();
  /** Views that no commit has touched yet. */
  readonly #byTag = new Map<string, Set<View>>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  add(view: View): void {
    this.#views.add(view);
    this.#bytes += view.weight;
    for (const tag of view.tags) {
      const views = this.#byTag.get(tag);
      if (views) views.add(view);
      else this.#byTag.set(tag, new Set([view]));
    }
    for (const oldest of this.#views) {
      if (this.#bytes <= this.#maxBytes && this.#views.size <= MAX_VIEWS) break;
      this.remove(oldest);
    }
  }

  use(view: View): void {
    this.#views.delete(view);
    this.#views.add(view);
  }

  remove(view: View): void {
    if (!this.#views.delete(view)) return;
    this.#bytes -= view.weight;
    this.#forgetTags(view);
    view.remove();
  }

  /** Notes that the commit at this position, which is later than all before, touches the tags. */
  touch(tags: Iterable<string>, position: number): void {
    for (const tag of tags)
      for (const view of this.#byTag.get(tag) ?? []) {
        view.touchedAt = position;
        this.#forgetTags(view);
      }
  }

  clear(): void {
    for (const view of this.#views) view.remove();
    this.#views.clear();
    this.#byTag.clear();
    this.#bytes = 0;
  }

  #forgetTags(view: View): void {
    for (const tag of view.tags) {
      const views = this.#byTag.get(tag);
      if (views?.delete(view) && views.size === 0) this.#byTag.delete(tag);
    }
  }
}
