import type { FrameProposal } from "../contract/resources/embed.ts";
import type { Api, Refused } from "./api.ts";

/** As long as the server takes. */
const LONGEST = 500;
const HEIGHT = "44px";

/** Shows the form by which a user objects to a proposal. It holds what the user writes while the sentences above it change. */
export function showObjection(place: HTMLElement, { marketId, words }: FrameProposal, api: Pick<Api, "post">): void {
  const label = document.createElement("label");
  const field = document.createElement("textarea");
  const button = document.createElement("button");
  const status = document.createElement("p");
  const form = document.createElement("form");
  form.dataset.pm = "objection";
  label.append(words.why ?? "", field);
  Object.assign(field, { required: true, maxLength: LONGEST, rows: 2, dir: "auto" });
  Object.assign(field.style, {
    ...{ display: "block", inlineSize: "100%", minBlockSize: HEIGHT, marginBlock: ".4rem", padding: ".4rem .6rem" },
    ...{ font: "inherit", color: "inherit", background: "var(--pm-background)", resize: "vertical" },
    ...{ border: "1px solid var(--pm-muted)", borderRadius: "var(--pm-radius)", boxSizing: "border-box" },
  });
  button.textContent = words.object ?? "";
  button.style.minBlockSize = HEIGHT;
  status.role = "status";
  status.style.margin = "0";
  form.append(label, button, status);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const reason = field.value.trim();
    if (reason === "") return;
    button.disabled = true;
    try {
      await api.post(`/v1/markets/${encodeURIComponent(marketId)}/proposal/objections`, { reason });
      form.replaceChildren(status);
      status.textContent = words.sent ?? "";
    } catch (error) {
      const { code, message } = error as Refused;
      status.textContent = words[code] ?? message;
      button.disabled = false;
    }
  });
  place.replaceChildren(form);
}
