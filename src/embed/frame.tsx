import { render } from "preact";
import { useState } from "preact/hooks";
import type { FrameData } from "../contract/embed.ts";
import { MarketView } from "./market-view.tsx";
import { MarketsView } from "./markets-view.tsx";
import { PortfolioView } from "./portfolio-view.tsx";
import type { Theme } from "./protocol.ts";
import { useSession } from "./session.ts";

function Frame({ data }: { data: FrameData }) {
  const [theme, setTheme] = useState(document.documentElement.dataset.theme ?? "dark");
  const session = useSession(data, (next: Theme) => {
    document.documentElement.dataset.theme = next;
    setTheme(next);
  });
  /** Each market is a document of its own, so that the back button works and a view holds one thing. */
  const open = (marketId: string): void => {
    session.bridge.tell("navigate", { marketId });
    const query = new URLSearchParams(location.search);
    query.set("marketId", marketId);
    query.set("theme", theme);
    location.assign(`/embed/market?${query}`);
  };
  if (data.error !== undefined)
    return (
      <main>
        <h1>{data.name}</h1>
        <p class="soft">{data.error}</p>
      </main>
    );
  if (data.view === "market" && data.market)
    return <MarketView data={data} market={data.market} session={session} theme={theme} />;
  if (data.view === "portfolio") return <PortfolioView data={data} session={session} open={open} />;
  return <MarketsView data={data} session={session} open={open} />;
}

const place = document.getElementById("app");
const block = document.getElementById("data");
if (place && block) render(<Frame data={JSON.parse(block.textContent ?? "{}")} />, place);
