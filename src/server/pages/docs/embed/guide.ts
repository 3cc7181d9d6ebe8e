import type { EmbedReference } from "../../assets.ts";
import { escapeHtml as text } from "../../html.ts";
import { prose, table } from "../html.ts";
import { codeBlock, memberTable, paragraph, proseTable } from "./parts.ts";
import { TROUBLES } from "./troubles.ts";

interface Section {
  id: string;
  title: string;
  /** HTML. */
  content: string;
}

/** What a publisher reads below the configurator. @param origin of the tenant @param marketId of the examples */
export function guideSections(reference: EmbedReference, origin: string, marketId: string): Section[] {
  const section = (id: string, title: string, ...content: string[]): Section => ({
    id,
    title,
    content: content.join(""),
  });
  return [
    section("ways", "Ways to show a market", proseTable(["Way", "For", "Readers can trade"], ways(origin, marketId))),
    section(
      "users",
      "Users who are signed in",
      paragraph(
        "The page hands the widget a token of its user; the widget keeps it in memory, sends it to the service alone, and asks again before it expires. What only the page can do, it is asked for.",
      ),
      codeBlock(userExample(marketId), "a call with a user"),
      paragraph(
        "Without `getToken` readers look, and are offered to sign in. Trading needs the page's origin in the service's `embed.allowedOrigins`.",
      ),
    ),
    section(
      "script",
      "The script",
      paragraph(
        `\`${origin}/assets/v1/embed.js\` stays at its address through all upgrades, so it has no \`integrity\`. It runs as a classic script, which sets \`PredictionMarkets\` (another name by \`data-global\`), and as a module, which exports \`embed\`, \`mount\` and \`unmount\`.`,
      ),
      memberTable(reference.script),
    ),
    section("options", "Options", memberTable(reference.options)),
    section(
      "handle",
      "The handle",
      paragraph("What `embed` and `mount` answer. A mistake goes to the console and is never thrown at the page."),
      memberTable(reference.handle),
    ),
    section(
      "events",
      "Events",
      paragraph("`onEvent({ name, detail })` is called with:"),
      table(
        ["Event", "Detail", "When"],
        reference.events.map(({ name, fields, text: words }) => [
          `<code>${name}</code>`,
          fields
            .map((field) => `<code>${field.name}${field.isOptional ? "?" : ""}: ${text(field.type)}</code>`)
            .join("<br>"),
          prose(words),
        ]),
      ),
      paragraph(
        "Codes of `error`: `UNREACHABLE`, `RATE_LIMITED`, `FRAME_REFUSED`, `BRAND_REFUSED`. Those of `refused` are the service's: see [the refusals].",
      ).replace("[the refusals]", '<a href="/docs/refusals">refusals</a>'),
    ),
    section(
      "actions",
      "Actions",
      paragraph(
        "`onAction(action)` is called with the event of the same name. Call `refreshToken()` when the user is done.",
      ),
      memberTable(reference.action),
    ),
    section(
      "element",
      "The element",
      codeBlock(
        `<script src="${origin}/assets/v1/embed.js"></script>\n<prediction-market market="${marketId}" theme="auto" height="640" auto-height></prediction-market>`,
        "the element",
      ),
      paragraph(
        "Changed attributes apply in place, and an element that is taken out ends its widget. `getToken`, `onAction` and `brand` are properties; `refreshToken()` is a method, `iframe` the frame.",
      ),
      proseTable(["Attribute", "Option"], ELEMENT_ATTRIBUTES),
      paragraph("Events bubble as `CustomEvent` named `pm-<event>` with the same `detail`:"),
      codeBlock(
        `document.addEventListener("pm-trade", ({ target, detail }) => count(target, detail.amount));`,
        "listening for trades",
      ),
    ),
    section(
      "frameworks",
      "npm, React and Vue",
      paragraph(
        "The package `prediction-markets-embed` is built from `embed/` of the service's sources (`npm run embed:package`). It has types and no dependencies, runs on servers without doing anything, and loads the service's own script once.",
      ),
      codeBlock(packageExample(origin, marketId), "with the package"),
      codeBlock(reactExample(origin, marketId), "React"),
      codeBlock(vueExample(origin, marketId), "Vue"),
      paragraph(
        "Both components follow their props, end their widget when they are taken out, and have `setTheme` and `refreshToken` on a `ref`.",
      ),
    ),
    section(
      "applications",
      "Single-page applications",
      paragraph(
        "`mount(element, options)` again on the same element changes its widget and answers the same handle; `unmount(element)` ends it. An element that the application throws away takes its widget along: nothing is left behind.",
      ),
      codeBlock(
        `const widget = PredictionMarkets.mount(element, { marketId: "${marketId}", autoHeight: true });\nwidget.update({ marketId: next }); // the frame stays, its contents change\nPredictionMarkets.unmount(element);`,
        "mount, change, unmount",
      ),
    ),
    section(
      "policy",
      "Content-Security-Policy, COEP",
      proseTable(["What", "The page's policy"], policies(origin)),
      paragraph(
        "The script writes no markup and sets styles by `style` properties alone, so `style-src` needs nothing. Pages that are isolated from other origins (`Cross-Origin-Embedder-Policy: require-corp`) may load the script, the frame and the pictures: each says `Cross-Origin-Resource-Policy: cross-origin`. Frames get no permissions such as camera or location.",
      ),
    ),
    section(
      "consent",
      "Consent and storage",
      paragraph(
        "No cookies, no identifiers, no third parties. One entry is written, `prediction-markets-heights` in the page's `localStorage`: how high each widget was, so that the next visit reserves that room. `consent: false` leaves it out; change it by `update({ consent: true })` when your reader agrees. The frame loads from the service, which sees the reader's address and your page's origin.",
      ),
    ),
    section(
      "languages",
      "Languages",
      paragraph(
        "`locale`, else the nearest `lang` of the page, else the service's language. Numbers, dates, money and the direction of writing follow it. Operators add languages by `embed.messages` and name categories by `embed.categories`; `pmctl embed messages --locale de` prints every word.",
      ),
    ),
    section(
      "brand",
      "Brand",
      paragraph(
        "Colours, font, corners, density, logo and the words for Yes and No come from the service (`embed.theme`). A page changes what the service lists in `embed.theme.overridable`; the rest, and colours on which text would have less than 4.5:1, are left out and told as `BRAND_REFUSED`.",
      ),
      memberTable(reference.brand),
    ),
    section(
      "loading",
      "Loading and height",
      paragraph(
        'A frame loads when its place comes near (`loading: "eager"` for one at the top of the page). Its room is reserved from `height`, else from the last visit, else from what the view takes as a rule, and nothing shrinks under a reader\'s hands. One stream of prices serves all widgets of a site in a browser.',
      ),
    ),
    section(
      "pictures",
      "Newsletters, links and oEmbed",
      proseTable(["Address", "What it is"], pictures(origin, marketId)),
      codeBlock(
        `<a href="${origin}/m/${marketId}"><img src="${origin}/m/${marketId}/tile.png?theme=light" width="600" height="400" alt="The chance now, drawn when you open this mail"></a>`,
        "a tile for a newsletter",
      ),
    ),
    section("trouble", "Troubleshooting", proseTable(["What is seen", "Cause", "Remedy"], TROUBLES)),
  ];
}

/** Each that the element observes, and the option that it stands for. */
export const ELEMENT_ATTRIBUTES: readonly (readonly [attribute: string, option: string])[] = [
  ["market", "`marketId`; two ids with a comma between them are `marketIds`"],
  ["view", "`view`"],
  ["theme", "`theme`"],
  ["height", "`height`"],
  ["auto-height", "`autoHeight`, by being there"],
  ["locale", "`locale`"],
  ["loading", "`loading`"],
  ["consent", '`consent`; "false" stores nothing'],
];

const ways = (origin: string, marketId: string): [string, string, string][] => [
  ["script and call", "articles, content systems that keep scripts", "yes"],
  [
    "`<prediction-market>`",
    "pages that write HTML, strict policies without hashes",
    "yes, with the property `getToken`",
  ],
  ["`prediction-markets-embed`", "applications with a bundler, React, Vue", "yes"],
  ["bare frame", "content systems that strip scripts", "no"],
  [
    `\`${origin}/m/${marketId}\``,
    "a link: previews show the question, the chance and the curve",
    "on the market's page",
  ],
  ["a picture", "newsletters and chats", "no"],
];

const policies = (origin: string): [string, string][] => [
  [
    "script and call",
    `\`script-src ${origin} 'sha256-…'; frame-src ${origin}\`: the hash stands beside the snippet; a nonce does as well`,
  ],
  ["element, package", `\`script-src ${origin}; frame-src ${origin}\``],
  ["bare frame", `\`frame-src ${origin}\``],
  ["pictures", `\`img-src ${origin}\``],
];

const pictures = (origin: string, marketId: string): [string, string][] => [
  [
    `\`${origin}/m/${marketId}\``,
    "the market's page, readable without scripts, with structured data and a preview for links",
  ],
  [`\`${origin}/m/${marketId}/tile.png\``, "600 × 400, always current; `theme` and `locale` in the query"],
  [`\`${origin}/m/${marketId}/image.png\``, "1200 × 630, the same for previews"],
  [
    `\`${origin}/oembed?url=${origin}/m/${marketId}\``,
    "oEmbed 1.0: editors that know it make a frame of a pasted link",
  ],
  [`\`${origin}/\``, "all open markets"],
];

const userExample = (marketId: string): string => `const widget = PredictionMarkets.embed("#market", {
  marketId: "${marketId}",
  autoHeight: true,
  getToken: () => session.token, // a JWT, or nothing
  onEvent: ({ name, detail }) => name === "trade" && count(detail.amount),
  onAction: ({ name }) => {
    if (name === "signin") openSignIn().then(() => widget.refreshToken());
    if (name === "deposit") location.assign("/account/deposit");
  },
});`;

const packageExample = (
  origin: string,
  marketId: string,
): string => `import { mount, unmount } from "prediction-markets-embed";

const widget = await mount("${origin}", element, { marketId: "${marketId}", autoHeight: true });
await unmount("${origin}", element);`;

const reactExample = (
  origin: string,
  marketId: string,
): string => `import { PredictionMarket } from "prediction-markets-embed/react";

<PredictionMarket origin="${origin}" marketId="${marketId}" autoHeight getToken={() => token} onEvent={log} />`;

const vueExample = (origin: string, marketId: string): string => `<script setup>
import { PredictionMarket } from "prediction-markets-embed/vue";
</script>
<template>
  <PredictionMarket origin="${origin}" market-id="${marketId}" auto-height :get-token="getToken" @event="log" @action="act" />
</template>`;
