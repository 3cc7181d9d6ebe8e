import type { Fault } from "../../domain/fault.ts";
import type { Journal } from "../../ledger/journal.ts";
import { Unconfirmed } from "../../postgres/connect.ts";

/**
 * A journal that sends no change while the database has fewer standbys than required, and confirms none that was under way
 * when they went: a database that stops waiting for them answers as if nothing had happened.
 * @param refusal why changes are refused at present
 */
export function promisingJournal(journal: Journal, refusal: () => Fault | undefined): Journal {
  const confirmed = async <T>(write: Promise<T>): Promise<T> => {
    const answer = await write;
    const fault = refusal();
    if (fault) throw new Unconfirmed(fault.message, { cause: fault });
    return answer;
  };
  return {
    ...journal,
    commit: async (batch) => {
      const fault = refusal();
      if (fault) throw fault;
      return confirmed(journal.commit(batch));
    },
    confirmHead: () => confirmed(journal.confirmHead()),
    fence: () => confirmed(journal.fence()),
    exclusively: (work) => confirmed(journal.exclusively(work)),
  };
}
