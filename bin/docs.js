// Makes the pages of /docs from the OpenAPI document and docs/guides/publisher.md, into which a server puts its own address, and the site of all documents.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync } from "node:zlib";
import { DocumentSite } from "../dist/app/docs/site.js";
import { openApiDocument } from "../dist/server/openapi/openapi.js";
import { DOCS_ADDRESS, DOCS_TENANT } from "../dist/server/pages/docs.js";
import { embedPage } from "./docs/embed.js";
import { documentOf } from "./docs/html.js";
import { groupPage, referenceOf, webhooksPage } from "./docs/operations.js";
import { overviewPage, refusalsPage } from "./docs/pages.js";

export function buildDocs(root) {
  const assets = (name) => readFileSync(new URL(`dist/assets/${name}`, root), "utf8");
  const document = openApiDocument({ baseUrl: DOCS_ADDRESS, tenantId: DOCS_TENANT });
  const reference = referenceOf(JSON.parse(JSON.stringify(document)));
  const pages = [
    overviewPage(reference, assets("search.js")),
    ...reference.groups.map((group) => groupPage(group, reference)),
    webhooksPage(reference),
    refusalsPage(reference),
    embedPage(root, assets),
  ];
  const place = new URL("dist/docs/", root);
  rmSync(place, { recursive: true, force: true });
  mkdirSync(place, { recursive: true });
  for (const page of pages)
    writeFileSync(
      new URL(`${page.path.slice("/docs/".length) || "index"}.html.br`, place),
      brotliCompressSync(documentOf(page, reference, assets("documents.css"))),
    );
}

/** All documents as static files in `dist/site`. */
export function buildSite(root) {
  const site = new DocumentSite();
  for (const path of site.paths) {
    const place = new URL(`dist/site/${path}`, root);
    mkdirSync(dirname(fileURLToPath(place)), { recursive: true });
    writeFileSync(place, site.file(path));
  }
}
