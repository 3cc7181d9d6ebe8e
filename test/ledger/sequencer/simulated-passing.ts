import { Fault } from "../../../src/domain/fault.ts";
import type { Command } from "../../../src/engine/commands.ts";
import type { TradeResult } from "../../../src/engine/trade.ts";
import type { Head } from "../../../src/ledger/commit.ts";
import { CalledBack } from "../../../src/ledger/sequencer/faults.ts";
import {
  LATEST_DECISION_MS,
  type Leader,
  type Listener,
  type Passed,
  Passing,
  type Reply,
} from "../../../src/ledger/sequencer/passing.ts";
import type { FakeJournal } from "./fake-journal.ts";
import type { Scheduler } from "./scheduler.ts";
import type { Answered } from "./simulation.ts";
import type { Task } from "./tasks.ts";

export interface Asked {
  task: Task;
  command: Command;
}

/** A process as the others see it. */
export interface Peer {
  isAlive: boolean;
  readonly onDeath: Set<() => void>;
  readonly journal: FakeJournal;
  decide(asked: Asked, isCalledBack?: (head: Head) => boolean): Promise<Answered>;
}

/** One way between two processes of a machine at the most, and how long one is stopped at the most. */
const WAY_MS = 0.5;
const STOPPED_MS = 6000;

/** Passes the commands of a process to the oldest one that lives, on connections that break and processes that stop. */
export function passingBetween(
  self: Peer,
  peers: readonly Peer[],
  scheduler: Scheduler,
  count: (what: string) => void,
): Passing<Asked, Answered> {
  const { journal } = self;
  return new Passing({
    find: async (listener) => {
      await scheduler.sleep(scheduler.random.between(0, WAY_MS));
      const leader = peers.find(({ isAlive }) => isAlive);
      return leader && leader !== self ? connection(self, leader, listener, scheduler, count) : undefined;
    },
    decide: (asked) => self.decide(asked),
    readEpoch: async () => (await journal.readHead()).head.epoch,
    fence: () => {
      count("leaders lost");
      return journal.fence();
    },
    findAnswers: async (requests) => {
      const unkeyed = requests.filter(({ task }) => task.key === undefined);
      const ids = await journal.findTrades(unkeyed.map(({ command }) => idOf(command)));
      const stored = unkeyed.filter(({ command }) => ids.has(idOf(command)));
      for (const _ of stored) count("answered from what is stored");
      return new Map(stored.map((asked) => [asked, storedAnswer(asked)]));
    },
    monotonic: () => scheduler.now,
    after: (ms, run) => scheduler.after(ms, run),
    defer: (work) => void scheduler.after(scheduler.random.between(0, WAY_MS), work),
  });
}

function idOf(command: Command): string {
  return "id" in command ? command.id : "";
}

function storedAnswer({ command }: Asked): Answered {
  return { kind: "done", result: { tradeId: idOf(command) } as TradeResult, body: "" };
}

function connection(
  self: Peer,
  leader: Peer,
  listener: Listener<Answered>,
  scheduler: Scheduler,
  count: (what: string) => void,
): Leader<Asked> {
  const { random } = scheduler;
  let isCut = false;
  const [there, back] = [{ free: 0 }, { free: 0 }];
  /** In the order in which it was sent, later if the receiver is stopped. */
  const travel = (way: { free: number }, arrive: () => void) => {
    const stopped = random.chance(self.journal.faults.slow / 4) ? random.between(100, STOPPED_MS) : 0;
    way.free = Math.max(way.free, scheduler.now + random.between(0, WAY_MS) + stopped);
    scheduler.after(way.free - scheduler.now, arrive);
  };
  /** What is on its way arrives all the same. */
  const cut = () => {
    if (isCut) return;
    isCut = true;
    if (self.isAlive) scheduler.after(random.between(0, WAY_MS), () => listener.lost());
  };
  const reply = (replies: (Reply<Answered> & { id: number })[]) => {
    if (!leader.isAlive || isCut) return;
    if (random.chance(self.journal.faults.linkLost)) return cut();
    travel(back, () => !isCut && self.isAlive && listener.replied(replies));
  };
  const take = (sentAt: number, { id, epoch, request }: Passed<Asked>) => {
    const isCalledBack = (head: Head) => head.epoch !== epoch || scheduler.now > sentAt + LATEST_DECISION_MS;
    leader.decide(request, isCalledBack).then(
      (answer) => reply([{ id, kind: "answer", answer }]),
      (error) => {
        if (error instanceof CalledBack) {
          count("called back");
          reply([{ id, kind: "not decided" }]);
        } else {
          const fault = error instanceof Fault ? error : new Fault("INTERNAL", "Unexpected failure", { cause: error });
          reply([{ id, kind: "refused", fault }]);
        }
      },
    );
  };
  leader.onDeath.add(cut);
  return {
    send(passed) {
      const sentAt = scheduler.now;
      for (const each of passed) {
        count("passed");
        scheduler.note(() => `passed to ${leader.journal.name}: ${each.request.task.actor} in epoch ${each.epoch}`);
        travel(there, () => leader.isAlive && take(sentAt, each));
      }
      if (random.chance(self.journal.faults.linkLost / 5)) cut();
    },
    close() {
      isCut = true;
    },
  };
}
