import { type FaultCode, faultFacts } from "../../../domain/fault.ts";
import { escapeHtml as text } from "../html.ts";
import { prose, sentence } from "./html.ts";
import { type Page, pathOf } from "./layout.ts";
import type { Described, Reference } from "./reference.ts";

/** What each status says of a refusal, before its code is read. */
const STATUSES: Record<number, string> = {
  400: "What was asked cannot be done: the request, the market's state, a limit or the funds.",
  401: "Who asks is not known: the key, the user's token or the signature.",
  403: "Who asks is known, and may not.",
  404: "There is nothing of this name.",
  409: "It stands against something that is there already.",
  429: "Too much at once. `Retry-After` says in how many seconds a repeat makes sense.",
  500: "The service failed, or what it needs did.",
};

/** Every code that an operation may answer, told once: its status, its meaning, what helps, and which operations answer it. */
export function refusalsPage(reference: Reference): Page {
  const operations = reference.groups.flatMap((group) => group.operations);
  const byCode = new Map<FaultCode, Described[]>();
  for (const operation of operations)
    for (const code of operation.refusals) byCode.set(code, [...(byCode.get(code) ?? []), operation]);
  const byStatus = Map.groupBy(byCode, ([code]) => faultFacts(code).status);
  const sections = [...byStatus]
    .toSorted(([a], [b]) => a - b)
    .map(
      ([status, codes]) =>
        `<h2 id="status-${status}">${status}</h2><p class="soft">${prose(STATUSES[status])}</p>${codes
          .map(([code, members]) => codeArticle(code, members, operations.length))
          .join("")}`,
    );
  return {
    path: "/docs/refusals",
    title: "Refusals",
    content: `<p>A refusal is <code>{"error": "&lt;text&gt;"}</code> with its code in the header <code>Error-Code</code>. The text is for people and may change; the code is for programs. Of several reasons the first is told, in the order that each operation lists.</p>${sections.join("")}`,
    parts: [...byStatus.keys()]
      .toSorted((a, b) => a - b)
      .map((status) => ({ href: `#status-${status}`, label: String(status) })),
  };
}

function codeArticle(code: FaultCode, members: Described[], all: number): string {
  const { meaning, next } = faultFacts(code);
  const links = members.map(({ id, tag }) => `<li><a href="${pathOf(tag)}#${text(id)}">${text(id)}</a></li>`);
  const answered =
    members.length === all
      ? "<p>Every operation may answer it.</p>"
      : `<ul class="codes"><li class="soft">Answered by</li>${links.join("")}</ul>`;
  return `<article id="${code}"><h3><code>${code}</code></h3><p>${prose(sentence(meaning))}${
    next === undefined ? "" : ` <span class="soft">An operator looks with <code>${text(next)}</code>.</span>`
  }</p>${answered}</article>`;
}
