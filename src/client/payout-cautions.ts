import type { Api, WireResult } from "../contract/operations.ts";
import { isolated } from "../domain/text.ts";

/** Entries about a user's restrictions that tell since when the present one lasts. */
const RESTRICTIONS = 50;

/** What speaks against paying out a trader's money, in sentences: a restriction, and a debt. An operator decides. */
export async function payoutCautions(
  { userId, state, owedUsd }: WireResult<"getUser">,
  api: Api,
): Promise<readonly string[]> {
  const who = isolated(userId);
  const owes = owedUsd > 0 ? [`${who} owes $${owedUsd}`] : [];
  if (state !== "restricted") return owes;
  const { entries } = await api.listAudit({ type: "user.restricted", userId, limit: RESTRICTIONS });
  const released = entries.findIndex(({ payload }) => payload.restricted === false);
  const present = released < 0 ? entries : entries.slice(0, released);
  const first = present.at(-1);
  const reason = present.find(({ payload }) => typeof payload.reason === "string")?.payload.reason;
  const since = first === undefined ? "" : ` since ${first.ts}`;
  return [`${who} is restricted${since}${reason === undefined ? "" : `: ${isolated(String(reason))}`}`, ...owes];
}
