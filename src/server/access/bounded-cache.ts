/**
 * Keeps the most recently used entries, up to a bound. The cache has a younger and an older half. Reading an entry moves it to
 * the younger half; when that is full, the older half is dropped as a whole. Reads within the younger half reorder nothing.
 */
export class BoundedCache<Value> {
  readonly #half: number;
  #younger = new Map<string, Value>();
  #older = new Map<string, Value>();

  /** @param bound the largest number of entries */
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
