import "./locale.ts";
import { render } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { FrameData } from "../contract/resources/embed.ts";
import { withSides } from "../locales/languages.ts";
import { speakerFor } from "../locales/speaker.ts";
import { useBrand } from "./brand.ts";
import { type Brand, queryOf, type Shown, type Theme } from "./protocol.ts";
import { Speech } from "./speech.ts";
import { useSession } from "./state/session.ts";
import styles from "./styles/frame.css";
import { Logo } from "./views/logo.tsx";
import { MarketView } from "./views/market-view.tsx";
import { MarketsView } from "./views/markets-view.tsx";
import { PortfolioView } from "./views/portfolio-view.tsx";

/** Labels of the link back, by the view that a market was opened from. */
const BACK: Record<string, string> = { markets: "All markets", portfolio: "Your positions" };

function Frame({ data }: { data: FrameData }) {
  const [theme, setTheme] = useState(document.documentElement.dataset.theme ?? "dark");
  const [brand, setBrand] = useState<Brand | null>(null);
  const session = useSession(data, {
    onTheme(next: Theme) {
      document.documentElement.dataset.theme = next;
      setTheme(next);
    },
    onBrand: setBrand,
    onUpdate: (shown: Shown) => location.replace(addressOf(shown.view, queryOf(shown))),
  });
  const { logo, words = {} } = useBrand(data.theme, brand, session.bridge);
  const speaker = useMemo(
    () => speakerFor(data.locale, withSides(data.messages, words, data.locale)),
    [data.locale, data.messages, words],
  );
  const marketId = data.market?.detail.id;
  useEffect(() => {
    session.bridge.tell("view", { view: data.view, ...(marketId === undefined ? {} : { marketId }) });
  }, [data]);
  /** The same frame, showing something else: each view is a document of its own, so the browser's back button works. */
  const addressOf = (view: string, change: Record<string, string>): string => {
    const query = new URLSearchParams(location.search);
    query.delete("from");
    query.delete("marketId");
    for (const [name, value] of Object.entries({ theme, ...change })) query.set(name, value);
    return `/embed/${view}?${query}`;
  };
  const open = (marketId: string): void => {
    location.assign(addressOf("market", { marketId, from: data.view }));
  };
  const from = new URLSearchParams(location.search).get("from") ?? "";
  const label = Object.hasOwn(BACK, from) ? BACK[from] : undefined;
  const back = label === undefined ? undefined : { label, href: addressOf(from, {}) };
  return (
    <Speech.Provider value={speaker}>
      <Logo logo={logo} />
      {data.view === "market" && data.market ? (
        <MarketView data={data} market={data.market} session={session} theme={theme} back={back} />
      ) : data.view === "portfolio" ? (
        <PortfolioView data={data} session={session} open={open} />
      ) : (
        <MarketsView data={data} session={session} open={open} />
      )}
    </Speech.Provider>
  );
}

const sheet = new CSSStyleSheet();
sheet.replaceSync(styles);
document.adoptedStyleSheets.push(sheet);

const place = document.getElementById("app");
const block = document.getElementById("data");
if (place && block) {
  const data = JSON.parse(block.textContent ?? "{}") as FrameData;
  // What the server wrote is for readers without scripts, and for the moment before this one.
  place.replaceChildren();
  delete place.dataset.static;
  render(<Frame data={data} />, place);
}
