import { Fault } from "../../domain/fault.ts";
import type { HeadReading, Journal } from "../../ledger/journal.ts";
import { StatementFailed } from "../../postgres/connect.ts";
import type { Evidence } from "./evidence.ts";

/** A journal that refuses changes to a log that was set back, has no head, holds rows after its head, or is another key's. */
export function guardJournal(journal: Journal, evidence: Evidence): Journal {
  const required = async (reading: HeadReading): Promise<HeadReading> => {
    await evidence.require(reading.head, journal.contains);
    await evidence.requireOurLog(reading.head);
    return reading;
  };
  return {
    ...journal,
    readHead: async () => required(await journal.readHead()),
    confirmHead: async () => required(await journal.confirmHead()),
    takeTurn: async (known) => {
      const turn = await journal.takeTurn(known);
      return required(turn.reading).then(
        () => turn,
        (error) => {
          turn.end();
          throw error;
        },
      );
    },
    exclusively: (work) => journal.exclusively(async (reading) => work(await required(reading))),
    commit: async (batch) => {
      evidence.requireSound();
      try {
        return await journal.commit(batch);
      } catch (error) {
        throw isCollision(error) ? collided(error) : error;
      }
    },
  };
}

const UNIQUE_VIOLATION = "23505";
/** Primary keys made of an entry's number. The head decides who writes a number, so none is taken before. */
const NUMBERED = ["audit_pkey", "transfer_pkey", "trade_pkey", "hedge_pkey"];

function isCollision(error: unknown): boolean {
  if (!(error instanceof StatementFailed) || error.sqlState !== UNIQUE_VIOLATION) return false;
  const { constraint_name } = error.cause as { constraint_name?: string };
  return NUMBERED.includes(constraint_name ?? "");
}

function collided(cause: unknown): Fault {
  return new Fault("INTEGRITY", "Changes are refused: rows stand after the head of the log", { cause });
}
