/** What can stand in one list at a time. */
export interface Linked<Item extends Linked<Item>> {
  list: LinkedList<Item> | undefined;
  before: Item | undefined;
  after: Item | undefined;
}

/**
 * A list whose items leave from anywhere in constant time, the first one included. A `Set` keeps holes where its first
 * items were and walks over them.
 */
export class LinkedList<Item extends Linked<Item>> {
  first: Item | undefined;
  #last: Item | undefined;

  /** Puts an item that stands in no list at the end. */
  append(item: Item): void {
    item.list = this;
    item.before = this.#last;
    if (this.#last) this.#last.after = item;
    else this.first = item;
    this.#last = item;
  }

  remove(item: Item): void {
    if (item.before) item.before.after = item.after;
    else this.first = item.after;
    if (item.after) item.after.before = item.before;
    else this.#last = item.before;
    item.list = undefined;
    item.before = undefined;
    item.after = undefined;
  }
}
