import type { RefusalData } from "../contract/resources/embed.ts";
import { Refused } from "./api.ts";
import { openBridge } from "./bridge.ts";
import { wordsFor } from "./words.ts";

/** The document shown instead of a view: states the reason, tells the page around, and reloads when a wait is named. */
const { code, message, retryAfterSec } = JSON.parse(
  document.getElementById("data")?.textContent ?? "{}",
) as RefusalData;
const why = document.getElementById("why");
const { text = message } = wordsFor(new Refused(code, message, retryAfterSec));
let left = retryAfterSec;

const bridge = openBridge(false, {
  onToken() {},
  onTheme(theme) {
    document.documentElement.dataset.theme = theme;
  },
});
bridge.tell("error", { code, message });

const show = (): void => {
  if (why) why.textContent = left > 0 ? `${text} This page tries again in ${left} s.` : text;
};
show();
if (left > 0)
  setInterval(() => {
    left -= 1;
    show();
    if (left === 0) location.reload();
  }, 1000);
