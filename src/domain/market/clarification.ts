/** The most clarifications of one market: traders should be able to read all of them before a trade. */
export const MOST_CLARIFICATIONS = 20;
