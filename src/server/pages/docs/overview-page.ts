import { escapeHtml as text } from "../html.ts";
import { curlOf, VARIABLES } from "./curl.ts";
import { block, prose, table } from "./html.ts";
import { type Page, pathOf } from "./layout.ts";
import type { Group, Reference } from "./reference.ts";

/** What holds for all requests, each with its heading. */
const CONVENTIONS = [
  [
    "Numbers and times",
    "Amounts are US dollars as JSON numbers with at most six decimals, prices run from 0 to 1, shares pay a dollar each if their side wins. Timestamps are ISO 8601 in UTC.",
  ],
  [
    "Lists",
    "`limit` is 50 unless given and 200 at the most. The cursor of the next page comes in `Next-Cursor` and in `Link`; it is missing on the last page.",
  ],
  [
    "Repeats",
    "With an `Idempotency-Key` a change happens once: repeats within 24 hours get the first answer, marked `Idempotent-Replayed`. Use a new key for each change that a person asks for.",
  ],
  [
    "Limits",
    "`RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset` tell how many requests of this minute are left.",
  ],
  ["HEAD", "It is answered wherever GET is, without the body."],
  ["Extensions", "What is marked as an extension goes beyond the interface specification."],
] as const;

/** The first page: how to begin, what holds for all requests, and every operation in a line. */
export function overviewPage(reference: Reference): Page {
  const { baseUrl, groups } = reference;
  const variables: [string, string][] = [
    ...(baseUrl === "" ? [["BASE_URL", "the address of the tenant"] as [string, string]] : []),
    ...Object.entries(VARIABLES),
  ];
  const first = groups.flatMap(({ operations }) => operations).find(({ id }) => id === "listMarkets");
  return {
    path: "/docs",
    title: "Overview",
    content: `<p>Markets, trades and operations of one tenant${
      baseUrl === "" ? "" : `, at <code>${text(baseUrl)}</code>`
    }. Each operation comes with a command that can be pasted: keys and tokens are taken from variables of the shell, and the ids of the examples (<code>mkt_…</code>, <code>usr_1</code>) stand for your own.</p>${table(
      ["Variable", "Holds"],
      variables.map(([name, holds]) => [`<code>$${name}</code>`, text(holds)]),
    )}${first ? block(curlOf(first, baseUrl), "a first request") : ""}<p>A refusal is <code>{"error": "&lt;text&gt;"}</code> with its code in the header <code>Error-Code</code>: <a href="/docs/refusals">what each code means</a>. What the service sends by itself: <a href="/docs/webhooks">webhooks</a>. The widget for web pages has <a href="/docs/embed">a page of its own</a>.</p><h2 id="conventions">What holds for all requests</h2>${table(
      ["Topic", "Rule"],
      CONVENTIONS.map(([topic, rule]) => [topic, prose(rule)]),
    )}${groups
      .filter(({ operations }) => operations.length > 0)
      .map(section)
      .join("")}`,
    parts: [{ href: "#conventions", label: "What holds for all requests" }],
  };
}

function section({ name, description, operations }: Group): string {
  const rows = operations.map(({ id, method, path, summary }) => [
    `<a href="${pathOf(name)}#${text(id)}">${text(id)}</a>`,
    `<code>${method} ${text(path)}</code>`,
    prose(summary),
  ]);
  return `<h2 id="${text(name)}" class="name">${text(name)}</h2><p class="soft">${prose(description)}</p>${table(
    ["Operation", "Request", "What it does"],
    rows,
  )}`;
}
