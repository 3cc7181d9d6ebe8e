import { addressOf } from "../router.ts";

/** A market by its question, or by its id. */
export function MarketLink({ id, question = id }: { id: string; question?: string | undefined }) {
  return (
    <a href={addressOf(`/markets/${encodeURIComponent(id)}`)} dir="auto">
      {question}
    </a>
  );
}

export function TraderLink({ id }: { id: string }) {
  return (
    <a href={addressOf(`/traders/${encodeURIComponent(id)}`)} dir="auto">
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
