/** Everything that a picture of a market shows, in final words and colours: equal drawings give equal pictures. */
export interface Drawing {
  size: "image" | "tile";
  /** The page's direction: where the words beside the curve stand. */
  direction: "ltr" | "rtl";
  /** Untrusted text. */
  question: string;
  /** The chance, or the result of a settled market. */
  odds: { text: string; color: string; label: string };
  closing: string;
  /** The tenant's name. */
  name: string;
  /** The curve's corners: shares of its width, and prices, 0 to 1. */
  curve: (readonly [x: number, price: number])[];
  /** What the upper and the lower end of the curve's axis stand for, 0 to 1, and their labels. */
  axis: { top: number; bottom: number; labels: readonly [top: string, bottom: string] };
  colors: { background: string; text: string; muted: string; border: string; line: string; accent: string };
}

/** Pixels. */
export const SIZES = {
  image: { width: 1200, height: 630 },
  tile: { width: 600, height: 400 },
} as const;
