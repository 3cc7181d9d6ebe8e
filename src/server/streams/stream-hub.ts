import { streamEvents } from "../../contract/resources/stream.ts";
import type { Pool } from "../../postgres/pool.ts";
import { readAuditHead } from "../../queries/audit.ts";
import type { FollowedEntry } from "../../queries/stream.ts";
import { holdAgainst } from "../../services/answers.ts";
import type { AuditTail } from "../../services/audit/audit-tail.ts";
import { type LiveEvent, liveEventsOf, readBeginning } from "../../services/streams.ts";
import type { StreamCaller, StreamSeats } from "../connections/stream-seats.ts";
import { type EventStream, formatEvent } from "./event-stream.ts";

const HEARTBEAT_MS = 15_000;
/** The most entries that are sent again; for more, a snapshot is cheaper. */
const MAX_REPLAY = 1_000;

/** Calls back when credentials of one kind end; `watch` returns a function that stops the calls. */
export interface CredentialSource {
  watch(onEnded: () => void): () => void;
}

export interface StreamClient extends StreamCaller {
  stream: EventStream;
  markets: ReadonlySet<string> | undefined;
  /** Whether the credentials that opened the stream are still valid. */
  isStillValid: () => Promise<boolean>;
}

/** An entry's events as text, created once for all clients. */
interface Rendered {
  seq: bigint;
  events: (LiveEvent & { text: string })[];
}

/** All open streams, and one follower of the log for all of them. */
export class StreamHub {
  readonly #tail: AuditTail;
  readonly #pool: Pick<Pool, "read" | "snapshot">;
  readonly #seats: StreamSeats;
  readonly #heartbeatMs: number;
  readonly #clients = new Map<StreamClient, (entry: Rendered) => void>();
  /** Readings that have not begun, by their markets. */
  readonly #beginnings = new Map<string, ReturnType<typeof readBeginning>>();
  #lastReading: Promise<unknown> = Promise.resolve();
  #stop: Promise<{ position: bigint; stop: () => void }> | undefined;
  /** The last entry that clients have seen. */
  #position = 0n;
  readonly #credentials: readonly CredentialSource[];
  #heartbeat: NodeJS.Timeout | undefined;
  #unwatch: (() => void) | undefined;
  #closed = false;

  /** @param credentials streams end when their credentials end */
  constructor(
    tail: AuditTail,
    pool: Pick<Pool, "read" | "snapshot">,
    seats: StreamSeats,
    heartbeatMs = HEARTBEAT_MS,
    credentials: readonly CredentialSource[] = [],
  ) {
    this.#tail = tail;
    this.#pool = pool;
    this.#seats = seats;
    this.#heartbeatMs = heartbeatMs;
    this.#credentials = credentials;
  }

  get size(): number {
    return this.#clients.size;
  }

  /** Starts to send: a snapshot or the events after `lastId`, then new events. */
  async add(client: StreamClient, lastId: bigint | undefined): Promise<void> {
    const { stream } = client;
    // Entries that arrive while the snapshot is being read are sent after it.
    const waiting: Rendered[] = [];
    this.#clients.set(client, (entry) => waiting.push(entry));
    this.#seats.take(client);
    stream.onEnd = () => this.#remove(client);
    this.#unwatch ??= this.#watchCredentials();
    stream.send(": connected\n\n");
    if (this.#closed) return stream.end("shutdown");
    try {
      this.#stop ??= this.#tail.follow((entries) => this.#publish(entries));
      const { position } = await this.#stop;
      if (this.#position < position) this.#position = position;
      let from = this.#position;
      // Another server has sent entries that this one has not followed yet.
      if (lastId !== undefined && lastId > from && (await this.#isInLog(lastId))) from = lastId;
      const missed = lastId === undefined ? undefined : await this.#missed(lastId, from);
      if (missed) for (const entry of missed) deliver(client, entry);
      else {
        const beginning = await this.#beginning(client.markets && [...client.markets].toSorted());
        await this.#tail.outlives(beginning.head);
        from = beginning.head.seq;
        stream.send(formatEvent("snapshot", beginning.snapshot, from));
      }
      const follow = (entry: Rendered) => {
        if (entry.seq > from) deliver(client, entry);
      };
      for (const entry of waiting) follow(entry);
      if (!stream.ended) this.#clients.set(client, follow);
    } catch (error) {
      this.#remove(client);
      stream.end("shutdown");
      throw error;
    }
    if (stream.ended) return;
    this.#heartbeat ??= setInterval(() => this.#beat(), this.#heartbeatMs).unref();
  }

  /** Ends all streams; later ones end at once. */
  close(): void {
    this.#closed = true;
    for (const { stream } of [...this.#clients.keys()]) stream.end("shutdown");
  }

  #publish(entries: readonly FollowedEntry[]): void {
    for (const entry of entries) {
      this.#position = entry.seq;
      const rendered = render(entry);
      if (rendered.events.length > 0) for (const take of [...this.#clients.values()]) take(rendered);
    }
  }

  /**
   * The state of the markets once the stream is added. Streams of the same markets share a reading that has not begun,
   * and readings run one at a time: however many streams open, connections stay free for other reads.
   */
  #beginning(markets: readonly string[] | undefined): ReturnType<typeof readBeginning> {
    const wanted = JSON.stringify(markets ?? null);
    const shared = this.#beginnings.get(wanted);
    if (shared) return shared;
    const reading = this.#lastReading.then(() => {
      this.#beginnings.delete(wanted);
      return this.#pool.snapshot((sql) => readBeginning(sql, markets));
    });
    this.#beginnings.set(wanted, reading);
    this.#lastReading = reading.catch(() => {});
    return reading;
  }

  /** The entries after `lastId`; undefined if the client needs a snapshot, because its id is unknown or too old. */
  async #missed(lastId: bigint, until: bigint): Promise<Rendered[] | undefined> {
    if (lastId > until || until - lastId > MAX_REPLAY) return undefined;
    const entries = await this.#tail.entriesAfter(lastId, Number(until - lastId));
    return entries.filter(({ seq }) => seq <= until).map(render);
  }

  async #isInLog(seq: bigint): Promise<boolean> {
    return (await this.#pool.read(readAuditHead)).seq >= seq;
  }

  #beat(): void {
    for (const { stream } of [...this.#clients.keys()]) stream.send(": still here\n\n");
    this.endInvalid();
  }

  /** Ends the streams whose credentials are no longer valid. */
  endInvalid(): void {
    for (const client of [...this.#clients.keys()]) {
      client.isStillValid().then(
        (valid) => {
          if (!valid) client.stream.end("credentials");
        },
        // The database is unavailable; the next heartbeat tries again.
        () => {},
      );
    }
  }

  #watchCredentials(): () => void {
    const stops = this.#credentials.map((each) => each.watch(() => this.endInvalid()));
    return () => {
      for (const stop of stops) stop();
    };
  }

  #remove(client: StreamClient): void {
    if (this.#clients.delete(client)) this.#seats.leave(client);
    if (this.#clients.size > 0) return;
    clearInterval(this.#heartbeat);
    this.#heartbeat = undefined;
    this.#unwatch?.();
    this.#unwatch = undefined;
    this.#stop?.then(({ stop }) => stop()).catch(() => {});
    this.#stop = undefined;
  }
}

function render(entry: FollowedEntry): Rendered {
  const events = liveEventsOf(entry).map((event) => ({ ...event, text: formatEvent(event.name, checked(event)) }));
  return { seq: entry.seq, events };
}

/** Checks an event against the contract, except price and trade, because the fill of the same entry contains them. */
function checked({ name, data }: LiveEvent): LiveEvent["data"] {
  const isPart = name === "price" || name === "trade";
  return isPart ? data : holdAgainst("streamEvents", streamEvents[name], data);
}

function deliver({ stream, userId, markets }: StreamClient, { seq, events }: Rendered): void {
  const mine = events.filter((event) => event.userId === undefined || event.userId === userId);
  const wanted = markets ? mine.filter(({ marketId }) => markets.has(marketId)) : mine;
  if (wanted.length === 0) return;
  const last = wanted.length - 1;
  stream.send(
    wanted.map(({ name, data, text }, index) => (index === last ? formatEvent(name, data, seq) : text)).join(""),
  );
}
