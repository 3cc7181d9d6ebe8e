/**
 * Keeps the entries used last, up to a bound: an entry that is read moves from the older half to the younger one, and the
 * older half is dropped as a whole when the younger one is full. Reading an entry of the younger half reorders nothing.
 */
export class BoundedCache<Value> {
  readonly #half: number;
  #younger = new Map<string, Value>();
  #older = new Map<string, Value>();

  /** @param bound how many entries at the most */
  constructor(bound: number) {
    this.#half = Math.max(1, Math.floor(bound / 2));
  }

  get size(): number {
    return this.#younger.size + this.#older.size;
  }

  get(key: string): Value | undefined {
    const value = this.#younger.get(key);
    if (value !== undefined) return value;
    const older = this.#older.get(key);
    if (older !== undefined) this.set(key, older);
    return older;
  }

  set(key: string, value: Value): void {
    this.#older.delete(key);
    if (this.#younger.size >= this.#half && !this.#younger.has(key)) {
      this.#older = this.#younger;
      this.#younger = new Map();
    }
    this.#younger.set(key, value);
  }

  clear(): void {
    this.#younger.clear();
    this.#older.clear();
  }
}
