import type { StreamEvents } from "../../contract/resources/stream.ts";

/** An event of the stream, by its name. */
export type LiveEvent = {
  [Name in keyof StreamEvents]: { name: Name; data: StreamEvents[Name] };
}[keyof StreamEvents];

/** Takes the text of a stream in any pieces and gives its events (HTML, 9.2.6, as far as our server uses it). */
export class EventReader {
  #pending = "";
  /** Of the last event that had one: where to go on. */
  lastId: string | undefined;

  read(piece: string): LiveEvent[] {
    const blocks = (this.#pending + piece).split("\n\n");
    this.#pending = blocks.pop() ?? "";
    return blocks.flatMap((block) => this.#event(block));
  }

  /** The connection is gone, and with it the rest of a block that it broke off in. */
  reset(): void {
    this.#pending = "";
  }

  #event(block: string): LiveEvent[] {
    const fields = new Map<string, string>();
    for (const line of block.split("\n")) {
      const colon = line.indexOf(":");
      if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 1).trimStart());
    }
    this.lastId = fields.get("id") ?? this.lastId;
    const [name, data] = [fields.get("event"), fields.get("data")];
    if (name === undefined || data === undefined) return [];
    return [{ name, data: JSON.parse(data) } as LiveEvent];
  }
}
