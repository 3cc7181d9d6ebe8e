import type { MarketStatus } from "./market.ts";

/** Words that select markets: the four states, and three words for several states. */
export const STATUS_WORDS = ["open", "suspended", "closed", "settled", "unsettled", "all", "waiting"] as const;
export type StatusWord = (typeof STATUS_WORDS)[number];

/** The states that a list includes, by the current time; `waiting` adds the markets that wait for a person. */
export interface StatusFilter {
  statuses: ReadonlySet<MarketStatus>;
  waiting: boolean;
}

/** What a closed or held market waits for: a manual settlement, or a decision about what stopped the oracle. */
export const WAITING_FOR = ["settlement", "oracle"] as const;
export type WaitingFor = (typeof WAITING_FOR)[number];

const UNSETTLED = ["open", "suspended", "closed"] as const;
const MEANT: Record<Exclude<StatusWord, "waiting">, readonly MarketStatus[]> = {
  open: ["open"],
  suspended: ["suspended"],
  closed: ["closed"],
  settled: ["settled"],
  unsettled: UNSETTLED,
  all: [...UNSETTLED, "settled"],
};

/** The problem of a comma-separated list of status words; undefined if it is valid. */
export function statusWordsProblem(text: string): string | undefined {
  const unknown = text.split(",").find((word) => !isStatusWord(word));
  return unknown === undefined ? undefined : `must be one or more of ${STATUS_WORDS.join(", ")}, separated by commas`;
}

/** @param text a valid comma-separated list */
export function statusFilter(text: string): StatusFilter {
  const words = text.split(",").filter(isStatusWord);
  return {
    statuses: new Set(words.flatMap((word) => (word === "waiting" ? [] : MEANT[word]))),
    waiting: words.includes("waiting"),
  };
}

/** Whether a filter shows only markets that every trader sees. */
export function isPublicFilter({ statuses, waiting }: StatusFilter): boolean {
  return !waiting && [...statuses].every((status) => status === "open");
}

function isStatusWord(word: string): word is StatusWord {
  return STATUS_WORDS.some((each) => each === word);
}
