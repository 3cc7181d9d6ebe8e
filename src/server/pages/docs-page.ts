import { createHash } from "node:crypto";
import type { JsonObject } from "../openapi/openapi-parts.ts";
import type { Answer } from "../responses.ts";
import { escapeHtml as text } from "./html.ts";

const STYLE = `:root{color-scheme:light dark;--ink:#1b1f24;--soft:#5b6470;--line:#dfe3e8;--page:#fff;--card:#f6f7f9;--accent:#0b5cad}
@media(prefers-color-scheme:dark){:root{--ink:#e7eaee;--soft:#9aa4b1;--line:#2d343d;--page:#12161b;--card:#1a2027;--accent:#74b3f5}}
*{box-sizing:border-box}html{scroll-padding-top:1rem}
body{margin:0;background:var(--page);color:var(--ink);font:16px/1.55 system-ui,sans-serif}
.frame{display:grid;grid-template-columns:17rem minmax(0,1fr);max-width:76rem;margin:auto}
nav{position:sticky;top:0;align-self:start;max-height:100vh;overflow:auto;padding:1.5rem 1rem;border-right:1px solid var(--line);font-size:.9rem}
nav ul{list-style:none;margin:0 0 1rem;padding:0}nav b{display:block;margin:.6rem 0 .2rem;text-transform:capitalize}
main{padding:1.5rem 2rem 6rem}a{color:var(--accent)}nav a:not(:hover){text-decoration:none}.jump{display:none}
h1{margin:0 0 .5rem;font-size:1.9rem}h2{margin:3rem 0 .5rem;text-transform:capitalize;border-bottom:1px solid var(--line)}
h3{margin:0;font-size:1.05rem}h4{margin:1.1rem 0 .3rem;font-size:.85rem;color:var(--soft);text-transform:uppercase;letter-spacing:.04em}
article{margin:1.2rem 0;padding:1.1rem 1.3rem;background:var(--card);border:1px solid var(--line);border-radius:10px}article:target{border-color:var(--accent);box-shadow:0 0 0 1px var(--accent)}
code,pre{font:13.5px/1.5 ui-monospace,monospace}code{overflow-wrap:anywhere}pre{margin:.3rem 0;padding:.8rem;overflow:auto;border:1px solid var(--line);border-radius:8px;background:var(--page)}
.method{display:inline-block;min-width:3.6rem;padding:0 .45rem;margin-right:.5rem;border-radius:5px;background:var(--accent);color:var(--page);font-weight:600;text-align:center}
.tag{margin-left:.5rem;padding:0 .4rem;border:1px solid var(--line);border-radius:5px;font-size:.78rem;color:var(--soft)}
table{width:100%;border-collapse:collapse;font-size:.92rem}th,td{padding:.35rem .6rem .35rem 0;border-top:1px solid var(--line);text-align:left;vertical-align:top}
th{font-weight:600;white-space:nowrap}.soft{color:var(--soft)}
@media(max-width:52rem){.frame{display:flex;flex-direction:column-reverse}nav{position:static;max-height:none;border-right:0;border-top:1px solid var(--line)}
nav a,.jump{display:inline-block;padding:.25rem 0}main{padding:1.2rem 1rem 3rem}article{padding:1rem}th,td{display:block;padding:.1rem 0}tr{display:block;padding:.4rem 0;border-top:1px solid var(--line)}th,td{border-top:0}}`;

/** The page runs no script and loads nothing: its one style is allowed by its hash. */
const POLICY = `default-src 'none'; style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

/** The OpenAPI document for people. */
export function docsAnswer(document: JsonObject): Answer {
  return {
    status: 200,
    body: docsPage(document),
    contentType: "text/html; charset=utf-8",
    contentSecurityPolicy: POLICY,
  };
}

interface Described {
  path: string;
  method: string;
  operation: JsonObject;
}

/** The whole page. Every text of the document is escaped. */
export function docsPage(document: JsonObject): string {
  const { info, tags, paths, components } = document as Record<string, JsonObject> & { tags: JsonObject[] };
  const schemas = (components?.schemas ?? {}) as Record<string, JsonObject>;
  const operations = Object.entries(paths ?? {}).flatMap(([path, item]) =>
    Object.entries(item as JsonObject).map(
      ([method, operation]): Described => ({
        path,
        method: method.toUpperCase(),
        operation: operation as JsonObject,
      }),
    ),
  );
  const groups = tags
    .map((tag) => ({ tag, members: operations.filter((one) => listOf(one.operation.tags)[0] === tag.name) }))
    .filter(({ members }) => members.length > 0);
  const menu = groups.map(({ tag, members }) => `<b>${text(tag.name)}</b><ul>${members.map(menuItem).join("")}</ul>`);
  const sections = groups.map(
    ({ tag, members }) =>
      `<h2>${text(tag.name)}</h2><p class="soft">${prose(tag.description)}</p>${members.map(article).join("")}`,
  );
  const types = Object.entries(schemas).map(([name, schema]) => typeArticle(name, schema));
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>${text(info?.title)} API</title><style>${STYLE}</style></head>
<body><div class="frame"><nav id="contents" aria-label="Contents"><a href="/openapi.json">openapi.json</a>${menu.join("")}<b>types</b><ul>${Object.keys(schemas).map(typeItem).join("")}</ul></nav>
<main><h1>${text(info?.title)} API</h1><a class="jump" href="#contents">Contents</a><p>${prose(info?.description)}</p>${sections.join("")}<h2>Types</h2>${types.join("")}</main></div></body></html>`;
}

function menuItem({ operation }: Described): string {
  return `<li><a href="#${text(operation.operationId)}">${text(operation.operationId)}</a></li>`;
}

function typeItem(name: string): string {
  return `<li><a href="#type-${text(name)}">${text(name)}</a></li>`;
}

function article({ path, method, operation }: Described): string {
  const { operationId, summary, description, parameters, requestBody, responses } = operation;
  const answers = Object.entries((responses ?? {}) as Record<string, JsonObject>);
  const rows = listOf(parameters).map((one) => {
    const { name, in: where, required, schema, description: words } = one as JsonObject & { schema: JsonObject };
    return [
      `<code>${text(name)}</code>`,
      text(where),
      typeOf(schema),
      `${required ? "required. " : ""}${prose(words)}`,
    ];
  });
  return `<article id="${text(operationId)}"><h3><span class="method">${method}</span><code>${text(path)}</code>${
    operation["x-extension"] ? '<span class="tag">extension</span>' : ""
  }</h3><p>${prose(summary)} <span class="soft">${securityOf(operation.security)}</span></p><p class="soft">${prose(description)}</p>${
    rows.length > 0 ? `<h4>Parameters</h4>${table(rows)}` : ""
  }${requestBody ? `<h4>Body</h4>${contentOf(requestBody as JsonObject)}` : ""}${answers
    .filter(([status]) => status === "200")
    .map(([, answer]) => `<h4>Answer</h4>${contentOf(answer)}`)
    .join("")}<h4>Refusals</h4>${table(
    answers.filter(([status]) => status !== "200").map(([status, answer]) => [text(status), prose(answer.description)]),
  )}</article>`;
}

function typeArticle(name: string, schema: JsonObject): string {
  const required = listOf(schema.required) as unknown[];
  const rows = Object.entries((schema.properties ?? {}) as Record<string, JsonObject>).map(([field, part]) => [
    `<code>${text(field)}</code>`,
    typeOf(part),
    `${required.includes(field) ? "" : "optional. "}${prose(part.description)}`,
  ]);
  const body = rows.length > 0 ? table(rows) : `<p>${typeOf(schema)}</p>`;
  return `<article id="type-${text(name)}"><h3>${text(name)}</h3><p class="soft">${prose(schema.description)}</p>${body}</article>`;
}

function contentOf({ content }: JsonObject): string {
  return Object.entries((content ?? {}) as Record<string, JsonObject>)
    .map(([type, { schema, example }]) => {
      const sample = typeof example === "string" ? example : JSON.stringify(example, null, 2);
      return `<p>${typeOf(schema as JsonObject)} <span class="soft">${text(type)}</span></p>${
        sample === undefined ? "" : `<pre tabindex="0">${text(sample)}</pre>`
      }`;
    })
    .join("");
}

function typeOf(schema: JsonObject | undefined): string {
  if (!schema) return "";
  if (typeof schema.$ref === "string") {
    const name = text(schema.$ref.replace(/^.*\//, ""));
    return `<a href="#type-${name}">${name}</a>`;
  }
  if (schema.const !== undefined) return `<code>${text(JSON.stringify(schema.const))}</code>`;
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => `<code>${text(value)}</code>`).join(" | ");
  const options = (schema.anyOf ?? schema.oneOf) as JsonObject[] | undefined;
  if (options) return options.map(typeOf).join(" | ");
  if (schema.type === "array") return `array of ${typeOf(schema.items as JsonObject)}`;
  const bounds = ["minimum", "maximum", "minLength", "maxLength"].filter((bound) => schema[bound] !== undefined);
  const limits = bounds.map((bound) => `${bound} ${text(schema[bound])}`).join(", ");
  return `${text(schema.type ?? "any")}${limits ? ` <span class="soft">(${limits})</span>` : ""}`;
}

function securityOf(security: unknown): string {
  const ways = listOf(security).map((way) => Object.keys(way as JsonObject).join(" + "));
  return ways.length === 0 ? "No credentials." : `Needs ${text(ways.join(", or "))}.`;
}

function table(rows: string[][]): string {
  const lines = rows.map(
    ([head, ...cells]) => `<tr><th scope="row">${head}</th>${cells.map((cell) => `<td>${cell}</td>`).join("")}</tr>`,
  );
  return `<table>${lines.join("")}</table>`;
}

/** Escaped, with `code` between backticks. */
function prose(value: unknown): string {
  return text(value ?? "").replace(/`([^`]+)`/g, "<code>$1</code>");
}

function listOf(value: unknown): JsonObject[] & { [index: number]: unknown } {
  return Array.isArray(value) ? value : [];
}
