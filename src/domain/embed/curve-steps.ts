/**
 * A price curve as differences between successive points, with times and prices separate: compressed, a third of the
 * bytes of the points themselves.
 */
export interface CurveSteps {
  /** Milliseconds; the first is relative to the epoch. */
  t: number[];
  /** YES prices, millionths. */
  yes: number[];
}

/** Milliseconds since the epoch, and the YES price from then on, 0 to 1. */
export type CurvePoint = [t: number, yes: number];

export function stepsOf(points: readonly CurvePoint[]): CurveSteps {
  const differences = (values: readonly number[]): number[] =>
    values.map((value, index) => value - (values[index - 1] ?? 0));
  return { t: differences(points.map(([t]) => t)), yes: differences(points.map(([, yes]) => Math.round(yes * 1e6))) };
}

export function pointsOf({ t, yes }: CurveSteps): CurvePoint[] {
  let [time, ppm] = [0, 0];
  return t.map((step, index) => {
    time += step;
    ppm += yes[index] ?? 0;
    return [time, ppm / 1e6];
  });
}
