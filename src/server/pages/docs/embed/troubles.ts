/** What publishers see when something is wrong, why, and what helps. */
export const TROUBLES: readonly (readonly [symptom: string, cause: string, remedy: string])[] = [
  [
    "An empty place, and `nothing on this page matches` in the console",
    "The call ran before its element was there, or the selector names another one.",
    "Keep the snippet's lines together and in order, or call after `DOMContentLoaded`. In applications use `mount` when the element is rendered.",
  ],
  [
    "An empty place, and `PredictionMarkets is not defined`",
    "The script was not loaded: the page's policy or a blocker of scripts stopped it, or it has `defer` or `async` and the call came first.",
    "Look at the console's first message. Leave `defer` and `async` out, or use the element, which waits for its script by itself.",
  ],
  [
    "`Refused to load the script` or `Refused to execute inline script`",
    "The page's Content-Security-Policy.",
    "Add the directives that stand beside the snippet. The hash belongs to exactly these options: it changes with them. The element needs no hash.",
  ],
  [
    "`Refused to frame`, or the card `cannot be shown right now`, with the event `error` and `FRAME_REFUSED`",
    "The page's policy lacks `frame-src`, or the page's origin is not in the service's `embed.allowedOrigins`.",
    "Allow the frame in the page's policy, and have the origin listed: scheme, host and port, without a path. `pmctl embed check --origin ORIGIN` tells.",
  ],
  [
    "The card `cannot be shown right now`, with the event `error` and `UNREACHABLE`",
    "The service does not answer.",
    "Nothing to do on the page: the widget tries again by itself, after `retryInMs`, and comes back.",
  ],
  [
    "`Very many readers are here right now`, with `RATE_LIMITED`",
    "More reads of one address than the service allows in a minute, as behind the proxy of a company.",
    "It comes back by itself. The operator may raise `rateLimit.embedPerMinute`, or has to name the proxy in `server.trustProxy`.",
  ],
  [
    "Only looking: no buttons to buy",
    "The page's origin is not in `embed.allowedOrigins`, the snippet is a bare frame, or the service has no public key that is valid.",
    "Have the origin listed, use the script or the element. The event `ready` says `mayTrade`.",
  ],
  [
    "Sign in does nothing",
    "The widget signs nobody in: that is the page's work, and the page does not listen.",
    "Pass `onAction`, open your sign-in on `signin`, and call `refreshToken()` when the user is back.",
  ],
  [
    "The user is signed in, and the widget still asks for it",
    "`getToken` answers nothing, or a token that the service refuses: expired, of another issuer or audience.",
    "Answer a JWT of the user, freshly made, and call `refreshToken()` after signing in and out. `refused` says the service's code.",
  ],
  [
    "It speaks another language than the page",
    "The `lang` of the page or of an element around the widget is missing or another one, or the service has no messages of that language.",
    'Set `<html lang="de">`, or `locale`. Languages that are not there fall back to the service\'s own.',
  ],
  [
    "The text below jumps when the widget comes",
    "No room was reserved, or styles of the page change the frame's height.",
    "Keep `height` in the snippet, together with `autoHeight`, and leave the frame's height to the script.",
  ],
  [
    "A bar to scroll within the widget",
    "`autoHeight` is off, or the snippet is a bare frame, which cannot grow.",
    "Turn `autoHeight` on; give a bare frame more `height`.",
  ],
  [
    "Colours or font of `brand` are not used",
    "The service does not let pages change them, or the text could not be read on them.",
    "Listen for `error` with `BRAND_REFUSED`, whose message names the part and the reason. The operator lists parts in `embed.theme.overridable`.",
  ],
  [
    "`offline` or `connecting` stays, and prices stand still",
    "A proxy between holds back the event stream, or cuts it.",
    "Let `/embed/stream` pass without buffering. Trades work meanwhile: their price is asked for anew.",
  ],
  [
    "Two widgets, or an old one, after a change of the route",
    "A call for each rendering puts a widget into each new element.",
    "Use `mount` and `unmount` with the element, or the component of your framework.",
  ],
  [
    "A picture in a newsletter is old",
    "A mail service keeps pictures.",
    "The service lets pictures be kept for half a minute; a query such as `?d=2` makes another address.",
  ],
  [
    "It works here, and not in the page's editor or preview",
    "The editor strips scripts, or shows the page in a sandbox.",
    "Paste the bare frame, or the address of the market's page where the editor knows oEmbed. A sandbox needs `allow-scripts` and `allow-same-origin`.",
  ],
];
