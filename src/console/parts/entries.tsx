import type { Api, WireInput } from "../../contract/operations.ts";
import { useLive } from "../live/use-live.ts";
import { EntryLink } from "./links.tsx";

/** Finds the entries about a thing. */
export type About = Pick<WireInput<"listAudit">, "marketId" | "userId" | "q">;

/** A change writes no more entries than this. */
const FEW = 10;

/**
 * The entry that tells a change: of a proposal its own, which the entry of the market's suspension may follow.
 * @param last the last entry that the change wrote
 */
export async function entryAbout(result: unknown, last: string | null, api: Api): Promise<string | number | null> {
  const { proposalId } = Object(result);
  if (last === null || proposalId === undefined) return last;
  const after = Math.max(0, Number(last) - FEW);
  const found = await api.listAudit({ after, limit: FEW }).catch(() => undefined);
  return found?.entries.findLast(({ payload }) => payload.proposalId === proposalId)?.seq ?? last;
}

/** Who changed it last. */
export function Newest({ about }: { about: About }) {
  const { value } = useLive((api) => api.listAudit({ ...about, limit: 1 }), JSON.stringify(about));
  const entry = value?.entries[0];
  if (!entry) return null;
  return (
    <>
      {" "}
      Last changed by <bdi>{entry.actor}</bdi>: {entry.type}, <EntryLink seq={entry.seq} />.
    </>
  );
}
