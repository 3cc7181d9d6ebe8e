import { addressOf } from "../router.ts";

/** A market by its question, or by its id. */
export function MarketLink({ id, question = id }: { id: string; question?: string | undefined }) {
  return (
    <a href={addressOf(`/markets/${encodeURIComponent(id)}`)} dir="auto">
      {question}
    </a>
  );
}

/** URLs drop the ids "." and ".." as segments, so the API has no address of these users: the list shows them. */
export const traderAddress = (id: string): string =>
  /^\.\.?$/.test(id) ? addressOf("/traders", { q: id }) : addressOf(`/traders/${encodeURIComponent(id)}`);

export function TraderLink({ id }: { id: string }) {
  return (
    <a href={traderAddress(id)} dir="auto">
      {id}
    </a>
  );
}

/** The markets of a category. */
export function CategoryLink({ category }: { category: string }) {
  return (
    <a href={addressOf("/markets", { category })} dir="auto">
      {category}
    </a>
  );
}

export function EntryLink({ seq }: { seq: number }) {
  return <a href={addressOf(`/record/${seq}`)}>Entry {seq}</a>;
}
