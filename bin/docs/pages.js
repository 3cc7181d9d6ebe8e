// The pages that are of no tag: the overview, the refusals, and what the search finds.

import { REMEDIES } from "../../dist/contract/fault-remedies.js";
import { faultFacts } from "../../dist/domain/fault.js";
import { UNKNOWN_PARAMETERS } from "../../dist/server/openapi/openapi-parts.js";
import { curlOf, VARIABLES } from "./curl.js";
import { block, pathOf, prose, sentence, table, text } from "./html.js";

/** Conventions, each with its heading. */
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
  ["Query parameters", `${UNKNOWN_PARAMETERS} Compare a name that has no effect with this reference.`],
  ["HEAD", "It is answered wherever GET is, without the body."],
  ["Extensions", "What is marked as an extension goes beyond the interface specification."],
];

/** What a token of a user states. The integrator's guide explains the keys and has samples. */
const CLAIMS = [
  ["sub", "required", "Your id of the user, the same for ever."],
  ["iat", "required", "Now, in whole seconds. A time in the future is an error."],
  ["exp", "required", "At most 24 hours (86,400 s) after `iat`."],
  [
    "jurisdiction",
    "where the policy asks for it",
    "The user's country, such as `DE`, unless the identity check named one.",
  ],
  ["iss, aud", "where the tenant file states them", "The values of `issuer` and `audience`."],
];
const SIGN_IN =
  "Your server signs a JWT for each user, with the algorithm and the key that the tenant file states under `auth.jwt` (`HS256`: the UTF-8 bytes of the secret). Requests send it as `Authorization: Bearer`, beside `x-api-key`. A token with a wrong or missing claim is answered with `USER_REQUIRED`. The holder of the admin key reads which claim it was: `pmctl why` with the answer's `Request-Id`, or `pmctl audit security`.";

/** The first page: how to begin, what holds for all requests, and every operation in a line. */
export function overviewPage(reference, searchScript) {
  const { baseUrl, groups } = reference;
  const first = groups.flatMap(({ operations }) => operations).find(({ id }) => id === "listMarkets");
  const variables = Object.entries(VARIABLES).map(([name, holds]) => [`<code>$${name}</code>`, text(holds)]);
  const rules = CONVENTIONS.map(([topic, rule]) => [topic, prose(rule)]);
  const index = JSON.stringify(searchIndex(reference)).replaceAll("<", "\\u003c");
  return {
    path: "/docs",
    title: "Overview",
    content: `<p>Markets, trades and operations of one tenant, at <code>${text(baseUrl)}</code>. Each operation comes with a command that can be pasted: keys and tokens are taken from variables of the shell, and the ids of the examples (<code>mkt_…</code>, <code>usr_1</code>) stand for your own.</p>${table(["Variable", "Holds"], variables)}${block(curlOf(first, baseUrl), "a first request")}<p>An error is <code>{"error": "&lt;text&gt;"}</code> with its code in the header <code>Error-Code</code>: <a href="/docs/refusals">what each code means</a>. What the service sends by itself: <a href="/docs/webhooks">webhooks</a>. The widget for web pages has <a href="/docs/embed">a page of its own</a>.</p><h2 id="claims">Sign in your users</h2><p>${prose(SIGN_IN)}</p>${table(
      ["Claim", "Required", "Value"],
      CLAIMS.map(([name, required, value]) => [`<code>${text(name)}</code>`, text(required), prose(value)]),
    )}<h2 id="conventions">Conventions</h2>${table(["Topic", "Rule"], rules)}${groups
      .filter(({ operations }) => operations.length > 0)
      .map(section)
      .join("")}`,
    parts: [
      { href: "#claims", label: "Sign in your users" },
      { href: "#conventions", label: "Conventions" },
    ],
    end: `<script type="application/json" id="index">${index}</script><script>${searchScript}</script>`,
  };
}

function section({ name, description, operations }) {
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

/** What each status says of a refusal, before its code is read. */
const STATUSES = {
  400: "What was asked cannot be done: the request, the market's state, a limit or the funds.",
  401: "Who asks is not known: the key, the user's token or the signature.",
  403: "Authenticated but not permitted.",
  404: "There is nothing of this name.",
  409: "It stands against something that is there already.",
  429: "Too much at once. `Retry-After` says in how many seconds a repeat makes sense.",
  500: "The service failed, or what it needs did.",
};

/** Every code that an operation may answer, told once: its status, its meaning, what helps, and which operations answer it. */
export function refusalsPage(reference) {
  const operations = reference.groups.flatMap((group) => group.operations);
  const byCode = new Map();
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
    title: "Errors",
    content: `<p>An error is <code>{"error": "&lt;text&gt;"}</code> with its code in the header <code>Error-Code</code>. The text is for people and may change; the code is for programs. If several errors apply, the response has the first in the order that the operation lists.</p>${sections.join("")}`,
    parts: [...byStatus.keys()]
      .toSorted((a, b) => a - b)
      .map((status) => ({ href: `#status-${status}`, label: String(status) })),
  };
}

function codeArticle(code, members, all) {
  const { meaning, next } = faultFacts(code);
  const links = members.map(({ id, tag }) => `<li><a href="${pathOf(tag)}#${text(id)}">${text(id)}</a></li>`);
  const answered =
    members.length === all
      ? "<p>Every operation may answer it.</p>"
      : `<ul class="codes"><li class="soft">Answered by</li>${links.join("")}</ul>`;
  return `<article id="${code}"><h3><code>${code}</code></h3><p>${prose(`${sentence(meaning)} ${REMEDIES[code]}`)}${
    next === undefined ? "" : ` <span class="soft">An operator looks with <code>${text(next)}</code>.</span>`
  }</p>${answered}</article>`;
}

/** What the search finds: the claims of a token, every operation, event, refusal and type, in this order, each with other names of it. */
function searchIndex({ groups, events, eventTypes }) {
  const operations = groups.flatMap((group) => group.operations);
  const codes = [...new Set(operations.flatMap(({ refusals }) => refusals))];
  // A type that several pages show is found on the first of them.
  const types = new Map();
  for (const { name: group, types: own } of groups)
    for (const [name, schema] of Object.entries(own))
      if (!types.has(name)) types.set(name, typeEntry(name, schema, pathOf(group)));
  for (const [name, schema] of Object.entries(eventTypes))
    if (!types.has(name)) types.set(name, typeEntry(name, schema, "/docs/webhooks"));
  const claims = CLAIMS.map(([name]) => name).join(" ");
  return [
    entryOf("Claims of a user token", "sign-in", "/docs#claims", SIGN_IN, `jwt bearer sign in ${claims} 24 hours life`),
    ...operations.map(({ id, method, path, tag, summary, operation }) =>
      entryOf(id, `${method} ${path}`, `${pathOf(tag)}#${id}`, summary, `${path} ${fieldNames(operation)}`),
    ),
    ...events.map(({ type, summary }) => entryOf(type, "webhook", `/docs/webhooks#${type}`, summary, "")),
    ...codes.map(refusalEntry),
    ...types.values(),
  ];
}

const entryOf = (title, kind, href, summary, names) => ({ title, kind, href, summary, names });

function refusalEntry(code) {
  const { status, meaning } = faultFacts(code);
  return entryOf(code, `error, ${status}`, `/docs/refusals#${code}`, sentence(meaning), String(status));
}

function typeEntry(name, schema, page) {
  const fields = fieldNames(schema);
  const summary = String(schema.description ?? (fields === "" ? "" : `Fields: ${fields.replaceAll(" ", ", ")}.`));
  return entryOf(name, "type", `${page}#type-${name}`, summary, fields);
}

/** The names of its parameters and of the fields that its body and answer state themselves. */
function fieldNames(part) {
  const found = new Set();
  const visit = (value) => {
    if (typeof value !== "object" || value === null) return;
    if (Array.isArray(value)) return value.forEach(visit);
    const { properties, in: where, name } = value;
    if (typeof where === "string" && where !== "header") found.add(String(name));
    for (const field of Object.keys(properties ?? {})) found.add(field);
    for (const [key, inner] of Object.entries(value)) if (key !== "example" && key !== "examples") visit(inner);
  };
  visit(part);
  return [...found].join(" ");
}
