import { describe, expect, test } from "vitest";
import type { Batch, Head } from "../../../src/ledger/commit.ts";
import type { ReadSql } from "../../../src/postgres/connect.ts";
import { VIEW_BYTES, Views } from "../../../src/services/views/views.ts";
import { Random } from "../../ledger/sequencer/random.ts";

type Values = Record<string, number>;

/** A moment of the database: where its log ended, what each account held, what time it was. */
interface Moment {
  head: Head;
  values: Values;
  now: number;
}

/** What a query is doing: it waits for its snapshot, then for its answer. */
interface Query {
  snapshot: Moment | undefined;
  answer(moment: Moment): void;
}

const TAGS = ["a", "b", "c"];
const HOUR = 10;
const settled = () => new Promise((resolve) => setImmediate(resolve));

/**
 * A database whose every step the test chooses: when a commit is taken, when a query gets its snapshot, and when either
 * is heard of. It keeps all its moments, so that an answer can be looked for among those since its question.
 */
class Stage {
  readonly moments: Moment[] = [{ head: headOf(0), values: { a: 0, b: 0, c: 0 }, now: 1 }];
  readonly queries: Query[] = [];
  readonly sent: { batch: Batch; isTaken: boolean | undefined }[] = [];
  readonly views: Views;
  loads = 0;
  #heads = 0;

  constructor(maxBytes = VIEW_BYTES) {
    const reader = { read: <T>(query: (sql: ReadSql) => PromiseLike<T>) => this.#readHead(query) };
    this.views = new Views({ reader, maxBytes });
  }

  get now(): Moment {
    return this.moments.at(-1) as Moment;
  }

  /** A kept read of some accounts, and of the hour, which changes by time alone. */
  reader(tags: readonly string[]): () => Promise<{ values: Values; hour: number }> {
    const read = this.views.share(
      () => tags.join(),
      async () => {
        this.loads += 1;
        const { values, now } = await this.#query();
        const hour = Math.floor(now / HOUR);
        const shown = Object.fromEntries(tags.map((tag) => [tag, values[tag] ?? 0]));
        return { result: { values: shown, hour }, tags, until: (hour + 1) * HOUR };
      },
    );
    return () => read(undefined);
  }

  /** @param touched accounts that the commit changes */
  send(expected: Head, touched: readonly string[], next = this.freshHead()): void {
    const writes = touched.map((id) => ({
      table: "account" as const,
      key: id,
      row: { id, balanceMicro: 0n, version: 0 },
    }));
    const batch = { expected, next, before: null, writes, transfers: [], trades: [], audit: [] };
    this.views.sent(batch);
    this.sent.push({ batch, isTaken: undefined });
  }

  /** The database takes a commit that this process sent, or refuses it because the head is another one. */
  take(index: number): void {
    const commit = this.sent[index];
    if (!commit || commit.isTaken !== undefined) return;
    const { expected, next, writes } = commit.batch;
    commit.isTaken = expected.hash === this.now.head.hash;
    if (commit.isTaken)
      this.change(
        writes.map(({ key }) => key),
        next,
      );
  }

  acknowledge(index: number): void {
    const [commit] = this.sent.splice(index, 1);
    if (commit?.isTaken) this.views.committed(commit.batch.next);
  }

  /** A commit of any process. */
  change(touched: readonly string[], head = this.freshHead()): void {
    const { values, now } = this.now;
    const changed = Object.fromEntries(touched.map((tag) => [tag, (values[tag] ?? 0) + 1]));
    this.moments.push({ head, values: { ...values, ...changed }, now });
  }

  pass(ms: number): void {
    this.moments.push({ ...this.now, now: this.now.now + ms });
  }

  freshHead(): Head {
    this.#heads += 1;
    return headOf(this.#heads);
  }

  /** Answers everything under way from this moment. */
  async answerAll(): Promise<void> {
    for (let idle = 0; idle < 2; idle++) {
      await settled();
      for (const query of this.queries.splice(0)) {
        query.answer(query.snapshot ?? this.now);
        idle = -1;
      }
    }
  }

  #query(): Promise<Moment> {
    return new Promise((resolve) => {
      this.queries.push({ snapshot: undefined, answer: resolve });
    });
  }

  /** Runs the query for the head on a client that has one row. */
  async #readHead<T>(query: (sql: ReadSql) => PromiseLike<T>): Promise<T> {
    const { head, now } = await this.#query();
    const rows = [{ seq: String(head.seq), hash: head.hash, epoch: String(head.epoch), now }];
    return query((async () => rows) as unknown as ReadSql);
  }
}

const headOf = (number: number): Head => ({ seq: BigInt(number), hash: `hash ${number}`, epoch: 1n, ts: 0 });

describe("answers kept in memory", () => {
  test("whatever is sent, taken, refused, answered late or written by others, every answer is of a moment since its question", async () => {
    let fromMemory = 0;
    for (let seed = 1; seed <= 120; seed++) {
      const chance = new Random(seed);
      const random = () => chance.next();
      const upTo = (count: number) => Math.floor(random() * count);
      const some = () => TAGS.filter(() => random() < 0.4);
      const stage = new Stage();
      const kinds = [["a"], ["b"], ["a", "b"], ["b", "c"]];
      const readers = kinds.map((tags) => stage.reader(tags));
      const wrong: unknown[] = [];
      const asked: Promise<void>[] = [];
      const ask = (kind: number) => {
        const since = stage.moments.length - 1;
        asked.push(
          readers[kind]?.().then((answer) => {
            const isTrue = stage.moments
              .slice(since)
              .some(
                ({ values, now }) =>
                  kinds[kind]?.every((tag) => values[tag] === answer.values[tag]) &&
                  Math.floor(now / HOUR) === answer.hour,
              );
            if (!isTrue) wrong.push({ seed, answer, since: stage.moments[since] });
          }) ?? Promise.resolve(),
        );
      };
      const acts: (() => void)[] = [
        () => ask(upTo(kinds.length)),
        () => ask(upTo(kinds.length)),
        // On the head as it stands, on that of a commit still under way, or on one that is long past.
        () => stage.send(stage.now.head, some()),
        () => stage.send(stage.sent.at(-1)?.batch.next ?? stage.now.head, some()),
        () => stage.send(stage.moments[upTo(stage.moments.length)]?.head ?? stage.now.head, some()),
        // The same batch once more, as after an error that left nothing.
        () => {
          const { batch, isTaken } = stage.sent[upTo(stage.sent.length)] ?? {};
          if (batch && isTaken === false)
            stage.send(
              batch.expected,
              batch.writes.map(({ key }) => key),
              batch.next,
            );
        },
        () => stage.take(upTo(stage.sent.length)),
        () => stage.take(0),
        () => stage.acknowledge(upTo(stage.sent.length)),
        () => stage.acknowledge(0),
        () => random() < 0.3 && stage.change(some()),
        () => stage.pass(upTo(4)),
        () => {
          const query = stage.queries[upTo(stage.queries.length)];
          if (query) query.snapshot ??= stage.now;
        },
        () => {
          const query = stage.queries.splice(upTo(stage.queries.length), 1)[0];
          query?.answer(query.snapshot ?? stage.now);
        },
        () => {
          const query = stage.queries.shift();
          query?.answer(query.snapshot ?? stage.now);
        },
      ];
      for (let step = 0; step < 160; step++) {
        acts[upTo(acts.length)]?.();
        await settled();
      }
      await stage.answerAll();
      await Promise.all(asked);
      expect(wrong).toEqual([]);
      fromMemory += asked.length - stage.loads;
    }
    // The schedules are of use only if many of the answers were not loaded.
    expect(fromMemory).toBeGreaterThan(500);
  });

  /** Asks, and lets the database answer. */
  async function answered<Answer>(stage: Stage, read: () => Promise<Answer>): Promise<Answer> {
    const answer = read();
    await stage.answerAll();
    return answer;
  }

  test("while nothing touches it, an answer is the same object, and is loaded once", async () => {
    const stage = new Stage();
    const [read, other] = [stage.reader(["a"]), stage.reader(["b"])];
    const first = await answered(stage, read);
    stage.send(stage.now.head, ["b"]);
    stage.take(0);
    stage.acknowledge(0);
    expect(await answered(stage, read)).toBe(first);
    await answered(stage, other);
    expect(await answered(stage, read)).toBe(first);
    expect(stage.loads).toBe(2);
  });

  test("a commit that failed costs a load and does no harm", async () => {
    const stage = new Stage();
    const read = stage.reader(["a"]);
    await answered(stage, read);
    const { head } = stage.now;
    stage.send(head, ["a"], stage.freshHead());
    stage.sent.length = 0;
    stage.send(head, ["a"]);
    stage.take(0);
    stage.acknowledge(0);
    expect(await answered(stage, read)).toMatchObject({ values: { a: 1 } });
    expect(await answered(stage, read)).toMatchObject({ values: { a: 1 } });
    expect(stage.loads).toBe(2);
  });

  test("a database that was set back to a head once seen is asked anew", async () => {
    const stage = new Stage();
    const read = stage.reader(["a"]);
    const before = stage.now;
    await answered(stage, read);
    stage.send(before.head, ["a"]);
    stage.take(0);
    stage.acknowledge(0);
    expect(await answered(stage, read)).toMatchObject({ values: { a: 1 } });
    stage.moments.push(before);
    expect(await answered(stage, read)).toMatchObject({ values: { a: 0 } });
    // Also when a commit on that head is the first to mention it.
    stage.send(before.head, ["a"]);
    stage.take(0);
    stage.acknowledge(0);
    expect(await answered(stage, read)).toMatchObject({ values: { a: 1 } });
    stage.moments.push(before);
    stage.send(before.head, ["b"]);
    stage.take(0);
    expect(await answered(stage, read)).toMatchObject({ values: { a: 0 } });
  });

  test("an answer is given up to the instant at which time alone changes it, and no longer", async () => {
    const stage = new Stage();
    const read = stage.reader(["a"]);
    const first = await answered(stage, read);
    stage.pass(HOUR - 2);
    expect(await answered(stage, read)).toBe(first);
    stage.pass(1);
    expect(await answered(stage, read)).toMatchObject({ hour: 1 });
    expect(stage.loads).toBe(2);
  });

  test("a clock that was set back makes no answer hold longer", async () => {
    const stage = new Stage();
    const read = stage.reader(["a"]);
    stage.pass(10 * HOUR);
    await answered(stage, read);
    expect(await answered(stage, read)).toMatchObject({ hour: 10 });
    stage.pass(-5 * HOUR);
    expect(await answered(stage, read)).toMatchObject({ hour: 5 });
  });

  test("memory is bounded: the answers that were not used for longest are loaded again", async () => {
    const stage = new Stage(3000);
    const readers = Array.from({ length: 30 }, (_, index) => stage.reader([`account ${index}`]));
    for (const read of readers) await answered(stage, read);
    expect(stage.loads).toBe(30);
    await answered(stage, readers[29] ?? readers[0] ?? (async () => undefined));
    expect(stage.loads).toBe(30);
    await answered(stage, readers[0] ?? (async () => undefined));
    expect(stage.loads).toBe(31);
  });

  test("where nothing is to be kept, each question is one query", async () => {
    const stage = new Stage(0);
    const read = stage.reader(["a"]);
    for (let question = 0; question < 3; question++) {
      const answer = read();
      await settled();
      expect(stage.queries).toHaveLength(1);
      await stage.answerAll();
      await answer;
    }
    expect(stage.loads).toBe(3);
  });
});
