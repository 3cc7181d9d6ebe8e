import type { Action, Brand, EmbedEvent, Theme, View } from "../protocol.ts";

/** What a page asks for. Every option is optional. */
export interface EmbedOptions {
  /** Default: `compare` with `marketIds`, `market` with `marketId`, else `markets`. */
  view?: View | undefined;
  /** Default: `auto`, the reader's own. */
  theme?: Theme | undefined;
  /** CSS pixels. With `autoHeight`, the space reserved until the widget has its contents. */
  height?: number | undefined;
  /** The market of the views `market` and `card`. Default: the top trending one. */
  marketId?: string | undefined;
  /** The two markets of `compare`. */
  marketIds?: readonly string[] | undefined;
  /** The frame grows and shrinks with its contents. */
  autoHeight?: boolean | undefined;
  /** A BCP 47 tag. Default: the language of the page. */
  locale?: string | undefined;
  /** Default: `lazy`, the frame loads when the reader comes near it. */
  loading?: "lazy" | "eager" | undefined;
  /** false: neither the page's script nor the frame stores anything in the browser. Default: true. */
  consent?: boolean | undefined;
  /** false: readers cannot sign in on this page; the widget names the site where they can trade. Default: true. */
  signIn?: boolean | undefined;
  /** Colours, font, corners, density and words that the page changes, where the tenant allows it. */
  brand?: Brand | undefined;
  /** Returns a JWT of the signed-in user, or nothing. Called again before the token expires. */
  getToken?: (() => string | null | undefined | Promise<string | null | undefined>) | undefined;
  /** Called with each event of the widget. */
  onEvent?: ((event: EmbedEvent) => void) | undefined;
  /** Called when the user needs the page: to sign in, to be verified, to pay in, to answer questions. */
  onAction?: ((action: Action) => void) | undefined;
}

/** One widget on the page. */
export interface Embed {
  /** null where no element matched. */
  readonly iframe: HTMLIFrameElement | null;
  /** Changes the colours at once. */
  setTheme(theme: Theme): void;
  /** Calls `getToken` again: after a sign-in or sign-out, or when something about the user changed. */
  refreshToken(): void;
  /** Changes these options and keeps the others. `undefined` restores the default. */
  update(options: EmbedOptions): void;
  /** Removes the widget from the page for good. */
  destroy(): void;
}

/** What the script puts on the page, under the name that the page chose. */
export interface PredictionMarkets {
  /** Mounts a widget in the first element that matches. */
  embed(selector: string | Element, options?: EmbedOptions): Embed;
  /** Mounts a widget in the element. On the same element again, changes that widget and returns the same handle. */
  mount(element: Element, options?: EmbedOptions): Embed;
  /** Removes the widget from the element. @returns whether there was one */
  unmount(element: Element): boolean;
  /** Version of the service that this script came from. */
  readonly version: string;
}
