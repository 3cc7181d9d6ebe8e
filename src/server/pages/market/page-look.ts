import { completeTheme, type StatedTheme, themeSources } from "../../../domain/theme/stated-theme.ts";
import { themeStyle } from "../../../domain/theme/style.ts";
import { hashSource } from "../html.ts";

const STYLE = `*{box-sizing:border-box}body{margin:0;background:var(--pm-background);color:var(--pm-text);font:16px/1.5 var(--pm-font);font-variant-numeric:tabular-nums}
header,main{max-width:48rem;margin:0 auto;padding:1rem}header{border-block-end:1px solid var(--pm-border)}
a{color:var(--pm-accent)}header a,h2 a{display:inline-block;min-height:1.5rem;text-decoration:none}header a{font-weight:600}
h1,h2{margin:0 0 .4rem;line-height:1.25;overflow-wrap:anywhere;text-wrap:balance}h1{font-size:1.6rem}h2{font-size:1.15rem}
p{margin:.3rem 0}section{margin-block-start:1.4rem}section h2{font-size:1rem;color:var(--pm-muted)}
.card{padding:1rem;background:var(--pm-surface);border:1px solid var(--pm-border);border-radius:var(--pm-radius)}
.big{font-size:1.7rem;line-height:1.2}.yes{color:var(--pm-yes)}.no{color:var(--pm-no)}.soft{color:var(--pm-muted)}
.rules{white-space:pre-line;overflow-wrap:anywhere}.list{display:grid;gap:.8rem;margin:1rem 0;padding:0;list-style:none}
form{display:flex;flex-wrap:wrap;gap:.5rem;margin-block:1rem}input,button{min-height:2.75rem;padding:.4rem .8rem;font:inherit;color:inherit;background:var(--pm-surface);border:1px solid var(--pm-muted);border-radius:var(--pm-radius)}
input{flex:1 1 12rem;min-width:0}button{cursor:pointer;color:var(--pm-onAccent);background:var(--pm-accent);border-color:var(--pm-accent)}
:focus-visible{outline:2px solid var(--pm-accent);outline-offset:2px}
.place{display:grid}.place>*{grid-area:1/1;min-width:0}.place .widget{visibility:hidden}
@media(scripting:enabled){.place{min-height:40rem}}.live .widget{margin-inline:-1rem}.live .once{display:none}.place .card{align-self:start}
.live .place .widget{visibility:visible}.live .place .card{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}.live .place .card p{display:none}
@media print{.place{min-height:0}.place .widget{display:none}.live .place .card{position:static;width:auto;height:auto;clip-path:none}.live .place .card p{display:block}}`;

/** Mounts the widget in its place, and replaces the card once the widget has contents. */
export const SCRIPT = `const place=document.querySelector(".widget");PredictionMarkets.embed(place,{...place.dataset,signIn:false,autoHeight:true,onEvent({name}){if(name==="ready")document.documentElement.classList.add("live");if(name==="signin"&&place.dataset.signIn)location.assign(place.dataset.signIn)}})`;

/** The look of a tenant's pages. */
export interface PageLook {
  style: string;
  policy: string;
}

/** The page's own script and style, named by their hashes, the loader, the widget's frame, and the theme's sources. */
export function pageLook(theme: StatedTheme): PageLook {
  const style = `${themeStyle(completeTheme(theme))}${STYLE}`;
  const { fontSrc, imgSrc } = themeSources(theme);
  const policy = [
    "default-src 'none'",
    `script-src 'self' ${hashSource(SCRIPT)}`,
    `style-src ${hashSource(style)}`,
    `img-src ${["'self'", ...imgSrc].join(" ")}`,
    ...(fontSrc.length === 0 ? [] : [`font-src ${fontSrc.join(" ")}`]),
    "frame-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
  return { style, policy };
}
