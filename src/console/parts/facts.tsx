import type { ComponentChildren } from "preact";

/** Named figures, such as a market's volume; facts without a value are left out. */
export function Facts({ of }: { of: readonly (readonly [name: string, value: ComponentChildren])[] }) {
  const stated = of.filter(([, value]) => value !== null && value !== undefined && value !== false && value !== "");
  return (
    <dl class="facts">
      {stated.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
