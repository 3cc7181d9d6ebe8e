import { addressOf } from "../router.ts";

/**
 * Links to the first page and to the next one of a list. The cursor is in the address, so a page can be kept and shared.
 * @param cursor its name there, on a page with several lists
 */
export function Pager({
  path,
  query,
  nextCursor,
  cursor = "cursor",
}: {
  path: string;
  query: URLSearchParams;
  nextCursor: string | null;
  cursor?: string;
}) {
  const stated = Object.fromEntries(query);
  const isFirst = stated[cursor] === undefined;
  if (isFirst && nextCursor === null) return null;
  return (
    <p class="pager">
      {!isFirst && <a href={addressOf(path, { ...stated, [cursor]: undefined })}>First page</a>}
      {nextCursor !== null && <a href={addressOf(path, { ...stated, [cursor]: nextCursor })}>Next page</a>}
    </p>
  );
}
