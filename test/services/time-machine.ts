import { auditKey, sealCheck } from "../../src/domain/audit/seal.ts";
import { type HeadReading, type Journal, openJournal } from "../../src/ledger/journal.ts";
import { Sequencer } from "../../src/ledger/sequencer/sequencer.ts";
import type { TestDatabase } from "../support/postgres.ts";
import { AUDIT_SECRET } from "../support/tenant.ts";

/**
 * The real sequencer on the real journal, for which the database's clock shows the past. The past only moves forward,
 * as time does.
 */
export class TimeMachine {
  readonly sequencer: Sequencer;
  readonly #journal: Journal;
  readonly #startedMsAgo: number;
  #msAgo: number;

  constructor(database: TestDatabase, msAgo: number) {
    this.#startedMsAgo = msAgo;
    this.#msAgo = msAgo;
    const key = auditKey(AUDIT_SECRET);
    const journal = openJournal(database.connection, { restricted: false, isSealed: sealCheck([key]) });
    const shift = <T extends { now: number }>(reading: T): T => ({ ...reading, now: reading.now - this.#msAgo });
    this.#journal = {
      ...journal,
      readHead: async () => shift(await journal.readHead()),
      confirmHead: async () => shift(await journal.confirmHead()),
      commit: async (batch) => shift(await journal.commit(batch)),
      fence: async () => shift(await journal.fence()),
      takeTurn: async (known) => {
        const turn = await journal.takeTurn(known);
        return { ...turn, reading: shift(turn.reading) };
      },
      exclusively: (work) => journal.exclusively((reading: HeadReading) => work(shift(reading))),
    };
    this.sequencer = new Sequencer({
      journal: this.#journal,
      auditKey: key,
      // Carried between readings, so it must take part in the journey.
      monotonic: () => performance.now() + this.#startedMsAgo - this.#msAgo,
    });
  }

  /** Goes to an instant, unless what happened before it has taken so long that it is over. */
  reach(instant: number): void {
    this.#msAgo = Math.min(this.#msAgo, Date.now() - instant);
  }

  async close(): Promise<void> {
    await this.sequencer.close();
    await this.#journal.close();
  }
}
