const MOST = 6;

/** Puts what a widget told at the top of a list of the page, which shows the latest. */
export function note(listId: string, title: string, detail: object): void {
  const list = document.getElementById(listId);
  const item = document.createElement("li");
  const [name, rest] = [document.createElement("b"), document.createElement("code")];
  name.textContent = title;
  rest.textContent = JSON.stringify(detail);
  item.append(name, " ", rest);
  list?.querySelector(".none")?.remove();
  list?.prepend(item);
  list?.children[MOST]?.remove();
}
