import { mountAt, unmountAt } from "./mount.ts";
import type { Embed, EmbedOptions } from "./types.ts";
import { attempt } from "./warn.ts";

const NAME = "prediction-market";
const PROPERTIES = ["getToken", "onAction", "brand"] as const;

/** `<prediction-market market="mkt_…">`: the same widget for pages that write HTML. */
class PredictionMarketElement extends HTMLElement {
  static readonly observedAttributes = [
    ...["market", "view", "theme", "height", "auto-height", "locale", "loading", "consent"],
  ];
  #embed: Embed | undefined;
  /** Options that pages set as properties, because attributes hold only text. */
  readonly given: Pick<EmbedOptions, (typeof PROPERTIES)[number]> = {};
  #isChanging = false;

  connectedCallback(): void {
    if (!this.style.display) this.style.display = "block";
    for (const name of PROPERTIES) this.#adopt(name);
    this.#embed = attempt(NAME, () => mountAt(this, this.#options()));
  }

  disconnectedCallback(): void {
    unmountAt(this);
    this.#embed = undefined;
  }

  /** Without it, `moveBefore` would take the frame out and put it in again. */
  connectedMoveCallback(): void {}

  /** Several attributes that are set one after the other change the widget once. */
  attributeChangedCallback(): void {
    if (this.#isChanging) return;
    this.#isChanging = true;
    queueMicrotask(() => {
      this.#isChanging = false;
      attempt(NAME, () => this.#embed?.update(this.#options()));
    });
  }

  get iframe(): HTMLIFrameElement | null {
    return this.#embed?.iframe ?? null;
  }

  refreshToken(): void {
    this.#embed?.refreshToken();
  }

  #options(): EmbedOptions {
    const text = (name: string): string | undefined => this.getAttribute(name) || undefined;
    const isOn = (name: string): boolean => this.hasAttribute(name) && this.getAttribute(name) !== "false";
    const market = text("market")?.split(",");
    return {
      ...Object.fromEntries(["view", "theme", "locale", "loading", "height"].map((name) => [name, text(name)])),
      marketId: market?.[0],
      // Two ids make a comparison.
      marketIds: market?.[1] ? market : undefined,
      autoHeight: isOn("auto-height"),
      consent: text("consent") !== "false",
      ...this.given,
      onEvent: ({ name, detail }) => this.dispatchEvent(new CustomEvent(`pm-${name}`, { detail, bubbles: true })),
    };
  }

  /** A property that the page set before this class was defined is on the element itself and hides the setter. */
  #adopt(name: string): void {
    const value: unknown = Object.getOwnPropertyDescriptor(this, name)?.value;
    if (Reflect.deleteProperty(this, name) && value !== undefined) Reflect.set(this, name, value);
  }
}

for (const name of PROPERTIES)
  Object.defineProperty(PredictionMarketElement.prototype, name, {
    get(this: PredictionMarketElement) {
      return this.given[name];
    },
    set(this: PredictionMarketElement, value: never) {
      this.given[name] = value;
      this.attributeChangedCallback();
    },
  });

/** Defines the element once, by whichever script comes first: a browser takes one class for a name. */
export function defineElement(): void {
  if (!customElements.get(NAME)) customElements.define(NAME, PredictionMarketElement);
}
