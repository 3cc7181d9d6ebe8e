import type { MarketStatus } from "./market.ts";

/** Words by which operators choose markets: the four states, and three that name several of them. */
export const STATUS_WORDS = ["open", "suspended", "closed", "settled", "unsettled", "all", "waiting"] as const;
export type StatusWord = (typeof STATUS_WORDS)[number];

/** The states that a list takes in, by the clock of the moment; `waiting` adds the markets that wait for a person. */
export interface StatusFilter {
  statuses: ReadonlySet<MarketStatus>;
  waiting: boolean;
}

/** What a closed or held market waits for: a settlement by hand, or a decision on what stopped the oracle. */
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

/** What is wrong with a comma list of status words; undefined when nothing is. */
export function statusWordsProblem(text: string): string | undefined {
  const unknown = text.split(",").find((word) => !isStatusWord(word));
  return unknown === undefined ? undefined : `must be of ${STATUS_WORDS.join(", ")}, with commas between`;
}

/** @param text a comma list without a problem */
export function statusFilter(text: string): StatusFilter {
  const words = text.split(",").filter(isStatusWord);
  return {
    statuses: new Set(words.flatMap((word) => (word === "waiting" ? [] : MEANT[word]))),
    waiting: words.includes("waiting"),
  };
}

/** Whether a filter shows only what every trader sees. */
export function isPublicFilter({ statuses, waiting }: StatusFilter): boolean {
  return !waiting && [...statuses].every((status) => status === "open");
}

function isStatusWord(word: string): word is StatusWord {
  return STATUS_WORDS.some((each) => each === word);
}
