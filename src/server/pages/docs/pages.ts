import type { JsonObject } from "../../openapi/openapi-parts.ts";
import type { Answer } from "../../responses.ts";
import { compressed, type Encoding } from "../compress.ts";
import { groupPage, webhooksPage } from "./group-page.ts";
import { documentOf, type Page, POLICY } from "./layout.ts";
import { overviewPage } from "./overview-page.ts";
import { type Reference, referenceOf } from "./reference.ts";
import { refusalsPage } from "./refusals-page.ts";
import { searchIndex, searchPage } from "./search.ts";

/** The OpenAPI document for people: an overview, a page for each tag, and one for webhooks and for refusals. */
export class DocsPages {
  readonly #reference: Reference;
  readonly #documents: ReadonlyMap<string, string>;
  readonly #index: ReturnType<typeof searchIndex>;
  /** Pages never change while a server runs, so each is compressed once for an encoding. */
  readonly #made = new Map<string, Promise<Answer>>();

  constructor(document: JsonObject) {
    const reference = referenceOf(document);
    const pages = [
      overviewPage(reference),
      ...reference.groups.map((group) => groupPage(group, reference)),
      webhooksPage(reference),
      refusalsPage(reference),
    ];
    this.#reference = reference;
    this.#documents = new Map(pages.map((page) => [page.path, documentOf(page, reference)]));
    this.#index = searchIndex(reference);
  }

  get paths(): string[] {
    return [...this.#documents.keys()];
  }

  /** The document of a page. Every text that it takes from elsewhere is escaped. */
  html(path: string): string {
    return this.#documents.get(path) ?? "";
  }

  answer(path: string, encoding: Encoding | undefined): Promise<Answer> {
    const key = `${path} ${encoding}`;
    const made = this.#made.get(key) ?? compressed(answerOf(this.html(path)), encoding, { once: true });
    this.#made.set(key, made);
    return made;
  }

  /** What a search finds; without scripts, so it is a page too. */
  found(query: string, encoding: Encoding | undefined): Promise<Answer> {
    const page: Page = searchPage(this.#index, query);
    return compressed(answerOf(documentOf(page, this.#reference)), encoding);
  }
}

function answerOf(body: string): Answer & { body: string } {
  return { status: 200, body, contentType: "text/html; charset=utf-8", contentSecurityPolicy: POLICY };
}
