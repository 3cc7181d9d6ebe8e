/**
 * Takes the text of a stream of server-sent events in any pieces and gives its events (HTML, 9.2.6, as far as our server
 * uses it).
 */
export class EventReader<Event extends { event: string; data: unknown }> {
  #pending = "";
  /** Of the last event that had one: where to go on. Remembered once the whole of its log entry has been seen. */
  lastId: string | undefined;
  /** How long the server asks to wait before the next connection. */
  retryMs: number | undefined;

  read(piece: string): Event[] {
    const blocks = (this.#pending + piece).split("\n\n");
    this.#pending = blocks.pop() ?? "";
    return blocks.flatMap((block) => this.#event(block));
  }

  /** The connection is gone, and with it the rest of a block that it broke off in. */
  reset(): void {
    this.#pending = "";
  }

  /** None for a comment. */
  #event(block: string): Event[] {
    const fields = new Map<string, string>();
    for (const line of block.split("\n")) {
      const [, name, value] = /^([^:]+): ?(.*)$/.exec(line) ?? [];
      if (name !== undefined && value !== undefined) fields.set(name, value);
    }
    this.lastId = fields.get("id") ?? this.lastId;
    const retryMs = Number(fields.get("retry"));
    if (retryMs > 0) this.retryMs = retryMs;
    const [event, data] = [fields.get("event"), fields.get("data")];
    return event === undefined || data === undefined ? [] : [{ event, data: JSON.parse(data) } as Event];
  }
}
