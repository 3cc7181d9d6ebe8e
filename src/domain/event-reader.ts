/**
 * Reads server-sent events from the text of a stream, in pieces of any size. It supports the part of HTML, 9.2.6, that
 * our server uses.
 */
export class EventReader<Event extends { event: string; data: unknown }> {
  #pending = "";
  /** The last event id, after which the next connection resumes. Only the last event of a log entry has an id. */
  lastId: string | undefined;
  /** The server's requested wait before the next connection. */
  retryMs: number | undefined;

  read(piece: string): Event[] {
    const blocks = (this.#pending + piece).split("\n\n");
    this.#pending = blocks.pop() ?? "";
    return blocks.flatMap((block) => this.#event(block));
  }

  /** Drops the unfinished block of a lost connection. */
  reset(): void {
    this.#pending = "";
  }

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
