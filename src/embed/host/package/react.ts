import { createElement, forwardRef, useEffect, useImperativeHandle, useRef } from "react";
import { type EmbedOptions, type Kept, keepWidget } from "./index.ts";

export type * from "./index.ts";

export interface PredictionMarketProps extends EmbedOptions {
  /** The service's, such as `https://predict.example.com`. */
  origin: string;
  className?: string | undefined;
  id?: string | undefined;
}

/** What a `ref` of the component holds. */
export type PredictionMarketHandle = Pick<Kept, "setTheme" | "refreshToken">;

/** A widget that follows its props. Functions among them may be new ones at every rendering. */
export const PredictionMarket = forwardRef<PredictionMarketHandle, PredictionMarketProps>(function PredictionMarket(
  { origin, className, id, ...options },
  ref,
) {
  const place = useRef<HTMLDivElement>(null);
  const kept = useRef<Kept>(undefined);
  useEffect(() => {
    if (!place.current) return;
    const widget = keepWidget(origin, place.current, options);
    kept.current = widget;
    return () => widget.end();
  }, [origin]);
  useEffect(() => kept.current?.update(options));
  useImperativeHandle(
    ref,
    () => ({
      setTheme: (theme) => kept.current?.setTheme(theme),
      refreshToken: () => kept.current?.refreshToken(),
    }),
    [],
  );
  return createElement("div", { ref: place, className, id });
});
