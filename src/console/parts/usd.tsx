import { exactUsd, usd } from "../format.ts";

/** Dollars to the cent; the exact sum on hover. */
export function Usd({ of }: { of: number | null }) {
  if (of === null) return <span>—</span>;
  const [shown, exact] = [usd(of), exactUsd(of)];
  return (
    <data class="usd" value={of} title={shown === exact ? undefined : exact}>
      {shown}
    </data>
  );
}
