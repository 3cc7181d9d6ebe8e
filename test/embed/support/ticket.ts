import type { Frame } from "playwright-core";
import type { Stage } from "./stage.ts";

/** A part of the frame by the name that publishers' own tests may rely on. */
export const part = (frame: Frame, name: string) => frame.locator(`[data-pm="${name}"]`);

/** The first press, until the quote is shown and waits to be confirmed. */
export async function ask(frame: Frame): Promise<void> {
  await part(frame, "submit").click();
  await part(frame, "change-order").waitFor();
}

/** Both presses, until the receipt is shown. */
export async function confirmed(frame: Frame): Promise<string> {
  await ask(frame);
  await part(frame, "submit").click();
  return part(frame, "receipt").innerText();
}

let trades = 0;

/** Another trader's purchase, which moves the price. */
export async function buyElsewhere(
  { tenant }: Stage,
  trade: { marketId: string; traderId: string; side: "yes" | "no"; dollars: number },
): Promise<void> {
  trades += 1;
  const { dollars, ...terms } = trade;
  const amountMicro = BigInt(Math.round(dollars * 1e6));
  await tenant.services.sequencer.submit({
    command: { type: "placeTrade", id: `trd_rival_${trades}`, ...terms, amountMicro, claimedJurisdiction: undefined },
    actor: `user:${trade.traderId}`,
  });
}
