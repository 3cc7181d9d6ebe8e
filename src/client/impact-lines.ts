import type { WireOutput } from "../contract/operations.ts";
import { counted } from "../domain/text.ts";

/** The effect of other rules on recent trades, a line for each rule that has one. @param usd formats an amount */
export function impactLines(
  { days, examined, complete, rules }: WireOutput<"previewPolicy">,
  usd: (amount: number) => string,
): string[] {
  const lines = rules.map(({ rule, refused, admittedUsers, note }) => {
    const effects = [
      ...(refused.trades > 0
        ? [
            `${counted(refused.trades, "trade")} of the last ${counted(days, "day")} (${usd(refused.usd)}) would have been refused`,
          ]
        : []),
      ...(admittedUsers ? [`${counted(admittedUsers, "more user")} may trade`] : []),
    ];
    return `${rule}: ${effects.length === 0 ? note : `${effects.join(", ")} (${note})`}`;
  });
  if (complete) return lines;
  return [...lines, `Only the latest ${counted(examined, "trade was", "trades were")} looked at.`];
}
