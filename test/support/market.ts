/** The body of `POST /v1/markets` for a test that needs a market and not this one; what matters to it, it states. */
export function anyMarket<Change extends object>(change: Change) {
  return {
    question: "Will it rain?",
    category: "weather",
    kind: "cpmm" as "cpmm" | "lmsr",
    p0: 0.5,
    closeAt: "2096-01-01T00:00:00Z",
    resolutionRef: "the press",
    ...change,
  };
}
