import { createHash } from "node:crypto";
import { readAssets } from "../../server/pages/assets.ts";

/** The HTML that a publisher pastes into a page. */
export interface Snippet {
  /** The loader, and the call that mounts the widget where it stands. */
  html: [script: string, call: string];
  /** Directives that a strict policy of the page needs. */
  csp: string;
  scriptUrl: string;
  integrity: string;
}

interface SnippetTerms {
  /** The tenant's own address. */
  baseUrl: string;
  view: string;
  theme: string;
  marketId?: string | undefined;
}

const PLACE = "prediction-markets";

/**
 * Two lines of HTML. The loader's integrity hash makes the page run exactly this file; the hash of the call's text allows it
 * without 'unsafe-inline' (CSP 3, 6.7.3.3).
 */
export function snippetFor({ baseUrl, view, theme, marketId }: SnippetTerms): Snippet {
  const { hashedPath, integrity } = readAssets();
  const { origin } = new URL(baseUrl);
  const scriptUrl = origin + hashedPath;
  const options = { view, theme, ...(marketId === undefined ? {} : { marketId }), autoHeight: true };
  // Without `<` nothing in it can end the script that it stands in.
  const call = `PredictionMarkets.embed("#${PLACE}", ${JSON.stringify(options).replaceAll("<", "\\u003c")})`;
  const callHash = createHash("sha256").update(call).digest("base64");
  return {
    html: [
      `<script src="${scriptUrl}" integrity="${integrity}" crossorigin="anonymous"></script>`,
      `<div id="${PLACE}"></div><script>${call}</script>`,
    ],
    csp: `script-src ${origin} 'sha256-${callHash}'; frame-src ${origin}`,
    scriptUrl,
    integrity,
  };
}
