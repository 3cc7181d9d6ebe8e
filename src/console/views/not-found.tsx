import { useHeading } from "../parts/view.tsx";
import { addressOf } from "../router.ts";

export function NotFound() {
  const heading = useHeading("Not found");
  return (
    <>
      <header class="head">
        <h1 ref={heading} tabIndex={-1}>
          Not found
        </h1>
      </header>
      <p class="empty">
        No view has this address. <a href={addressOf("/")}>Go to Today</a>
      </p>
    </>
  );
}
