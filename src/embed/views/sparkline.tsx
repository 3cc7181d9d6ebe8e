/** A little curve of recent prices, millionths; decoration beside a price that is stated in words. */
export function Sparkline({ prices, latest }: { prices: readonly number[]; latest: number }) {
  // One price is no curve.
  if (prices.length < 2) return null;
  const points = [...prices, Math.round(latest * 1e6)];
  const low = Math.min(...points);
  const span = Math.max(...points) - low || 1;
  const path = points
    .map((price, index) => {
      const x = (index / (points.length - 1)) * 100;
      const y = 27 - ((price - low) / span) * 24;
      return `${index === 0 ? "M" : "L"}${x.toFixed(1)} ${y.toFixed(1)}`;
    })
    .join("");
  const rises = (points.at(-1) ?? 0) >= (points[0] ?? 0);
  return (
    <svg class={`spark ${rises ? "up" : "down"}`} viewBox="0 0 100 30" preserveAspectRatio="none" aria-hidden="true">
      <path d={path} vector-effect="non-scaling-stroke" />
    </svg>
  );
}
