/** The search of `/docs` and of the site of all documents: shows what fits `?q=` in place of the page. */

interface Entry {
  title: string;
  kind: string;
  href: string;
  summary: string;
  /** Other names by which it is found, such as those of its fields. */
  names: string;
}

const MAX_HITS = 40;

const query = new URLSearchParams(location.search).get("q")?.trim() ?? "";
if (query !== "") show(query);

function show(asked: string): void {
  const { pmctlIndex } = globalThis as { pmctlIndex?: Entry[] };
  const index = pmctlIndex ?? (JSON.parse(document.getElementById("index")?.textContent ?? "[]") as Entry[]);
  const words = asked.toLowerCase().split(/\s+/);
  const hits = index
    .map((entry) => ({ entry, score: scoreOf(entry, words) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score);
  const main = document.querySelector("main") as HTMLElement;
  const form = main.querySelector("form") as HTMLElement;
  (form.querySelector("input") as HTMLInputElement).value = asked;
  const count = hits.length === 0 ? "Nothing was found" : `${hits.length} found`;
  const more = hits.length > MAX_HITS ? `, the first ${MAX_HITS} are shown` : "";
  const found = element("div", { class: "hits" }, ...hits.slice(0, MAX_HITS).map(({ entry }) => hit(entry)));
  const all = main.querySelector("[data-all]") ?? element("a", { href: "/docs" }, "All operations");
  main.replaceChildren(
    form,
    element("h1", {}, "Search"),
    element("p", { role: "status" }, `${count} for “${asked}”${more}. `, all),
    found,
  );
}

/** A whole title before a part of one, then other names, then what is said of it; 0 where a word is nowhere. */
function scoreOf({ title, names, summary }: Entry, words: readonly string[]): number {
  const name = title.toLowerCase();
  const scores = words.map((word) => {
    if (name === word) return 8;
    if (name.includes(word)) return 4;
    return names.toLowerCase().includes(word) ? 2 : summary.toLowerCase().includes(word) ? 1 : 0;
  });
  return scores.includes(0) ? 0 : scores.reduce<number>((sum, score) => sum + score, 0);
}

function hit({ title, kind, href, summary }: Entry): HTMLElement {
  const heading = element("h2", {}, element("a", { href }, title), element("span", { class: "mark" }, kind));
  return element("article", {}, heading, element("p", {}, summary.replaceAll("`", "")));
}

function element(name: string, attributes: Record<string, string>, ...children: (Node | string)[]): HTMLElement {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}
