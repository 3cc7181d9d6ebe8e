import { readPages } from "../../../client/pages.ts";
import { useLive } from "../../live/use-live.ts";
import { Section } from "../../parts/view.tsx";
import { addressOf } from "../../router.ts";
import { Withdrawals, waitingApprovals } from "../funds/withdrawals.tsx";

/** The most pending withdrawals of the tenant among which the trader's are looked for. */
const SEARCHED = 1000;

/** A trader's pending withdrawals, with their decisions. The API lists those of all traders. */
export function OwnWithdrawals({ id, pendingUsd }: { id: string; pendingUsd: number }) {
  const live = useLive(async (api) => {
    if (pendingUsd === 0) return { rows: [], proposals: [], isWhole: true };
    const [{ items, nextCursor }, proposals] = await Promise.all([
      readPages(SEARCHED, (page) => api.listWithdrawals({ status: "pending", ...page })),
      waitingApprovals(api),
    ]);
    return { rows: items.filter(({ userId }) => userId === id), proposals, isWhole: nextCursor === null };
  }, `${id} ${pendingUsd}`);
  return (
    <Section title="Withdrawals" live={live}>
      {({ rows, proposals, isWhole }) => (
        <>
          <Withdrawals
            rows={rows}
            proposals={proposals}
            empty="No withdrawal of the trader waits for a decision. The statement shows those that were decided."
          />
          {!isWhole && (
            <p class="soft">
              Looked for among the {SEARCHED} newest. <a href={addressOf("/funds")}>Look at all that wait</a>
            </p>
          )}
        </>
      )}
    </Section>
  );
}
