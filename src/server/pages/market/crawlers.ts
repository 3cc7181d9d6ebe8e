import { completeTheme, type StatedTheme } from "../../../domain/theme/stated-theme.ts";
import type { Answer } from "../../responses.ts";

const DAY_CACHE = "public, max-age=86400";

/** What `/robots.txt` says (RFC 9309). Programs that preview links heed it too, so `noindex` leaves a link without a picture. */
export function robotsAnswer(robots: "index" | "noindex"): Answer {
  const rules = robots === "index" ? "Disallow: /v1/\nAllow: /\n" : "Disallow: /\n";
  return {
    status: 200,
    body: `User-agent: *\n${rules}`,
    contentType: "text/plain; charset=utf-8",
    cacheControl: "public, max-age=3600",
  };
}

/** A rising curve in the theme's accent, as SVG, which browsers take under this name too. */
export function faviconAnswer(theme: StatedTheme): Answer {
  const { accent, onAccent } = completeTheme(theme).colors;
  const faces = `rect{fill:${accent.light}}path{stroke:${onAccent.light}}@media(prefers-color-scheme:dark){rect{fill:${accent.dark}}path{stroke:${onAccent.dark}}}`;
  return {
    status: 200,
    body: `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><style>${faces}</style><rect width="32" height="32" rx="7"/><path d="M6 23h6v-6h6v-4h4V8h4" fill="none" stroke-width="3.5" stroke-linejoin="round" stroke-linecap="round"/></svg>`,
    contentType: "image/svg+xml",
    // A picture's style counts in the picture alone; the policy lets it, for those who open the address itself.
    contentSecurityPolicy: "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    cacheControl: DAY_CACHE,
  };
}
