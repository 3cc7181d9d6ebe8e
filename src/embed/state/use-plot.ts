import { useEffect, useRef, useState } from "preact/hooks";
import type { Point } from "../chart/curve.ts";
import type { Curve, Plot, PlotOptions } from "../chart/plot.ts";
import { LOOKS_CHANGED } from "./use-brand.ts";

/** What a drawn plot depends on beyond its curves. */
interface PlotTerms extends PlotOptions {
  theme: string;
  isShown: boolean;
}

/**
 * Draws curves in the element at `place` for as long as that is shown. The library that draws is loaded after the first
 * contents: a reader has the odds before the curve.
 */
export function usePlot(curves: readonly Curve[], { theme, isShown, axisTime, percent, onCursor }: PlotTerms) {
  const place = useRef<HTMLDivElement>(null);
  const latest = useRef(curves);
  latest.current = curves;
  const [plot, setPlot] = useState<Plot>();

  useEffect(() => {
    const element = place.current;
    if (!element || !isShown) return;
    let ended = false;
    let made: Plot | undefined;
    // Without the chart its place stays empty, and the sentence above it says the same.
    import("../chart/plot.ts")
      .then(({ drawPlot }) => {
        if (ended) return;
        made = drawPlot(element, latest.current, { axisTime, percent, ...(onCursor && { onCursor }) });
        setPlot(made);
      })
      .catch(() => {});
    return () => {
      ended = true;
      made?.end();
      setPlot(undefined);
    };
  }, [isShown, axisTime, percent, onCursor, curves.length]);
  useEffect(() => plot?.draw(curves), [plot, curves]);
  // The plot reads its colours when it paints.
  useEffect(() => plot?.repaint(), [plot, theme]);
  useEffect(() => {
    if (!plot) return;
    document.addEventListener(LOOKS_CHANGED, plot.repaint);
    return () => document.removeEventListener(LOOKS_CHANGED, plot.repaint);
  }, [plot]);

  return { place, pointAt: (point: Point | undefined) => plot?.pointAt(point) };
}
