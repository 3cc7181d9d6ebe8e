const [WIDTH, HEIGHT] = [96, 24];

/**
 * A small curve in a row of a list.
 * @param values oldest first
 * @param name says the same in words
 * @param range what the height covers; the values' own range without it
 */
export function Sparkline({
  values,
  name,
  range,
}: {
  values: readonly number[];
  name: string;
  range?: readonly [low: number, high: number];
}) {
  if (values.length < 2) return <span class="soft">—</span>;
  const low = range?.[0] ?? Math.min(...values);
  const span = (range?.[1] ?? Math.max(...values)) - low || 1;
  const points = values.map((value, index) => {
    const x = (index / (values.length - 1)) * WIDTH;
    const y = 1 + (1 - (value - low) / span) * (HEIGHT - 2);
    return `${x.toFixed(1)},${y.toFixed(1)}`;
  });
  return (
    <svg
      class="sparkline"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      width={WIDTH}
      height={HEIGHT}
      role="img"
      aria-label={name}
    >
      <polyline points={points.join(" ")} />
    </svg>
  );
}
