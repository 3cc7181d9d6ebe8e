/** Keeps a price that hardly moved from looking like a cliff. */
const SMALLEST_SPAN_PERCENT = 20;

/** The axis covers the curve with some room, never less than the smallest span, and stays within 0 and 100. */
export function percentRange(low: number, high: number): [number, number] {
  const room = Math.max((SMALLEST_SPAN_PERCENT - (high - low)) / 2, (high - low) * 0.1);
  const bottom = Math.max(0, low - room);
  const top = Math.min(100, Math.max(high + room, bottom + SMALLEST_SPAN_PERCENT));
  return [Math.max(0, Math.min(bottom, top - SMALLEST_SPAN_PERCENT)), top];
}
