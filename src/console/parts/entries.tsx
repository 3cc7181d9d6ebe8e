import type { Api, WireInput } from "../../contract/operations.ts";
import { useLive } from "../live/use-live.ts";
import { EntryLink } from "./links.tsx";

/** Finds the entries about a thing. */
export type About = Pick<WireInput<"listAudit">, "marketId" | "userId" | "q">;

/** A change writes no more entries than this. */
const FEW = 10;

/**
 * The entry that tells a change: of a proposal its own, which the entry of the market's suspension may follow.
 * @param made who made the change, and the reason: a repeated answer does not name its entry
 */
export async function entryAbout(
  result: unknown,
  headers: Headers,
  made: [actor: string, reason: string],
  api: Api,
): Promise<string | number | null> {
  const { proposalId } = Object(result);
  const last = headers.has("idempotent-replayed") ? await newestOf(made, api) : headers.get("audit-seq");
  if (last === null || proposalId === undefined) return last;
  const after = Math.max(0, Number(last) - FEW);
  const found = await api.listAudit({ after, limit: FEW }).catch(() => undefined);
  return found?.entries.findLast(({ payload }) => payload.proposalId === proposalId)?.seq ?? last;
}

/** The newest entry of an actor's change for a reason. */
async function newestOf([actor, reason]: [string, string], api: Api): Promise<number | null> {
  const found = await api.listAudit({ actor, limit: FEW }).catch(() => undefined);
  return found?.entries.find(({ payload }) => payload.reason === reason)?.seq ?? null;
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
