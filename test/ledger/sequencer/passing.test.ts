import { expect, test } from "vitest";
import { Fault } from "../../../src/domain/fault.ts";
import { type Listener, type Passed, Passing, type Reply } from "../../../src/ledger/sequencer/passing.ts";
import { Random } from "./random.ts";
import { Scheduler } from "./scheduler.ts";

/** A process that passes commands to a leader whose replies the test makes. */
class Scene {
  readonly scheduler = new Scheduler(new Random(7));
  /** What went to the leader, in messages. */
  readonly sent: Passed<string>[][] = [];
  readonly decided: string[] = [];
  /** Commands that the leader has committed without a reply. */
  readonly stored = new Set<string>();
  epoch = 5n;
  looked = 0;
  fences = 0;
  failingFences = 0;
  hasLeader = true;
  isClosed = false;
  readonly passing: Passing<string, string>;
  #listener: Listener<string> | undefined;

  constructor() {
    this.passing = new Passing({
      find: async (listener) => {
        this.looked += 1;
        this.#listener = listener;
        if (!this.hasLeader) return undefined;
        return {
          send: (passed) => void this.sent.push([...passed]),
          close: () => {
            this.isClosed = true;
          },
        };
      },
      decide: async (request) => {
        this.decided.push(request);
        return `${request} decided here`;
      },
      readEpoch: async () => this.epoch,
      fence: async () => {
        this.fences += 1;
        if (this.failingFences > 0) {
          this.failingFences -= 1;
          throw new Error("no database");
        }
        this.epoch += 1n;
      },
      findAnswers: async (requests) => {
        const stored = requests.filter((request) => this.stored.has(request));
        return new Map(stored.map((request) => [request, `${request} is stored`]));
      },
      monotonic: () => this.scheduler.now,
      after: (ms, run) => this.scheduler.after(ms, run),
      defer: (work) => void this.scheduler.after(0, work),
    });
  }

  /** With the connection to the leader. */
  static async open(): Promise<Scene> {
    const scene = new Scene();
    scene.passing.meet();
    await scene.pass(0);
    return scene;
  }

  get leader(): Listener<string> {
    if (!this.#listener) throw new Error("No leader was looked for");
    return this.#listener;
  }

  reply(...replies: (Reply<string> & { id: number })[]): void {
    this.leader.replied(replies);
  }

  submit(request: string): Promise<string> {
    return this.passing.submit(request).catch((error) => (error instanceof Fault ? error.code : String(error)));
  }

  /** Lets time pass. */
  async pass(ms: number): Promise<void> {
    let over = false;
    this.scheduler.after(ms, () => {
      over = true;
    });
    await this.scheduler.run(() => over);
  }
}

test("commands of one turn of the event loop travel together, and each gets the leader's answer", async () => {
  const scene = await Scene.open();
  const answers = [scene.submit("a"), scene.submit("b")];
  await scene.pass(1);
  const passed = [
    { id: 1, epoch: 5n, request: "a" },
    { id: 2, epoch: 5n, request: "b" },
  ];
  expect(scene.sent).toEqual([passed]);
  const fault = new Fault("MARKET_CLOSED", "Market is closed");
  scene.reply({ id: 2, kind: "refused", fault }, { id: 1, kind: "answer", answer: "done" });
  expect(await Promise.all(answers)).toEqual(["done", "MARKET_CLOSED"]);
  expect(scene.decided).toEqual([]);
});

test("a process that met no other, and one that leads, decide by themselves; the second looks again after a second", async () => {
  const alone = new Scene();
  expect(await alone.submit("a")).toBe("a decided here");
  expect(alone.looked).toBe(0);
  alone.hasLeader = false;
  for (const ms of [0, 500, 600]) {
    alone.passing.meet();
    await alone.pass(ms);
  }
  alone.passing.meet();
  expect(alone.looked).toBe(2);
  expect(await alone.submit("b")).toBe("b decided here");
});

test("a lost leader: after the fence, what is stored is answered from there, and the rest is decided here", async () => {
  const scene = await Scene.open();
  const answers = [scene.submit("stored"), scene.submit("not stored")];
  await scene.pass(1);
  scene.stored.add("stored");
  scene.leader.lost();
  expect(await Promise.all(answers)).toEqual(["stored is stored", "not stored decided here"]);
  expect(scene.fences).toBe(1);
  expect(scene.decided).toEqual(["not stored"]);
  expect(await scene.submit("later")).toBe("later decided here");
  // An answer that comes too late changes nothing.
  scene.reply({ id: 2, kind: "answer", answer: "done" });
});

test("nothing is decided here while the fence fails, and after eight seconds the outcome is unknown", async () => {
  const scene = await Scene.open();
  const first = scene.submit("a");
  await scene.pass(1);
  scene.failingFences = 2;
  scene.leader.lost();
  await scene.pass(400);
  expect(scene.decided).toEqual([]);
  await scene.pass(200);
  expect(await first).toBe("a decided here");
  scene.failingFences = 1000;
  await scene.pass(5000);
  scene.passing.meet();
  await scene.pass(1);
  const second = scene.submit("b");
  await scene.pass(1);
  scene.leader.lost();
  await scene.pass(9000);
  expect(await second).toBe("OUTCOME_UNKNOWN");
  expect(scene.decided).toEqual(["a"]);
});

test("a leader that is silent for three seconds counts as lost; one that answers others does not", async () => {
  const scene = await Scene.open();
  const slow = scene.submit("slow");
  for (let second = 0; second < 5; second++) {
    const other = scene.submit("other");
    await scene.pass(1000);
    scene.reply({ id: scene.sent.flat().at(-1)?.id ?? 0, kind: "answer", answer: "done" });
    expect(await other).toBe("done");
  }
  expect(scene.fences).toBe(0);
  await scene.pass(3100);
  expect(await slow).toBe("slow decided here");
  expect(scene.fences).toBe(1);
  expect(scene.isClosed).toBe(true);
});

test("a command that the leader has not decided is decided here, and the next one is passed in the new epoch", async () => {
  const scene = await Scene.open();
  const first = scene.submit("a");
  await scene.pass(1);
  scene.epoch = 9n;
  scene.reply({ id: 1, kind: "not decided" });
  expect(await first).toBe("a decided here");
  await scene.pass(1);
  void scene.submit("b");
  await scene.pass(1);
  expect(scene.sent.at(-1)).toEqual([{ id: 2, epoch: 9n, request: "b" }]);
  expect(scene.fences).toBe(0);
});

test("a leader that leaves gets no more commands, answers the last ones, and needs no fence", async () => {
  const scene = await Scene.open();
  const first = scene.submit("a");
  await scene.pass(1);
  scene.leader.leaves();
  expect(await scene.submit("b")).toBe("b decided here");
  expect(scene.isClosed).toBe(false);
  scene.reply({ id: 1, kind: "answer", answer: "done" });
  expect(await first).toBe("done");
  expect(scene.isClosed).toBe(true);
  scene.leader.lost();
  expect(scene.fences).toBe(0);
});

test("a leader without a database is left: its commands are decided here", async () => {
  const scene = await Scene.open();
  const first = scene.submit("a");
  await scene.pass(1);
  const fault = new Fault("DATABASE_UNAVAILABLE", "The database is not available; nothing was executed");
  scene.reply({ id: 1, kind: "refused", fault });
  expect(await first).toBe("a decided here");
  expect(await scene.submit("b")).toBe("b decided here");
  scene.passing.meet();
  expect(scene.looked).toBe(1);
});

test("a leader that does not know what became of a command is left: this process finds it out", async () => {
  const scene = await Scene.open();
  const answers = ["stored", "not stored", "under way"].map((request) => scene.submit(request));
  await scene.pass(1);
  scene.stored.add("stored");
  const fault = new Fault("OUTCOME_UNKNOWN", "The database did not confirm the change");
  scene.reply({ id: 1, kind: "refused", fault }, { id: 2, kind: "refused", fault });
  expect(await Promise.all(answers.slice(0, 2))).toEqual(["stored is stored", "not stored decided here"]);
  expect(scene.fences).toBe(1);
  expect(await scene.submit("later")).toBe("later decided here");
  scene.reply({ id: 3, kind: "answer", answer: "done" });
  expect(await answers[2]).toBe("done");
  expect(scene.isClosed).toBe(true);
});

test("a process that ends passes nothing more and keeps the connection until the last reply", async () => {
  const scene = await Scene.open();
  const first = scene.submit("a");
  await scene.pass(1);
  scene.passing.close();
  expect(await scene.submit("b")).toBe("b decided here");
  scene.reply({ id: 1, kind: "answer", answer: "done" });
  expect(await first).toBe("done");
  expect(scene.isClosed).toBe(true);
  scene.passing.meet();
  expect(scene.looked).toBe(1);
});
