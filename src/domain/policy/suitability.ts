export type SuitabilityThresholds = {
  /** A score below this blocks trading until re-assessment. */
  blockBelow: number;
  /** Ascending by `minScore`, beginning at 0; `capUsd: null` means no cap. */
  tiers: { minScore: number; capUsd: number | null }[];
};

/** Scores go from 0 to this number. */
export const HIGHEST_SCORE = 20;

/** Whether a user with this score may trade at all. */
export function isPassed(score: number, { blockBelow }: SuitabilityThresholds): boolean {
  return score >= blockBelow;
}

/** The cap of a score's tier in US dollars, null for none. Scores below the first tier belong to it. */
export function suitabilityCapUsd(score: number, { tiers }: SuitabilityThresholds): number | null {
  const tier = tiers.findLast(({ minScore }) => score >= minScore) ?? tiers[0];
  return tier?.capUsd ?? null;
}

/** Whether any score has a higher cap under the new thresholds, or is no longer blocked. */
export function raisesCaps(from: SuitabilityThresholds, to: SuitabilityThresholds): boolean {
  for (let score = 0; score <= HIGHEST_SCORE; score++) if (capOf(score, to) > capOf(score, from)) return true;
  return false;
}

/** -1, below every cap, if trading is blocked; above every cap if there is no cap. */
function capOf(score: number, thresholds: SuitabilityThresholds): number {
  if (!isPassed(score, thresholds)) return -1;
  return suitabilityCapUsd(score, thresholds) ?? Number.POSITIVE_INFINITY;
}

interface ThresholdProblem {
  path: (string | number)[];
  message: string;
}

/** The problems of tiers, each with the path of the value; empty if the tiers are valid. */
export function tierProblems(tiers: SuitabilityThresholds["tiers"]): ThresholdProblem[] {
  const problems: ThresholdProblem[] = [];
  tiers.forEach((tier, index) => {
    const previous = tiers[index - 1];
    const at = (message: string) => problems.push({ path: ["tiers", index, "minScore"], message });
    if (!previous && tier.minScore !== 0)
      at(`the first tier must start at 0: scores below ${tier.minScore} have no tier`);
    if (previous && tier.minScore <= previous.minScore)
      at(`tiers must ascend: ${tier.minScore} follows ${previous.minScore}`);
  });
  return problems;
}

/**
 * Tiers that no score reaches, because trading is blocked for all their scores. In a file, which states both, this is a
 * mistake. A live policy may have them, because an operator who only raises `blockBelow` means to block those scores.
 */
export function unreachableTiers({ tiers, blockBelow }: SuitabilityThresholds): ThresholdProblem[] {
  return tiers.flatMap(({ minScore }, index) => {
    const next = tiers[index + 1];
    if (!next || next.minScore <= minScore || next.minScore > blockBelow) return [];
    const message = `no score reaches this tier: trading is blocked below ${blockBelow}`;
    return [{ path: ["tiers", index, "minScore"], message }];
  });
}
